//! Values of a TOML document by their dotted keys, in which elements of lists are numbers.

use toml::{Table, Value};

/// The value at a key, or the nearest one around it that exists; with the key of that.
pub(crate) fn nearest<'v>(root: &'v Table, key: &str) -> Option<(String, &'v Value)> {
    let (mut place, mut path): (Option<&Value>, Vec<&str>) = (None, Vec::new());
    for part in key.split('.') {
        let next = match place {
            None => root.get(part),
            Some(value) => child(value, part),
        };
        let Some(next) = next else { break };
        place = Some(next);
        path.push(part);
    }
    place.map(|value| (path.join("."), value))
}

pub(crate) fn get<'v>(root: &'v Table, key: &str) -> Option<&'v Value> {
    nearest(root, key).filter(|(path, _)| path == key).map(|(_, value)| value)
}

fn child<'v>(value: &'v Value, part: &str) -> Option<&'v Value> {
    match value {
        Value::Table(table) => table.get(part),
        Value::Array(list) => list.get(part.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Puts a value at a key, making tables on the way; nothing where an element of a list is missing.
pub(crate) fn set(root: &mut Table, key: &str, value: Value) {
    let Some((above, last)) = key.rsplit_once('.') else {
        root.insert(key.to_owned(), value);
        return;
    };
    match holder(root, above) {
        Some(Value::Table(table)) => drop(table.insert(last.to_owned(), value)),
        Some(Value::Array(list)) => {
            let place = last.parse::<usize>().ok().and_then(|index| list.get_mut(index));
            if let Some(place) = place {
                *place = value;
            }
        }
        _ => {}
    }
}

fn holder<'v>(root: &'v mut Table, key: &str) -> Option<&'v mut Value> {
    let mut parts = key.split('.');
    let first = parts.next()?;
    let mut place = root.entry(first).or_insert_with(|| Value::Table(Table::new()));
    for part in parts {
        place = match place {
            Value::Table(table) => table.entry(part).or_insert_with(|| Value::Table(Table::new())),
            Value::Array(list) => list.get_mut(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(place)
}

pub(crate) fn remove(root: &mut Table, key: &str) {
    let Some((above, last)) = key.rsplit_once('.') else {
        root.remove(key);
        return;
    };
    if get(root, key).is_none() {
        return;
    }
    match holder(root, above) {
        Some(Value::Table(table)) => drop(table.remove(last)),
        Some(Value::Array(list)) => drop(last.parse::<usize>().map(|index| list.remove(index))),
        _ => {}
    }
}

/// Keys of all values below a key, tables and lists before what they hold.
pub(crate) fn keys(root: &Table) -> Vec<String> {
    let mut all = Vec::new();
    for (name, value) in root {
        all.push(name.clone());
        below(value, name, &mut all);
    }
    all
}

fn below(value: &Value, path: &str, all: &mut Vec<String>) {
    let mut visit = |part: String, value: &Value| {
        let path = format!("{path}.{part}");
        all.push(path.clone());
        below(value, &path, all);
    };
    match value {
        Value::Table(table) => table.iter().for_each(|(name, value)| visit(name.clone(), value)),
        Value::Array(list) => list.iter().enumerate().for_each(|(number, value)| visit(number.to_string(), value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> Table {
        "a.b = [1, { c = \"x\" }]\nd = true\n".parse().unwrap()
    }

    #[test]
    fn a_value_has_a_key_or_a_nearest_one() {
        assert_eq!(get(&root(), "a.b.1.c"), Some(&Value::String("x".to_owned())));
        assert_eq!(nearest(&root(), "a.b.1.z.y").map(|(key, _)| key), Some("a.b.1".to_owned()));
        assert_eq!(nearest(&root(), "z"), None);
        assert_eq!(keys(&root()), ["a", "a.b", "a.b.0", "a.b.1", "a.b.1.c", "d"]);
    }

    #[test]
    fn a_value_is_set_and_removed() {
        let mut tree = root();
        set(&mut tree, "a.b.0", Value::Integer(2));
        set(&mut tree, "e.f", Value::Boolean(false));
        remove(&mut tree, "a.b.1");
        remove(&mut tree, "d.z");
        assert_eq!(tree, "a.b = [2]\nd = true\ne.f = false\n".parse().unwrap());
    }
}
