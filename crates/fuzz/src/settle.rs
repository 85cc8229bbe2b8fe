//! A drawn scenario becomes one that runs: keys that a refusal names are removed or made smaller, and so is traffic.

use etherweave_primitives::Stream;
use etherweave_scenario::{Estimate, Mistake, Scenario, ScenarioError, foresee};
use toml::{Table, Value};

use crate::{curve, launch::start, quantity, tree};

/// Packet-hops of a run, at most, by its estimate.
const HOPS_MAX: u64 = 20_000;
/// Changes until a scenario runs.
const CHANGES_MAX: usize = 60;

/// A scenario that runs, or one that is still refused; and what was refused before.
pub struct Settled {
    /// Its text.
    pub text: String,
    /// Every mistake on the way.
    pub mistakes: Vec<Mistake>,
    /// Whether it runs.
    pub runs: bool,
}

/// Makes a scenario run that is drawn at random.
pub fn settle(mut scenario: Table, dice: &mut Stream) -> Settled {
    let mut mistakes = Vec::new();
    for _ in 0..CHANGES_MAX {
        let text = text(&scenario);
        match refusal(&text) {
            Ok(Size::Small) => return Settled { text, mistakes, runs: true },
            Ok(Size::Large) => reduce_traffic(&mut scenario, &text, dice),
            Ok(Size::Endless) => tree::set(&mut scenario, "run.end", end(dice)),
            Err(error) => {
                error.mistakes.iter().for_each(|mistake| mend(&mut scenario, mistake, dice));
                mistakes.extend(error.mistakes);
            }
        }
    }
    Settled { text: text(&scenario), mistakes, runs: false }
}

pub(crate) fn text(scenario: &Table) -> String {
    toml::to_string(scenario).expect("a table is TOML")
}

/// How large a run is by its estimate.
#[derive(PartialEq, Eq)]
pub(crate) enum Size {
    Small,
    Large,
    /// Neither traffic nor the run has an end.
    Endless,
}

impl Size {
    fn of(estimate: &Estimate, text: &str) -> Size {
        let has_end = || text.parse::<Table>().is_ok_and(|scenario| tree::get(&scenario, "run.end").is_some());
        match estimate.packet_hops {
            None if has_end() => Size::Small,
            None => Size::Endless,
            Some(hops) if hops > HOPS_MAX => Size::Large,
            Some(_) => Size::Small,
        }
    }
}

/// Whether a scenario is refused; one that is large is not built.
pub(crate) fn refusal(text: &str) -> Result<Size, ScenarioError> {
    if text.parse().is_ok_and(|scenario| curve::is_curve(&scenario)) {
        return curve::refusal(text).map(|()| Size::Small);
    }
    let size = Size::of(&foresee(text, "x.toml", &[])?, text);
    if size == Size::Small {
        start(text, 1)?;
    }
    Ok(size)
}

/// 10 us to 9 ms.
fn end(dice: &mut Stream) -> Value {
    Value::String(format!("{}us", 10_u64.pow(1 + dice.below(3) as u32) * (1 + dice.below(9))))
}

/// Changes what a mistake names, so that it may not be made again.
fn mend(scenario: &mut Table, mistake: &Mistake, dice: &mut Stream) {
    let key = mistake.error.key.as_str();
    if key.ends_with(".priorities") {
        let numbers = mistake.error.expected.split(|c: char| !c.is_ascii_digit()).filter_map(|text| text.parse().ok());
        let numbers: Vec<Value> = numbers.map(Value::Integer).collect();
        return if numbers.is_empty() { tree::remove(scenario, key) } else { tree::set(scenario, key, numbers.into()) };
    }
    if let Some(other) = beside(scenario, &mistake.error.expected) {
        return tree::remove(scenario, &other);
    }
    if let Some(names) = mistake.error.expected.strip_prefix("one of ").filter(|_| key.contains("routing")) {
        return reroute(scenario, key, names, dice);
    }
    let is_missing = tree::get(scenario, key).is_none();
    if is_missing && (key == "run.end" || key == "observe.until") {
        return tree::set(scenario, "run.end", end(dice));
    }
    if is_missing && key.ends_with(".priority") {
        return tree::remove(scenario, "flow_control");
    }
    let Some((path, value)) = tree::nearest(scenario, key) else { return remove_a_root(scenario, dice) };
    let depth = path.split('.').count();
    if path.starts_with("job.") && path.contains(".workload") {
        let is_number = matches!(value, Value::Integer(_)) || value.as_str().and_then(quantity::halved).is_some();
        if dice.happens(1, 10) {
            drop_job(scenario, &path);
        } else if is_number && dice.happens(2, 3) {
            redraw(scenario, &path, dice);
        } else if depth > 4 {
            tree::remove(scenario, &path);
        } else if !shrink_below(scenario, &path, dice) {
            drop_job(scenario, &path);
        }
    } else if path.starts_with("job") && depth < 3 {
        drop_job(scenario, &path);
    } else if path.starts_with("topology") && depth < 3 {
        remove_a_root(scenario, dice);
    } else {
        tree::remove(scenario, &path);
    }
}

