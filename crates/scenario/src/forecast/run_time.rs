//! Time of a run before it is built: packet-hops and messages, each by what they took in benchmarks.
//!
//! The newest record of each row of `bench/history.jsonl` says what a packet-hop took on one thread of the machine of
//! the benchmarks. Between sizes of fabrics it is taken in proportion to the logarithm of the hosts. What a message
//! costs beside its packet-hops is what the all-to-all took longer.

use etherweave_sim::params::SwitchModel;
use serde::Deserialize;

/// Records of benchmarks, the newest last.
const HISTORY: &str = include_str!("../../../../bench/history.jsonl");
/// Permutations of long messages over switches with shared buffers: row, hosts.
const SHARED_BUFFER: [(&str, f64); 4] = [
    ("permutation_128", 128.0),
    ("permutation_1024", 1_024.0),
    ("permutation_8192", 8_192.0),
    ("permutation_65536", 65_536.0),
];
/// The first of them over input-queued switches.
const INPUT_QUEUED: &str = "input_queued_128";
/// One whose switches choose a path for every packet: row, hosts.
const PER_PACKET: (&str, f64) = ("adaptive_1056", 1_056.0);
/// Every rank sends one message to every other: row, hosts.
const ALL_TO_ALL: (&str, f64) = ("all_to_all_1024", 1_024.0);

#[derive(Deserialize)]
struct BenchRecord {
    row: String,
    packet_hops: f64,
    wall_s: f64,
    threads: u32,
}

/// Properties of switches that make a packet-hop take longer.
#[derive(Clone, Copy)]
pub(crate) struct Switches {
    pub model: SwitchModel,
    /// Whether they choose a path for every packet.
    pub decide_per_packet: bool,
}

/// Times of parts of a simulation on one thread of the machine of the benchmarks [s].
pub(crate) struct RunTime {
    /// A packet-hop over switches with shared buffers: hosts of the fabric, ascending, and time.
    packet_hops: Vec<(f64, f64)>,
    /// How many times as long a packet-hop takes over input-queued switches.
    input_queued: f64,
    /// How many times as long where the path of every packet is chosen.
    per_packet: f64,
    message: f64,
}

impl RunTime {
    /// Reads the times from the records of benchmarks.
    pub fn of_benchmarks() -> RunTime {
        RunTime::of(HISTORY)
    }

    fn of(history: &str) -> RunTime {
        // Records of other kinds lack a field, or count threads of the machine, a text.
        let records = history.lines().filter_map(|line| serde_json::from_str::<BenchRecord>(line).ok());
        let records: Vec<BenchRecord> = records.filter(|record| record.threads == 1).collect();
        let newest = |row: &str| records.iter().rfind(|record| record.row == row);
        let time = |record: &BenchRecord| record.wall_s / record.packet_hops;
        let packet_hops = SHARED_BUFFER.iter().filter_map(|&(row, hosts)| Some((hosts, time(newest(row)?))));
        let mut times =
            RunTime { packet_hops: packet_hops.collect(), input_queued: 1.0, per_packet: 1.0, message: 0.0 };
        let (row, hosts) = ALL_TO_ALL;
        times.message = newest(row).map_or(0.0, |record| {
            let beside = record.wall_s - record.packet_hops * times.packet_hop(hosts);
            beside.max(0.0) / (hosts * (hosts - 1.0))
        });
        let longer = |row, hosts| newest(row).map_or(1.0, |record| time(record) / times.packet_hop(hosts));
        let (_, hosts) = SHARED_BUFFER[0];
        let (row, hosts_of_adaptive) = PER_PACKET;
        (times.input_queued, times.per_packet) = (longer(INPUT_QUEUED, hosts), longer(row, hosts_of_adaptive));
        times
    }

    /// A packet-hop on a fabric of so many hosts, over switches with shared buffers.
    fn packet_hop(&self, hosts: f64) -> f64 {
        let after = self.packet_hops.partition_point(|&(size, _)| size < hosts);
        let (Some(&(low, quick)), Some(&(high, slow))) =
            (self.packet_hops.get(after.wrapping_sub(1)), self.packet_hops.get(after))
        else {
            let nearest = after.min(self.packet_hops.len() - 1);
            return self.packet_hops[nearest].1;
        };
        let share = (hosts / low).ln() / (high / low).ln();
        quick + share * (slow - quick)
    }

    /// So many packet-hops and messages on a fabric of so many hosts [s].
    pub fn seconds(&self, switches: Switches, hosts: usize, packet_hops: u64, messages: u64) -> f64 {
        let model = match switches.model {
            SwitchModel::SharedBuffer => 1.0,
            SwitchModel::InputQueued => self.input_queued,
        };
        let decision = if switches.decide_per_packet { self.per_packet - 1.0 } else { 0.0 };
        packet_hops as f64 * (model + decision) * self.packet_hop(hosts as f64) + messages as f64 * self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(row: &str, packet_hops: u64, wall_s: f64, threads: u32) -> String {
        format!(r#"{{"row": "{row}", "packet_hops": {packet_hops}, "wall_s": {wall_s}, "threads": {threads}}}"#)
    }

    #[test]
    fn a_packet_hop_takes_what_it_took_and_between_sizes_a_part_of_it() {
        let history = [
            record("permutation_128", 1_000, 7.0, 1),
            r#"{"row": "study", "wall_s": 57.3, "threads": "2"}"#.to_owned(),
            record("permutation_128", 1_000, 1.0, 1),
            record("permutation_8192", 1_000, 0.1, 2),
            record("permutation_8192", 1_000, 3.0, 1),
            record("input_queued_128", 1_000, 2.5, 1),
            record("adaptive_1056", 1_000, 4.0, 1),
            record("all_to_all_1024", 1_000, 2.0 + 1_024.0 * 1_023.0, 1),
        ];
        let times = RunTime::of(&history.join("\n"));
        let seconds = |model, hosts, messages| {
            let switches = Switches { model, decide_per_packet: false };
            (times.seconds(switches, hosts, 1_000, messages) * 1e9).round() / 1e9
        };
        // 1,024 hosts lie midway between 128 and 8,192 by their logarithm; the all-to-all took so much longer.
        let shared: Vec<f64> =
            [2, 128, 1_024, 8_192, 9_000].map(|hosts| seconds(SwitchModel::SharedBuffer, hosts, 0)).to_vec();
        assert_eq!(shared, [1.0, 1.0, 2.0, 3.0, 3.0]);
        assert_eq!(seconds(SwitchModel::InputQueued, 1_024, 0), 5.0);
        assert_eq!(seconds(SwitchModel::SharedBuffer, 1_024, 4), 6.0);
        let adaptive = Switches { model: SwitchModel::SharedBuffer, decide_per_packet: true };
        assert!((times.seconds(adaptive, 1_056, 1_000, 0) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn benchmarks_have_records_of_every_size() {
        let times = RunTime::of_benchmarks();
        assert_eq!(times.packet_hops.len(), SHARED_BUFFER.len());
        assert!(times.message > 0.0 && times.input_queued > 1.0 && times.per_packet > 1.0);
    }
}
