//! Shipped files, damaged at random: whatever is read runs, or is rejected with a line for each mistake that says
//! where.
//!
//! The damage follows from a seed, so a failure repeats; raise `ROUNDS` to look further. A fuzzer that follows
//! coverage needs a nightly compiler and is left out.

use std::{fs, panic, path::Path, path::PathBuf, time::Duration, time::Instant};

use etherweave_primitives::mix;
use etherweave_scenario::{Run, Scenario, ScenarioError};
use etherweave_topology::{Custom, Family, TopologyKind};

/// Damaged copies of each file.
const ROUNDS: u64 = 60;
/// Real time for each run that is accepted.
const PATIENCE: Duration = Duration::from_millis(5);

/// Tokens that slip into a file: numbers and units at the edge of sense, brackets, quotes, and no ASCII. Divided by
/// bars.
const TOKENS: &str = "0|1|-1|2|7|8|255|256|65535|65536|4294967295|9223372036854775807|1e300|nan|inf|1.5|true|\
    \"\"|\"0B\"|\"1B\"|\"4GiB\"|\"0s\"|\"1ps\"|\"5000000s\"|\"0b/s\"|\"100Tb/s\"|\"x\"|[]|{}|[0, 0]|{|}|[|]|\
    \"|\"\"\"|'''|=|.|,|#|\n|\\|\\u0000|é|∞|\u{feff}|\r\n|[[job]]\n|[switch]\n";

/// Words that a seed deals out.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) % limit.max(1) as u64) as usize
    }

    /// A place in the text between two characters.
    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
    }

    fn token(&mut self) -> &'static str {
        let place = self.below(TOKENS.split('|').count());
        TOKENS.split('|').nth(place).expect("a place below the count")
    }
}

/// One to three injuries.
fn damage(text: &str, dice: &mut Dice) -> String {
    let mut damaged = text.to_owned();
    for _ in 0..=dice.below(3) {
        damaged = match dice.below(5) {
            0 => without_a_piece(&damaged, dice),
            1 => with_a_token(&damaged, dice),
            2 => with_lines_moved(&damaged, dice),
            _ => with_another_value(&damaged, dice),
        };
    }
    damaged
}

fn without_a_piece(text: &str, dice: &mut Dice) -> String {
    let (a, b) = (dice.place(text), dice.place(text));
    let end = b.clamp(a, a.saturating_add(20).min(text.len()));
    let end = (a..=end).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(a);
    format!("{}{}", &text[..a], &text[end..])
}

fn with_a_token(text: &str, dice: &mut Dice) -> String {
    let at = dice.place(text);
    format!("{}{}{}", &text[..at], dice.token(), &text[at..])
}

fn with_lines_moved(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let (from, to) = (dice.below(lines.len()), dice.below(lines.len()));
    match (dice.below(3), lines.is_empty()) {
        (_, true) => {}
        (0, _) => drop(lines.remove(from)),
        (1, _) => lines.swap(from, to),
        _ => lines.insert(to, lines[from]),
    }
    lines.join("\n")
}

/// Replaces what follows one of the equals signs: most of the results are still TOML.
fn with_another_value(text: &str, dice: &mut Dice) -> String {
    let signs: Vec<usize> = text.match_indices("= ").map(|(at, sign)| at + sign.len()).collect();
    if signs.is_empty() {
        return with_a_token(text, dice);
    }
    let at = signs[dice.below(signs.len())];
    let end = text[at..].find([',', '\n', '}']).map_or(text.len(), |length| at + length);
    format!("{}{}{}", &text[..at], dice.token(), &text[end..])
}

/// Names and texts of all scenarios, those of the studies included; what they read beside them is named in full, as the
/// damaged copies stand nowhere.
fn shipped() -> Vec<(PathBuf, String)> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files =
        ["scenarios", "studies/sandia-2020"].into_iter().flat_map(|folder| fs::read_dir(home.join(folder)).unwrap());
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml") && !path.ends_with("study.toml"));
    paths.sort();
    let text = |path: &Path| {
        let named = |part: &str| {
            let beside = path.with_file_name(part);
            let stands = Path::new(&beside.display().to_string().replace("{rank}", "0")).is_file();
            if stands { beside.display().to_string() } else { part.to_string() }
        };
        fs::read_to_string(path).unwrap().split('"').map(named).collect::<Vec<_>>().join("\"")
    };
    paths.into_iter().map(|path| (path.clone(), text(&path))).collect()
}

