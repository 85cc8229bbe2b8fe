//! Names that do not exist, and the existing name that was meant.

use crate::InputError;

/// Mistake of a name that is none of those of its kind.
///
/// ```
/// let error = etherweave_primitives::no_such("topology", "family", "thorus", &["torus", "mesh"]);
/// assert_eq!(error.to_string(), "topology: no family \"thorus\"; expected one of torus, mesh; nearest is `torus`");
/// ```
pub fn no_such(key: &str, kind: &str, name: &str, known: &[&str]) -> InputError {
    let expected = format!("one of {}{}", known.join(", "), nearest_of(name, known));
    InputError::new(key, format_args!("no {kind} \"{name}\""), expected)
}

/// End of a sentence that names what was meant, where one of several names is near.
pub fn nearest_of(name: &str, known: &[&str]) -> String {
    let near = nearest(name, known).filter(|_| known.len() > 1);
    near.map_or_else(String::new, |near| format!("; nearest is `{near}`"))
}

/// The name of which `name` differs in a third of its letters or fewer.
fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let close = known.iter().map(|known| (strsim::osa_distance(name, known), *known)).min()?;
    (3 * close.0 <= name.chars().count().max(3)).then_some(close.1)
}

#[cfg(test)]
mod tests {
    use super::nearest_of;

    #[test]
    fn a_name_is_near_where_a_third_of_its_letters_differ() {
        assert_eq!(nearest_of("tours", &["torus", "mesh"]), "; nearest is `torus`", "two letters changed places");
        assert_eq!(nearest_of("ring", &["torus", "mesh"]), "");
        assert_eq!(nearest_of("thorus", &["torus", "mesh"]), "; nearest is `torus`");
        assert_eq!(nearest_of("thorus", &["torus"]), "", "the only name is named already");
        assert_eq!(nearest_of("thorus", &[]), "");
    }
}
