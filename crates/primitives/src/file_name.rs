//! Names of things that may become names of files: of nodes, jobs and runs.

use crate::InputError;

/// Longest name [B]. A file system takes 255 B (NAME_MAX of Linux); the rest is for endings such as ".flows".
const NAME_BYTES_MAX: usize = 200;

/// Rejects a name that is no plain file name: it could lead out of the directory of a result, or break a line of a
/// text.
///
/// # Errors
/// Names the fault and the key.
///
/// ```
/// use etherweave_primitives::check_file_name;
/// assert!(check_file_name("job.0.name", "halo 3D").is_ok());
/// let error = check_file_name("job.0.name", "../halo").unwrap_err();
/// assert_eq!(error.to_string(), "job.0.name: \"../halo\" has a slash; expected a name that a file can have: 1 to 200 \
///     bytes without slashes and control characters, neither \".\" nor \"..\"");
/// ```
pub fn check_file_name(key: impl Into<String>, name: &str) -> Result<(), InputError> {
    let reason = if name.is_empty() {
        "is empty"
    } else if name.len() > NAME_BYTES_MAX {
        "is too long"
    } else if name.contains('/') {
        "has a slash"
    } else if name.chars().any(char::is_control) {
        "has a control character"
    } else if name == "." || name == ".." {
        "is a directory"
    } else {
        return Ok(());
    };
    let mistake = format!("{:?} {reason}", shortened(name));
    let expected = format!(
        "a name that a file can have: 1 to {NAME_BYTES_MAX} bytes without slashes and control characters, neither \
         \".\" nor \"..\""
    );
    Err(InputError::new(key, mistake, expected))
}

/// The first characters of a name, as many as a line of an error has room for.
fn shortened(name: &str) -> String {
    const SHOWN_MAX: usize = 60;
    let mut shown: String = name.chars().take(SHOWN_MAX).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_a_file_can_have_pass() {
        for name in ["a", "...", ".hidden", "-rf", "=1+1", "leaf 0", "n\u{e9}", "a\\b", &"x".repeat(200)] {
            assert_eq!(check_file_name("k", name), Ok(()), "{name}");
        }
        let refused = [
            ("", "is empty"),
            (".", "is a directory"),
            ("..", "is a directory"),
            ("/etc/passwd", "has a slash"),
            ("../a", "has a slash"),
            ("a/..", "has a slash"),
            ("a\0b", "has a control character"),
            ("a\nb", "has a control character"),
            ("\u{1b}[2J", "has a control character"),
            ("\u{7f}", "has a control character"),
            ("\u{85}", "has a control character"),
        ];
        for (name, mistake) in refused {
            let error = check_file_name("k", name).unwrap_err().to_string();
            assert!(error.contains(mistake), "{name:?}: {error}");
        }
        let long = check_file_name("k", &"\u{e9}".repeat(101)).unwrap_err().to_string();
        assert!(long.contains("is too long") && long.len() < 400, "{long}");
    }
}
