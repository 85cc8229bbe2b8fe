//! A fabric in a file of its own: `[topology.custom] file = "cluster.graphml"`, beside the scenario.

use std::path::Path;

use toml::Value;

use crate::ScenarioError;
use crate::document::Document;

/// The key of `custom` for a file, by its extension.
const FORMATS: [(&str, &str); 4] = [("csv", "links"), ("graphml", "graphml"), ("xml", "graphml"), ("json", "json")];
const KEY: &str = "topology.custom.file";

/// Replaces `topology.custom.file` by what it holds, so that the resolved scenario needs no file.
pub(crate) fn apply(document: &mut Document<'_>) -> Result<(), ScenarioError> {
    let Some(name) = custom(document).and_then(|custom| custom.remove("file")) else { return Ok(()) };
    let Some(name) = name.as_str().map(str::to_owned) else {
        return Err(document.error(KEY, format!("{name}; expected the name of a file as a string")));
    };
    let extension = Path::new(&name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let Some((_, format)) = FORMATS.iter().find(|(known, _)| *known == extension) else {
        let known: Vec<&str> = FORMATS.iter().map(|(extension, _)| *extension).collect();
        return Err(document.error(KEY, format!("\"{name}\" is of no known format; known: {}", known.join(", "))));
    };
    let text = std::fs::read_to_string(document.beside(&name)).map_err(|error| {
        document.error(KEY, format!("\"{name}\" cannot be read ({error}); expected a file beside the scenario"))
    })?;
    match custom(document) {
        Some(custom) if custom.contains_key(*format) => {
            Err(document.error(KEY, format!("given beside {format}; expected only one of them")))
        }
        Some(custom) => {
            custom.insert((*format).to_owned(), Value::String(text));
            document.files.push((format!("topology.custom.{format}"), KEY.to_owned()));
            Ok(())
        }
        None => Ok(()),
    }
}

fn custom<'a>(document: &'a mut Document<'_>) -> Option<&'a mut toml::Table> {
    document.values.get_mut("topology")?.as_table_mut()?.get_mut("custom")?.as_table_mut()
}
