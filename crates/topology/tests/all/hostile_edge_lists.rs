//! An edge list is a user's text: whatever it contains, the result is a fabric or an error.

use etherweave_topology::{Custom, Family};
use proptest::prelude::*;

/// Lines that look almost right, so that every branch of the parser is met.
fn line() -> impl Strategy<Value = String> {
    let node = prop_oneof!["[hs][0-9]{1,2}", "[hsx][0-9]{0,12}", "\\PC{0,4}"];
    let rate = prop_oneof!["[0-9]{1,3}Gb/s", "[0-9.]{0,25}[TGMk]?b/s", "\\PC{0,6}"];
    let length = prop_oneof!["[0-9]{1,2}m", "[0-9.]{0,25}[ckm]?m", "\\PC{0,6}"];
    (node.clone(), node, rate, length, "[,#]?")
        .prop_map(|(a, b, rate, length, end)| format!("{a},{b},{rate},{length}{end}"))
}

proptest! {
    #[test]
    fn almost_right_lines_never_panic(hosts in any::<u32>(), lines in proptest::collection::vec(line(), 0..6)) {
        let _ = Custom { hosts, links: lines.join("\n"), ..Custom::default() }.generate();
        let _ = Custom { hosts: hosts % 8, links: lines.join("\n"), ..Custom::default() }.generate();
    }

    #[test]
    fn arbitrary_text_never_panics(hosts in 0u32..4, links in "\\PC*") {
        let _ = Custom { hosts, links, ..Custom::default() }.generate();
    }

    #[test]
    fn a_random_tree_of_switches_is_a_fabric(
        parents in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let switches = parents.len() + 1;
        let hosts: String = (0..switches).map(|i| format!("h{i},s{i},100Gb/s,3m\n")).collect();
        let link = |i: usize, parent: usize| format!("s{parent},s{},100Gb/s,20m\n", i + 1);
        let links = parents.iter().enumerate().map(|(i, parent)| link(i, parent.index(i + 1)));
        let custom = Custom { hosts: switches as u32, links: hosts + &links.collect::<String>(), ..Custom::default() };
        let topology = custom.generate().unwrap();
        prop_assert_eq!((topology.hosts(), topology.switches()), (switches, switches));
        prop_assert_eq!(topology.channels().len(), 2 * (switches + parents.len()));
    }
}