/// The key of the run or of a job beside which a refusal expects another value, where it is set.
fn beside(scenario: &Table, expected: &str) -> Option<String> {
    let (key, _) = expected.split_once(" beside ")?.1.split_once(':')?;
    let jobs = scenario.get("job").and_then(Value::as_array).map_or(0, Vec::len);
    let of_jobs = (0..jobs).map(|number| format!("job.{number}.{key}"));
    [key.to_owned()].into_iter().chain(of_jobs).find(|key| tree::get(scenario, key).is_some())
}

/// Takes one of the routings that a refusal names.
fn reroute(scenario: &mut Table, key: &str, names: &str, dice: &mut Stream) {
    let names = names.split(" on this fabric").next().unwrap_or(names);
    let names: Vec<&str> = names.split(", ").map(|name| name.trim_matches(['`', '"'])).collect();
    let name = Value::String(names[dice.below(names.len() as u64) as usize].to_owned());
    let value = if key.ends_with("routings") { Value::Array(vec![name]) } else { name };
    tree::set(scenario, key, value);
}

fn remove_a_root(scenario: &mut Table, dice: &mut Stream) {
    let is_kept = |key: &str| ["job", "open_loop", "topology"].contains(&key);
    let roots: Vec<String> = scenario.keys().filter(|key| !is_kept(key)).cloned().collect();
    if !roots.is_empty() {
        scenario.remove(&roots[dice.below(roots.len() as u64) as usize]);
    }
}

/// Leaves out the job at a key; the last one becomes a ping.
fn drop_job(scenario: &mut Table, key: &str) {
    let number = key.split('.').nth(1).and_then(|number| number.parse::<usize>().ok());
    let Some(Value::Array(jobs)) = scenario.get_mut("job") else { return };
    if jobs.len() > 1 {
        jobs.remove(number.unwrap_or(0).min(jobs.len() - 1));
    } else {
        let ping = "name = \"job0\"\nworkload.osu_latency = { iterations = 3 }\n";
        jobs[0] = Value::Table(ping.parse().expect("the ping is TOML"));
    }
}

/// Draws a number of a workload anew.
fn redraw(scenario: &mut Table, key: &str, dice: &mut Stream) {
    let value = match tree::get(scenario, key) {
        Some(Value::Integer(_)) => Value::Integer([1, 2, 3, 4, 6, 8, 9, 16][dice.below(8) as usize]),
        _ => Value::String(format!("{}B", 1_u64 << dice.below(16))),
    };
    tree::set(scenario, key, value);
}

/// Makes a number below a key smaller; returns whether there is one.
fn shrink_below(scenario: &mut Table, above: &str, dice: &mut Stream) -> bool {
    let below = format!("{above}.");
    let mut keys = tree::keys(scenario);
    keys.retain(|key| {
        key.starts_with(&below) && tree::get(scenario, key).is_some_and(|value| smaller(value).is_some())
    });
    if keys.is_empty() {
        return false;
    }
    let key = &keys[dice.below(keys.len() as u64) as usize];
    let value = tree::get(scenario, key).and_then(smaller).expect("kept for that");
    tree::set(scenario, key, value);
    true
}

/// A number or quantity half as large.
pub(crate) fn smaller(value: &Value) -> Option<Value> {
    match value {
        Value::Integer(number) if *number > 1 => Some(Value::Integer(number / 2)),
        Value::Float(number) if *number != 0.0 => Some(Value::Float(0.0)),
        Value::String(text) => quantity::halved(text).map(Value::String),
        _ => None,
    }
}

/// Halves a number of a workload, also one that has its default, or the end of the run.
fn reduce_traffic(scenario: &mut Table, text: &str, dice: &mut Stream) {
    let resolved = Scenario::parse(text, "x.toml", &[]).map(|scenario| scenario.resolved());
    let Some(resolved) = resolved.ok().and_then(|text| text.parse::<Table>().ok()) else { return };
    let mut keys = tree::keys(&resolved);
    keys.retain(|key| {
        let is_traffic = key.starts_with("job.") && key.contains(".workload.") || key == "run.end";
        is_traffic && tree::get(&resolved, key).is_some_and(|value| smaller(value).is_some())
    });
    if keys.is_empty() {
        return drop_job(scenario, "job.0");
    }
    let key = &keys[dice.below(keys.len() as u64) as usize];
    let half = tree::get(&resolved, key).and_then(smaller).expect("kept for that");
    tree::set(scenario, key, smaller(&half).unwrap_or(half));
}
