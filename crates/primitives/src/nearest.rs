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

/// The name of which `name` differs in a third of its letters or fewer, or the only one that begins with it.
fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let close = known.iter().map(|known| (strsim::osa_distance(name, known), *known)).min()?;
    let is_close = 3 * close.0 <= name.chars().count().max(3);
    is_close.then_some(close.1).or_else(|| only_longer(name, known))
}

fn only_longer<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let mut longer = known.iter().filter(|known| !name.is_empty() && known.starts_with(name));
    let first = longer.next()?;
    longer.next().is_none().then_some(*first)
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

    #[test]
    fn the_only_name_that_begins_so_is_near() {
        let known = ["efa-100", "infiniband-hdr", "infiniband-ndr"];
        assert_eq!(nearest_of("efa", &known), "; nearest is `efa-100`");
        assert_eq!(nearest_of("infiniband", &known), "", "two begin with it");
        assert_eq!(nearest_of("", &known[..1]), "");
    }
}
