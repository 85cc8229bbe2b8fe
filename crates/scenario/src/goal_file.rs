//! A schedule in a file of its own: `workload.goal.file = "trace.goal"`, beside the scenario.

use toml::{Table, Value};

use crate::ScenarioError;
use crate::document::Document;

/// Longest file: beyond that a schedule is not read whole [B].
const BYTES_MAX: u64 = 1 << 30;

/// Replaces `workload.goal.file` of each job by what it holds, so that the resolved scenario needs no file.
pub(crate) fn apply(document: &mut Document<'_>) -> Result<(), ScenarioError> {
    let jobs = document.values.get("job").and_then(Value::as_array).map_or(0, Vec::len);
    (0..jobs).try_for_each(|number| apply_to(document, number))
}

fn apply_to(document: &mut Document<'_>, number: usize) -> Result<(), ScenarioError> {
    let [key, held] = ["file", "text"].map(|name| format!("job.{number}.workload.goal.{name}"));
    let Some(name) = goal(document, number).and_then(|goal| goal.remove("file")) else { return Ok(()) };
    let Some(name) = name.as_str().map(str::to_owned) else {
        return Err(document.error(&key, format!("{name}; expected the name of a file as a string")));
    };
    let text = read(&document.beside(&name)).map_err(|reason| {
        document.error(&key, format!("\"{name}\" cannot be read ({reason}); expected a GOAL text beside the scenario"))
    })?;
    match goal(document, number) {
        Some(goal) if goal.contains_key("text") => {
            return Err(document.error(&key, "given beside text; expected only one of them"));
        }
        Some(goal) => goal.insert("text".to_owned(), Value::String(text)),
        None => None,
    };
    document.files.push((held, key));
    Ok(())
}

fn read(path: &std::path::Path) -> Result<String, String> {
    let told = |error: std::io::Error| error.to_string();
    let bytes = std::fs::metadata(path).map_err(told)?.len();
    if bytes > BYTES_MAX {
        return Err(format!("{bytes} bytes, more than {BYTES_MAX}"));
    }
    std::fs::read_to_string(path).map_err(told)
}

fn goal<'a>(document: &'a mut Document<'_>, number: usize) -> Option<&'a mut Table> {
    let job = document.values.get_mut("job")?.as_array_mut()?.get_mut(number)?.as_table_mut()?;
    job.get_mut("workload")?.as_table_mut()?.get_mut("goal")?.as_table_mut()
}

#[cfg(test)]
mod tests {
    use crate::Schedules;

    const PAIR: &str = "num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\na: recv 8b from 0\n}\n";

    fn scenario(goal: &str) -> String {
        format!("[topology.single_switch]\nhosts = 2\n[[job]]\nname = \"a\"\nworkload.goal = {{ {goal} }}\n")
    }

    #[test]
    fn a_schedule_is_read_from_beside_the_scenario() {
        let directory = std::env::temp_dir().join(format!("etherweave-goal-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("pair.goal"), PAIR).unwrap();
        std::fs::write(directory.join("cut.goal"), &PAIR[..40]).unwrap();
        let origin = directory.join("a.toml");
        let made = |goal: &str| Schedules::of(&scenario(goal), origin.to_str().unwrap(), &[], 0);
        let whole = made("file = \"pair.goal\"").unwrap();
        assert!(whole.resolved.contains("send 8b to 1") && whole.jobs[0].hosts.len() == 2);
        let told = |goal: &str| made(goal).unwrap_err().to_string();
        let both = told("file = \"pair.goal\", text = \"\"");
        let (cut, missing) = (told("file = \"cut.goal\""), told("file = \"no.goal\""));
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(cut.contains("a.toml:5:") && cut.contains("goal.file: line 5: r; expected `rank N {`"), "{cut}");
        assert!(missing.contains("\"no.goal\" cannot be read (No such file"), "{missing}");
        assert!(both.contains("given beside text"), "{both}");
        assert!(told("file = 5").contains("5; expected the name of a file"));
    }
}
