//! Runs one simulation of a dragonfly on all processes of an MPI job; process 0 prints its report as a line of JSON.
//!
//! `mpirun -n 4 ranks [p=4] [a=8] [h=4] [groups=33] [us=50] [seed=1] [load=0.2,0.5,0.8,1] [routing=MIN,VAL]
//! [pattern=UN] [arbiter=round_robin] [flow_control=pauses] [steps=true]`
//!
//! `us` are measured after as many to warm up; with `us=steady` it warms up until it is steady, and measures until
//! means are known. With `steps=true` the report contains every port and batch.

mod dragonfly;
#[path = "dragonfly/json.rs"]
mod json;

use dragonfly::{Act, Point, Setting, Words};
use etherweave_openloop::Experiment;
use etherweave_routing::PacketRouting;
use mpi::topology::SimpleCommunicator;

fn main() {
    end_all_on_panic();
    let universe = mpi::initialize().expect("MPI is initialised once");
    let words = Words(std::env::args().skip(1).collect());
    let setting = Setting::of(&words);
    let mut ranks = Ranks(universe.world());
    words.points().iter().for_each(|point| setting.with(point, &mut ranks));
}

/// Others would wait for a process that fails: it aborts, and whoever started the job ends them all.
fn end_all_on_panic() {
    let report_panic = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report_panic(panic);
        std::process::abort();
    }));
}

struct Ranks(SimpleCommunicator);

impl Act for Ranks {
    fn act<R: PacketRouting>(&mut self, _: &Point<'_>, experiment: &Experiment<'_, R>) {
        if let Some(report) = experiment.run_on(&self.0).expect("parameters in range") {
            println!("{}", json::json(&report));
        }
    }
}
