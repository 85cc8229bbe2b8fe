//! Transports of jobs: each has its own or that of the run, and a run has one set of parameters for each transport.

use etherweave_primitives::{Duration, InputError, InputErrors};
use etherweave_sim::params::Transport;

use crate::{JobSpec, Scenario};

impl Scenario {
    /// The transport of a job.
    pub(crate) fn transport_of<'a>(&'a self, job: &'a JobSpec) -> &'a Transport {
        job.transport.as_ref().unwrap_or(&self.transport)
    }

    /// The transport of the run, or of its first job where none has that; and another, if any job has one.
    pub(crate) fn transports(&self) -> (&Transport, Option<&Transport>) {
        let own = || self.job.iter().map(|job| self.transport_of(job));
        let first = own().find(|&own| *own == self.transport).or_else(|| own().next()).unwrap_or(&self.transport);
        (first, own().find(|&own| own != first))
    }

    /// Transports of the jobs, each once.
    pub(crate) fn each_transport(&self) -> impl Iterator<Item = &Transport> {
        let (first, other) = self.transports();
        std::iter::once(first).chain(other)
    }

    /// Where several transports share hosts, the one of networks that lose nothing.
    pub(crate) fn lossless_transport(&self) -> &Transport {
        self.each_transport().find(|transport| transport.expects_no_loss()).unwrap_or(self.transports().0)
    }

    /// How long a connection of any job waits for an answer, the first time, before it sends again.
    pub(crate) fn first_timeout(&self) -> Duration {
        self.each_transport().map(|transport| transport.first_timeout()).max().unwrap_or_default()
    }
}

/// Rejects a second set of parameters for a transport.
pub(crate) fn check(scenario: &Scenario) -> Result<(), InputErrors> {
    let (first, other) = scenario.transports();
    InputErrors::all(scenario.job.iter().enumerate().map(|(number, job)| {
        let own = scenario.transport_of(job);
        let is_known = own == first || other == Some(own) && own.name() != first.name();
        let key = format!("job.{number}.transport.{}", own.name());
        let expected = "those of the other jobs: a run has one set of parameters for each transport";
        InputError::unless(is_known, key, "other parameters", expected)
    }))
}

/// Mistakes of the parameters of a transport that a job has by itself, as those of the job.
pub(crate) fn locate(scenario: &Scenario, errors: InputErrors) -> InputErrors {
    let owner = |error: &InputError| {
        let name = error.key.strip_prefix("transport.")?.split('.').next()?;
        let has_it = |own: &Transport| own.name() == name && *own != scenario.transport;
        scenario.job.iter().position(|job| job.transport.as_ref().is_some_and(has_it))
    };
    let located = |error: &InputError| match owner(error) {
        Some(number) => error.clone().within(&format!("job.{number}")),
        None => error.clone(),
    };
    errors.iter().map(located).collect()
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const JOBS: &str = "[topology.single_switch]\nhosts = 2\n[flow_control.pfc]\npriorities = [3]\n\
                        [[job]]\nname = \"mpi\"\npriority = 3\nworkload.osu_latency = {}\n\
                        [[job]]\nname = \"storage\"\nshared_hosts = true\nworkload.osu_bw = {}\n";

    fn parsed(text: &str) -> Result<Scenario, String> {
        Scenario::parse(&format!("{JOBS}{text}"), "x.toml", &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn a_job_has_its_own_transport_or_that_of_the_run() {
        let scenario = parsed("transport.tcp.profile = \"linux-6.x\"").unwrap();
        let (first, other) = scenario.transports();
        assert_eq!((first.name(), other.map(|other| other.name())), ("roce", Some("tcp")));
        assert_eq!(scenario.params().other_transport, scenario.job[1].transport);
        let same = parsed("priority = 3\ntransport.roce = {}").unwrap();
        assert_eq!(same.transports().1, None);
    }

    #[test]
    fn a_mistake_of_a_job_names_its_key() {
        let error = |text: &str| parsed(text).unwrap_err();
        assert!(
            error("priority = 3\ntransport.roce.ack_every = 1").contains("job.1.transport.roce"),
            "two sets of RoCE"
        );
        assert!(error("transport.tcp.initial_window = 0").contains("job.1.transport.tcp.initial_window"));
        assert!(error("transport.tcp.profile = \"linux-0\"").contains("job.1.transport.tcp.profile"));
    }
}
