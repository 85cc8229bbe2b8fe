//! Properties of a bill: every part once, the cheapest that fits, and the basis of each price.

use etherweave_power::{Basis, Certainty, Cost, PriceBook, shipped};
use etherweave_primitives::{BitRate, InputError, Power};
use etherweave_topology::{AsBuilt, Cable, Family, FatTree, SingleSwitch, Topology};

const BOOK: &str = r#"
about = "round numbers"
currency = "EUR"
[switch]
"8 x 100Gb/s" = { value = "1000 EUR", basis = "published", source = "a test", date = "2024-05" }
"16 x 100Gb/s" = { value = "900 EUR", basis = "published", source = "a test", date = "2024-05" }
"16 x 400Gb/s" = { value = "3000 EUR", basis = "published", source = "a test", date = "2024-05" }
[nic]
"100Gb/s" = { value = "70 EUR", basis = "published", source = "a test", date = "2024-05" }
[cable]
"100Gb/s copper 3m" = { value = "6 EUR", basis = "published", source = "a test", date = "2024-05" }
"100Gb/s copper 5m" = { value = "9 EUR", basis = "published", source = "a test", date = "2024-05" }
"local 100Gb/s copper 5m" = { value = "11 EUR", basis = "published", source = "a test", date = "2024-05" }
"100Gb/s active 30m" = { value = "90 EUR", basis = "published", source = "a test", date = "2024-05" }
"4 x 100Gb/s fibre 500m" = { value = "15 EUR", basis = "published", source = "a test", date = "2024-05" }
"4 x 100Gb/s copper 3m" = { value = "20 EUR", basis = "published", source = "a test", date = "2024-05" }
[cable."100Gb/s fibre 500m"]
value = "5 EUR"
per_metre = "0.5 EUR"
basis = "published"
source = "a test"
date = "2024-05"
[optics]
"100Gb/s 100m" = { value = "30 EUR", basis = "published", source = "a test", date = "2024-05" }
"100Gb/s 500m" = { value = "45 EUR", basis = "example", source = "a test" }
"400Gb/s 100m" = { value = "100 EUR", basis = "published", source = "a test", date = "2024-05" }
[electricity]
kilowatt_hour = { value = "0.2 EUR", basis = "published", source = "a test", date = "2024-05" }
overhead = { value = 1.5, basis = "published", source = "a test" }
"#;

fn book() -> PriceBook {
    PriceBook::parse("round", BOOK).unwrap()
}

fn cable(text: &str) -> Cable {
    text.parse().unwrap()
}

/// 2 leaves of 3 hosts, 1 core, 2 links from each leaf.
fn tree(host: &str, uplink: &str) -> Topology {
    let tree = FatTree { leaves: 2, hosts_per_leaf: 3, cores: 1, links_per_core: 2, ..FatTree::default() };
    FatTree { host_cable: cable(host), uplink_cable: cable(uplink), ..tree }.generate().unwrap()
}

fn star(hosts: u32, host: &str, breakout: u32) -> Topology {
    let as_built = AsBuilt { breakout, ..AsBuilt::default() };
    SingleSwitch { hosts, cable: cable(host), as_built, ..SingleSwitch::default() }.generate().unwrap()
}

/// Lines of a bill as key, count and sum.
fn lines(cost: &Cost) -> Vec<(&str, u64, f64)> {
    cost.items.iter().map(|item| (item.key.as_str(), item.count, item.all.amount_f64())).collect()
}

#[test]
fn every_part_is_bought_once_and_at_its_least_price() {
    let cost = book().cost(&tree("3m", "20m")).unwrap();
    // Larger switches may be cheaper. 20 m: 90 active; 5 + 20 · 0.5 + 2 · 30 = 75 with fibre.
    let expected = [
        ("switch.\"16 x 100Gb/s\"", 3, 2_700.0),
        ("cable.\"100Gb/s copper 3m\"", 6, 36.0),
        ("cable.\"100Gb/s fibre 500m\"", 4, 60.0),
        ("optics.\"100Gb/s 100m\"", 8, 240.0),
        ("nic.\"100Gb/s\"", 6, 420.0),
    ];
    assert_eq!(lines(&cost), expected);
    assert_eq!((cost.total.amount_f64(), cost.total.currency().code()), (3_456.0, "EUR"));
    assert_eq!(Certainty::of(&cost.figures).to_string(), "all 5 figures are published");
}

#[test]
fn a_cable_for_the_link_s_own_class_goes_first_and_is_long_enough() {
    let cost = book().cost(&tree("4m", "5m")).unwrap();
    let cables: Vec<_> = lines(&cost).into_iter().filter(|(key, ..)| key.starts_with("cable")).collect();
    assert_eq!(cables, [("cable.\"100Gb/s copper 5m\"", 6, 54.0), ("cable.\"local 100Gb/s copper 5m\"", 4, 44.0)]);
}

#[test]
fn an_active_cable_is_taken_where_fibre_costs_more() {
    // 30 m: 5 + 15 + 60 = 80 with fibre, still less than 90; with dearer transceivers it is not.
    let dearer = PriceBook::parse("dearer", &BOOK.replace("30 EUR", "40 EUR")).unwrap();
    let keys = |book: &PriceBook| lines(&book.cost(&tree("3m", "30m")).unwrap())[2].0.to_owned();
    assert_eq!(
        (keys(&book()).as_str(), keys(&dearer).as_str()),
        ("cable.\"100Gb/s fibre 500m\"", "cable.\"100Gb/s active 30m\"")
    );
}

