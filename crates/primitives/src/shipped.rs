//! Texts that come with Etherweave, by name.

use crate::{InputError, no_such};

/// Texts of files that come with Etherweave, each with its name; [`shipped!`](crate::shipped) includes them.
pub struct Shipped(pub &'static [(&'static str, &'static str)]);

impl Shipped {
    /// Returns all names.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|&(name, _)| name).collect()
    }

    /// Returns the name and the text of what is called so.
    ///
    /// # Errors
    /// When there is none; with the key that asks for it, and the kind of such texts.
    pub fn entry(&self, key: &str, kind: &str, name: &str) -> Result<(&'static str, &'static str), InputError> {
        let entry = self.0.iter().find(|(known, _)| *known == name).copied();
        entry.ok_or_else(|| no_such(key, kind, name, &self.names()))
    }
}

/// Includes files of a folder of `profiles`, by their names without ".toml".
#[macro_export]
macro_rules! shipped {
    ($folder:literal: $($name:literal)*) => {
        $crate::Shipped(&[$((
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/", $folder, "/", $name, ".toml")),
        )),*])
    };
}
