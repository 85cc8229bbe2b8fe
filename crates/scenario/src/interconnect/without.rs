//! Keys of a profile that a scenario does not take.

use etherweave_primitives::{InputError, nearest_of};
use toml::{Table, Value};

use super::{
    TABLE,
    profile::{Interconnect, LINK},
};

/// Takes keys, with dots, out of the values of a profile.
pub(super) fn leave_out(keys: &[String], interconnect: &mut Interconnect) -> Result<(), InputError> {
    for (number, key) in keys.iter().enumerate() {
        let at = format!("{TABLE}.without.{number}");
        if let Some(earlier) = keys[..number].iter().find(|earlier| is_within(key, earlier)) {
            return Err(InputError::new(at, format!("\"{key}\" beside \"{earlier}\""), "each key once"));
        }
        let (profile, own) = match key.split_once('.') {
            Some((LINK, own)) => (&mut interconnect.link, own),
            Some(_) | None => (&mut interconnect.scenario, key.as_str()),
        };
        if remove(profile, own).is_none() {
            return Err(InputError::new(at, format!("\"{key}\""), keys_instead(key, interconnect)));
        }
    }
    interconnect.figures.retain(|figure| !keys.contains(&figure.key));
    Ok(())
}

/// Whether a key is another, or in the table that has it as its name.
fn is_within(key: &str, table: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Names what was meant by a key that a profile does not set: the nearest of its keys, or those of the same table.
fn keys_instead(key: &str, interconnect: &Interconnect) -> String {
    if let Some(table) = key.strip_suffix(".profile") {
        return format!("\"{table}\", the table whose keys the name of a profile stands for");
    }
    let mut known = Vec::new();
    add_keys(LINK, &interconnect.link, &mut known);
    interconnect.scenario.iter().for_each(|(name, value)| add_key(name.clone(), value, &mut known));
    let names = Vec::from_iter(known.iter().map(String::as_str));
    let near = nearest_of(key, &names);
    if !near.is_empty() {
        return format!("a key that the profile sets{near}");
    }
    let first = key.split('.').next().unwrap_or_default();
    let is_beside = |name: &&str| name.matches('.').count() == 1 && is_within(name, first);
    let beside = Vec::from_iter(names.iter().copied().filter(is_beside));
    let tables = || Vec::from_iter(interconnect.scenario.keys().map(String::as_str));
    let listed = if beside.is_empty() { tables() } else { beside };
    format!("a key that the profile sets: {}", listed.join(", "))
}

/// Adds a key with dots, and those of the table that it may name.
fn add_key(key: String, value: &Value, known: &mut Vec<String>) {
    if let Value::Table(table) = value {
        add_keys(&key, table, known);
    }
    known.push(key);
}

fn add_keys(table: &str, values: &Table, known: &mut Vec<String>) {
    values.iter().for_each(|(name, value)| add_key(format!("{table}.{name}"), value, known));
}

/// Removes a key, with dots.
fn remove(values: &mut Table, key: &str) -> Option<Value> {
    let (tables, last) = key.rsplit_once('.').unwrap_or(("", key));
    let mut parts = tables.split('.').filter(|part| !part.is_empty());
    parts.try_fold(values, |table, part| table.get_mut(part)?.as_table_mut())?.remove(last)
}
