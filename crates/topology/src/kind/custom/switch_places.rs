//! Levels, coordinates and ports of switches that the text of a fabric gives.

use etherweave_primitives::InputError;
use std::collections::HashSet;

use super::link_text::{Edge, mistake};
use crate::as_built::BREAKOUT_MAX;

/// Prefix of the keys of coordinates.
const AXIS: &str = "axis:";

/// Checked places, by the numbers of nodes; coordinates of hosts are zero.
pub(super) struct SwitchPlaces {
    /// Absent: to be derived from distances.
    pub levels: Option<Vec<u8>>,
    pub axes: Vec<String>,
    pub coordinates: Vec<u32>,
    pub radix: Option<u32>,
    pub breakout: u32,
}

impl Default for SwitchPlaces {
    fn default() -> Self {
        SwitchPlaces { levels: None, axes: Vec::new(), coordinates: Vec::new(), radix: None, breakout: 1 }
    }
}

#[derive(Default)]
pub(super) struct PlaceReader {
    places: SwitchPlaces,
    /// Levels by node; hosts have none.
    levels: Vec<Option<u8>>,
    /// The line of every node.
    lines: Vec<usize>,
}

impl PlaceReader {
    /// Reads a key, which may be an axis.
    pub fn declare(&mut self, name: &str) -> Result<(), InputError> {
        let Some(axis) = name.strip_prefix(AXIS) else { return Ok(()) };
        if !self.lines.is_empty() || axis.is_empty() || self.places.axes.iter().any(|known| known == axis) {
            let expected = "keys of axes before the nodes, with different names".to_owned();
            return Err(mistake(format!("the key \"{name}\""), expected));
        }
        self.places.axes.push(axis.to_owned());
        Ok(())
    }

    /// Reads a datum of the whole graph.
    pub fn graph_datum(&mut self, name: &str, text: &str) -> Result<(), InputError> {
        match name {
            "radix" => self.places.radix = Some(number(name, Some(text), 1, u32::MAX)?),
            "breakout" => self.places.breakout = number(name, Some(text), 1, BREAKOUT_MAX)?,
            _ => {}
        }
        Ok(())
    }

    /// Reads the place of the next node, which stands on `line`.
    pub fn add<'a>(
        &mut self,
        line: usize,
        is_host: bool,
        value: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<(), InputError> {
        self.lines.push(line);
        let level = value("level").filter(|_| !is_host);
        let level = level.map(|level| number("level", Some(level), 0, u32::from(u8::MAX))).transpose()?;
        self.levels.push(level.map(|level| level as u8));
        for axis in &self.places.axes {
            let key = format!("{AXIS}{axis}");
            let place = if is_host { 0 } else { number(&key, value(&key), 0, u32::MAX)? };
            self.places.coordinates.push(place);
        }
        Ok(())
    }

    /// The places, if they are consistent: levels of all switches or of none, those of hosts' switches 0; no two
    /// switches at the same place, and numbers that do not exceed those of nodes by far.
    pub fn checked(mut self, nodes: &[(String, bool)], edges: &[Edge]) -> Result<SwitchPlaces, InputError> {
        let mistake_at = |number: usize, reason: String, expected: &str| {
            let reason = format!("{} {reason}", nodes[number].0);
            mistake(reason, expected).within("graphml").at_line(self.lines[number])
        };
        if self.levels.iter().any(Option::is_some) {
            let is_missing = |number: &usize| !nodes[*number].1 && self.levels[*number].is_none();
            if let Some(number) = (0..nodes.len()).find(is_missing) {
                return Err(mistake_at(number, "has no level".to_owned(), "levels of all switches, or of none"));
            }
            let is_high =
                |[host, switch]: [usize; 2]| nodes[host].1 && self.levels[switch].is_some_and(|level| level > 0);
            let mut ends = edges.iter().flat_map(|edge| [edge.ends, [edge.ends[1], edge.ends[0]]]);
            if let Some([_, switch]) = ends.find(|ends| is_high(*ends)) {
                return Err(mistake_at(switch, "has hosts above level 0".to_owned(), "hosts on switches of level 0"));
            }
            self.places.levels = Some(self.levels.iter().map(|level| level.unwrap_or_default()).collect());
        }
        let mut taken = HashSet::new();
        let axes = self.places.axes.len();
        for number in (0..nodes.len()).filter(|&number| axes > 0 && !nodes[number].1) {
            let place = &self.places.coordinates[number * axes..][..axes];
            if place.iter().any(|&at| at as usize >= nodes.len()) {
                let expected = format!("coordinates below {}, the number of nodes", nodes.len());
                return Err(mistake_at(number, format!("is at {place:?}"), &expected));
            }
            if !taken.insert(place) {
                return Err(mistake_at(number, format!("is at {place:?}, as another"), "a place of its own"));
            }
        }
        Ok(self.places)
    }
}

/// A number in its range, of a key that must be there.
fn number(key: &str, text: Option<&str>, least: u32, most: u32) -> Result<u32, InputError> {
    let quote = text.map_or_else(|| "missing".to_owned(), |text| format!("\"{text}\""));
    let number = text.and_then(|text| text.parse::<u32>().ok()).filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| mistake(format!("{key} is {quote}"), format!("a number, {least} to {most}")))
}
