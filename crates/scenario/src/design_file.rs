//! Profiles of one's own in files: `design.power_file = "mine.toml"`, beside the scenario.

use toml::Value;

use crate::ScenarioError;
use crate::document::Document;

/// Keys that name a file, and those that take its text.
const FILES: [(&str, &str); 2] = [("power_file", "power_text"), ("prices_file", "prices_text")];

/// Replaces names of files by what they hold, so that the resolved scenario needs no file.
pub(crate) fn apply(document: &mut Document<'_>) -> Result<(), ScenarioError> {
    FILES.iter().try_for_each(|(file, text)| inline(document, file, text))
}

fn inline(document: &mut Document<'_>, file: &str, text: &str) -> Result<(), ScenarioError> {
    let Some(name) = design(document).and_then(|design| design.remove(file)) else { return Ok(()) };
    let key = format!("design.{file}");
    let Some(name) = name.as_str().map(str::to_owned) else {
        return Err(document.error(&key, format!("{name}; expected the name of a file as a string")));
    };
    if design(document).is_some_and(|design| design.contains_key(text)) {
        return Err(document.error(&key, format!("given beside {text}; expected only one of them")));
    }
    let read = std::fs::read_to_string(document.beside(&name)).map_err(|error| {
        document.error(&key, format!("\"{name}\" cannot be read ({error}); expected a file beside the scenario"))
    })?;
    if let Some(design) = design(document) {
        design.insert(text.to_owned(), Value::String(read));
        document.files.push((format!("design.{text}"), key));
    }
    Ok(())
}

fn design<'a>(document: &'a mut Document<'_>) -> Option<&'a mut toml::Table> {
    document.values.get_mut("design")?.as_table_mut()
}
