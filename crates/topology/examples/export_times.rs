//! What every export takes, at growing sizes: seconds, bytes, and both per link.
//!
//! `cargo run --release -p etherweave-topology --example export_times`: one line per fabric and format. The fabrics are
//! the folded Clos of 72-port switches of Benito et al. 2015, section VI-A, cut to a share of its 303,264 hosts.

use std::time::Instant;

use etherweave_primitives::InputErrors;
use etherweave_topology::{Export, ExportNames, Family, FoldedClos, Uplinks};

fn main() -> Result<(), InputErrors> {
    println!(
        "{:>7} {:>9} {:>9} {:>8} {:>11} {:>10} {:>12}",
        "hosts", "links", "format", "s", "bytes", "ns/link", "bytes/link"
    );
    for part in [16, 4, 1] {
        let uplinks = vec![Uplinks::default(); 3];
        let clos = FoldedClos { radix: 72, hosts: 303_264 / part, uplinks, ..FoldedClos::default() }.generate()?;
        let (hosts, links) = (clos.hosts(), clos.channels().len() / 2);
        for &export in Export::ALL {
            let start = Instant::now();
            let files = export.files(&clos, &ExportNames::default())?;
            let seconds = start.elapsed().as_secs_f64();
            let bytes: usize = files.iter().map(|file| file.text.len()).sum();
            let (per_link, nanoseconds) = (bytes as f64 / links as f64, seconds * 1e9 / links as f64);
            let name = export.name();
            println!("{hosts:>7} {links:>9} {name:>9} {seconds:>8.3} {bytes:>11} {nanoseconds:>10.0} {per_link:>12.1}");
        }
    }
    Ok(())
}