/// Does what `act` says, and shows the text that made it panic.
fn calmly<T>(text: &str, act: impl FnOnce() -> T) -> T {
    panic::catch_unwind(panic::AssertUnwindSafe(act)).unwrap_or_else(|_| panic!("this text panics:\n{text}"))
}

/// A line for each mistake, with the file and, of all that stands in it, the place.
fn assert_helps(error: &ScenarioError, text: &str) {
    assert!(!error.mistakes.is_empty(), "{text}");
    for mistake in &error.mistakes {
        let line = mistake.to_string();
        assert!(line.starts_with("x.toml:") && !line.contains('\n'), "{line}\n{text}");
        let root = mistake.error.key.split('.').next().unwrap_or_default();
        let stands = text.parse::<toml::Table>().map_or(true, |table| table.contains_key(root));
        assert!(mistake.place.is_some() || !stands, "no line in: {line}\n{text}");
        assert!(line.contains("expected"), "{line}\n{text}");
    }
}

/// Reads the text; builds and runs it too where its fabric is one of the shipped ones, and so of their size.
fn try_out(text: &str, fabrics: &[TopologyKind]) {
    let scenario = match calmly(text, || Scenario::parse(text, "x.toml", &[])) {
        Ok(scenario) => scenario,
        Err(error) => return assert_helps(&error, text),
    };
    if !fabrics.contains(&scenario.topology) {
        return;
    }
    match calmly(text, || Run::start(text, "x.toml", &[], 1, &[])) {
        Err(error) => assert_helps(&error, text),
        Ok(run) => {
            let started = Instant::now();
            let summary = calmly(text, || run.finish(&mut |_| started.elapsed() < PATIENCE).0.summary);
            let lost = summary.packets_dropped + summary.packets_damaged + summary.packets_lost;
            let accounted = summary.packets_delivered + lost + summary.packets_in_flight;
            assert_eq!(summary.packets_created, accounted, "{text}");
        }
    }
}

#[test]
fn damaged_scenarios_are_rejected_with_their_line_or_run() {
    let shipped = shipped();
    let fabric = |text: &str| Scenario::parse(text, "x.toml", &[]).unwrap().topology;
    let fabrics: Vec<TopologyKind> = shipped.iter().map(|(_, text)| fabric(text)).collect();
    for (number, (_, text)) in shipped.iter().enumerate() {
        for round in 0..ROUNDS {
            let mut dice = Dice(number as u64 * ROUNDS + round);
            try_out(&damage(text, &mut dice), &fabrics);
        }
    }
}

#[test]
fn damaged_profiles_are_rejected_with_their_line_or_run() {
    let profile = include_str!("../../../../profiles/switch/spectrum.toml");
    let rest =
        "[topology.single_switch]\nhosts = 2\n[[job]]\nname = \"j\"\nworkload.osu_latency = { iterations = 10 }\n";
    let fabric = Scenario::parse(rest, "x.toml", &[]).unwrap().topology;
    for round in 0..4 * ROUNDS {
        let switch = damage(profile, &mut Dice(1 << 32 | round));
        try_out(&format!("[switch]\n{switch}\n{rest}"), std::slice::from_ref(&fabric));
    }
}

#[test]
fn damaged_edge_lists_are_rejected_with_their_line_or_make_a_fabric() {
    let links = "from,to,rate,length\nh0,s0,100Gb/s,3m\nh1,s0,100Gb/s,3m\n\nh2,s1,100Gb/s,3m\n\
                 h3,s1,100Gb/s,3m # rack 2\ns0,s1,40Gb/s,20m\ns0,s1,40Gb/s,20m\n";
    for round in 0..20 * ROUNDS {
        let damaged = damage(links, &mut Dice(2 << 32 | round));
        let custom = Custom { hosts: 4, links: damaged.clone(), ..Custom::default() };
        if let Err(error) = calmly(&damaged, || custom.generate()) {
            let message = error.to_string();
            assert!(message.contains("expected"), "{message}\n{damaged}");
        }
        let links = format!("[topology.custom]\nhosts = 4\nlinks = '''\n{damaged}'''\n");
        let text = format!("{links}[[job]]\nname = \"j\"\nworkload.osu_latency = {{ iterations = 1 }}\n");
        try_out(&text, &[TopologyKind::Custom(custom)]);
    }
}
