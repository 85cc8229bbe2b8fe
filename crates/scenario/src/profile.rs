//! Profiles: named sets of switch parameters that come with Etherweave.

use toml::{Table, Value};

use crate::ScenarioError;
use crate::document::Document;

/// Every profile and its text.
const SWITCHES: &[(&str, &str)] = &[("spectrum", include_str!("../../../profiles/switch/spectrum.toml"))];

/// Replaces `switch.profile` by what it stands for; keys that are given stay.
pub(crate) fn apply(document: &mut Document<'_>) -> Result<(), ScenarioError> {
    let Some(Value::Table(switch)) = document.values.get_mut("switch") else { return Ok(()) };
    let Some(name) = switch.remove("profile") else { return Ok(()) };
    let profile = name.as_str().and_then(|name| SWITCHES.iter().find(|(known, _)| *known == name));
    let Some((_, text)) = profile else {
        let known: Vec<&str> = SWITCHES.iter().map(|(name, _)| *name).collect();
        return Err(document.error("switch.profile", format!("no profile {name}; known: {}", known.join(", "))));
    };
    let profile: Table = text.parse().expect("a shipped profile is TOML");
    for (key, value) in profile {
        switch.entry(key).or_insert(value);
    }
    Ok(())
}