#[test]
fn a_price_that_is_an_example_makes_the_sum_one() {
    // 200 m is beyond the transceiver for 100 m.
    let cost = book().cost(&tree("3m", "200m")).unwrap();
    assert_eq!(Certainty::of(&cost.figures).basis, Basis::Example);
    let text = Certainty::of(&cost.figures).to_string();
    assert_eq!(text, "an example, not an offer: 1 of 5 figures are not published: optics.\"100Gb/s 500m\" (example)");
}

#[test]
fn breakout_cables_are_bought_whole_with_an_end_for_every_host() {
    // 6 hosts, 4 to a cable: two cables; ports of 400 Gb/s.
    let copper = book().cost(&star(6, "3m", 4)).unwrap();
    let expected = [
        ("switch.\"16 x 400Gb/s\"", 1, 3_000.0),
        ("cable.\"4 x 100Gb/s copper 3m\"", 2, 40.0),
        ("nic.\"100Gb/s\"", 6, 420.0),
    ];
    assert_eq!(lines(&copper), expected);
    let fibre = book().cost(&star(6, "50m", 4)).unwrap();
    let cables = &lines(&fibre)[1..4];
    let (whole, each) = (("optics.\"400Gb/s 100m\"", 2, 200.0), ("optics.\"100Gb/s 100m\"", 6, 180.0));
    assert_eq!(cables, [("cable.\"4 x 100Gb/s fibre 500m\"", 2, 30.0), whole, each]);
}

#[test]
fn a_given_radix_is_bought() {
    let of_radix = |radix| {
        let as_built = AsBuilt { radix: Some(radix), ..AsBuilt::default() };
        let star = SingleSwitch { hosts: 4, cable: cable("3m"), as_built, ..SingleSwitch::default() };
        book().cost(&star.generate().unwrap())
    };
    assert!(of_radix(16).is_ok());
    rejects(of_radix(17), &["price book round has no switch.\"17 x 100Gb/s\"; expected one of switch.\"8 x 100Gb/s\""]);
}

#[test]
fn a_year_s_electricity_counts_the_facility() {
    // 10 kW · 8,766 h · 1.5 · 0.2
    let year = book().year_of(Power::from_w(10_000)).unwrap();
    assert_eq!(year.total.to_string(), "26298 EUR");
    assert_eq!((year.items[0].count, year.figures.len()), (131_490, 2));
    let without = PriceBook::parse("none", &BOOK[..BOOK.find("[electricity]").unwrap()]).unwrap();
    rejects(without.year_of(Power::from_w(1)), &["price book none has no electricity"]);
}

#[test]
fn the_shipped_books_price_fabrics_of_today_and_say_what_they_are() {
    for name in shipped::PRICE_BOOKS.names() {
        let book = PriceBook::shipped(name).unwrap();
        for gigabits in [100, 400, 800] {
            let rate = BitRate::from_gbps(gigabits);
            let (host_cable, uplink_cable) = (cable("2m"), cable("50m"));
            let tree = FatTree { host_rate: rate, uplink_rate: rate, host_cable, uplink_cable, ..FatTree::default() };
            let cost = book.cost(&tree.generate().unwrap()).unwrap();
            assert!(cost.total.amount_f64() > 10_000.0);
            assert!(
                Certainty::of(&cost.figures).to_string().starts_with("an example, not an offer"),
                "{}",
                Certainty::of(&cost.figures)
            );
        }
    }
}

fn rejects(result: Result<impl Sized, InputError>, parts: &[&str]) {
    let error = result.err().expect("it is rejected").to_string();
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn a_missing_price_is_named_with_those_that_exist() {
    rejects(PriceBook::shipped("list"), &["no price book \"list\"; expected one of example"]);
    let cost = |host, uplink| book().cost(&tree(host, uplink));
    rejects(cost("7m copper", "3m"), &["no cable.\"100Gb/s copper 7m\" or longer", "cable.\"100Gb/s copper 5m\""]);
    rejects(
        cost("3m", "600m"),
        &["no cable.\"100Gb/s active 600m\" or longer, nor fibre with transceivers", "optics."],
    );
    let rate = BitRate::from_gbps(200);
    let fast = SingleSwitch { rate, cable: cable("3m"), ..SingleSwitch::default() }.generate().unwrap();
    rejects(book().cost(&fast), &["no cable.\"200Gb/s copper 3m\""]);
}

#[test]
fn mistakes_in_a_book_are_reported_with_their_key() {
    let parse = |from: &str, to: &str| PriceBook::parse("mine", &BOOK.replacen(from, to, 1));
    rejects(parse("\"70 EUR\"", "70"), &["a price as a string with its currency"]);
    rejects(parse("70 EUR", "70 USD"), &["nic.\"100Gb/s\": 70 USD; expected a price in EUR"]);
    rejects(parse(", date = \"2024-05\"", ""), &["switch.", ".date: missing; expected when the price held"]);
    rejects(parse("value = \"70 EUR\"", "value = \"70 EUR\", per_metre = \"1 EUR\""), &["nic", "none but for cables"]);
    rejects(parse("8 x 100Gb/s", "0 x 100Gb/s"), &["is no switch; expected ports and rate"]);
    rejects(parse("100Gb/s 100m", "100Gb/s"), &["is no transceiver"]);
    rejects(parse("value = 1.5", "value = 0.5"), &["electricity.overhead: 0.5; expected 1 to 10"]);
    rejects(parse("currency = \"EUR\"", "currency = \"euro\""), &["expected three capital letters"]);
}
