//! Texts of a column one behind the other, as Arrow has them: a row takes no memory of its own.

use std::ops::{Index, Range};

/// See the module.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Texts {
    joined: String,
    /// End of each text in `joined`.
    ends: Vec<usize>,
}

impl Texts {
    /// Number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Text of all rows, concatenated.
    pub fn joined(&self) -> &str {
        &self.joined
    }

    /// Texts in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        (0..self.len()).map(|place| &self[place])
    }

    fn span(&self, place: usize) -> Range<usize> {
        place.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[place]
    }
}

impl Index<usize> for Texts {
    type Output = str;

    fn index(&self, place: usize) -> &str {
        &self.joined[self.span(place)]
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Texts {
        let mut joined = Texts::default();
        joined.extend(texts);
        joined
    }
}

impl<T: AsRef<str>> Extend<T> for Texts {
    fn extend<I: IntoIterator<Item = T>>(&mut self, texts: I) {
        for text in texts {
            self.joined.push_str(text.as_ref());
            self.ends.push(self.joined.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_out_as_they_went_in() {
        let texts: Texts = ["leaf0", "", "ä"].into_iter().collect();
        assert_eq!((texts.len(), &texts[0], &texts[1]), (3, "leaf0", ""));
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["leaf0", "", "ä"]);
    }
}
