//! Names of the messages of a file, by tag.

use std::collections::{BTreeMap, BTreeSet};

/// Most of a name that is kept [B]; kernels have long ones.
pub(crate) const NAME_MAX: usize = 63;

/// Names that the operations of a file give to messages with some tags.
pub(crate) struct TagNames<'t> {
    tags: &'t BTreeSet<u32>,
    /// The name of all operations with a tag; none where these have several.
    names: BTreeMap<u32, Option<String>>,
}

impl TagNames<'_> {
    pub fn new(tags: &BTreeSet<u32>) -> TagNames<'_> {
        TagNames { tags, names: BTreeMap::new() }
    }

    /// Adds the name of an operation.
    pub fn add(&mut self, tag: u32, name: &str) {
        if self.tags.contains(&tag) {
            let names = self.names.entry(tag).or_insert_with(|| Some(name.to_owned()));
            *names = names.take().filter(|other| other == name);
        }
    }

    /// Adds the name of a call of which all messages with a tag are: that of its first rank stands for it.
    pub fn add_call(&mut self, tag: u32, name: &str) {
        if self.tags.contains(&tag) && !name.is_empty() {
            self.names.entry(tag).or_insert_with(|| Some(name.to_owned()));
        }
    }

    /// Names by tag; the tag itself where operations with it have several names, or an empty one.
    pub fn finish(self) -> BTreeMap<u32, String> {
        let name = |(tag, name): (u32, Option<String>)| {
            (tag, name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("tag {tag}")))
        };
        self.names.into_iter().map(name).collect()
    }
}

/// The begin of a name, whole characters.
pub(crate) fn name_of(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_MAX)]
}
