//! Shares by source and destination.

use etherweave_primitives::{HostId, InputError, Stream, Time, params};

use crate::{HostGroups, HostRange};

/// Chances are counted in so many parts: what 53 random bits choose among.
const PARTS: f64 = (1_u64 << 53) as f64;

params! {
    /// Destinations of each source by a matrix of shares or bytes (`matrix`). A row is divided by its sum: each source
    /// offers the load, and its row says where to. A source whose row has nothing but zeros sends nothing.
    pub struct Matrix {
        /// A row for each source, with a number for each destination: 0 or more, to the source itself 0.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub rows: Vec<Vec<f64>> = Vec::new(),
        /// The same as text: such rows as lines, or CSV with a head `source,destination` and a third column of
        /// numbers, a pair a line. Separators are commas, semicolons, tabs or spaces.
        #[serde(deserialize_with = "crate::limits::written_text", skip_serializing_if = "String::is_empty")]
        pub text: String = String::new(),
    }
}

/// Destinations of all sources, source by source.
#[derive(Clone, Debug)]
pub(super) struct PatternPlan {
    /// Where the destinations of each source begin, and where the last ones end; no source without a matrix.
    starts: Box<[usize]>,
    /// Each with the chance of it and of those before it, in [`PARTS`].
    destinations: Box<[(u64, u32)]>,
}

impl Matrix {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let is_one = self.rows.is_empty() || self.text.is_empty();
        InputError::unless(is_one, "text", "beside rows", "only one of them")?;
        let hosts = groups.hosts();
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); hosts as usize];
        if !self.text.is_empty() {
            read(&self.text, &mut rows).map_err(|error| error.within("text"))?;
        } else if self.rows.is_empty() {
            return Ok(PatternPlan { starts: Box::new([]), destinations: Box::new([]) });
        } else {
            check_rows(self.rows.len(), rows.len()).map_err(|error| error.within("rows"))?;
            for (source, row) in self.rows.iter().enumerate() {
                add_row(&mut rows, source, row).map_err(|error| error.within("rows"))?;
            }
        }
        let key = if self.text.is_empty() { "rows" } else { "text" };
        plan_of(&rows).map_err(|error| error.within(key))
    }
}

fn check_rows(count: usize, hosts: usize) -> Result<(), InputError> {
    let rows = format!("{count} row{}", if count == 1 { "" } else { "s" });
    InputError::unless(count == hosts, "", rows, format!("{hosts}, a row for each host"))
}

/// Adds a row of numbers by destination.
fn add_row(rows: &mut [Vec<(u32, f64)>], source: usize, row: &[f64]) -> Result<(), InputError> {
    let expected = format!("{}, a number for each host", rows.len());
    InputError::unless(row.len() == rows.len(), "", format!("row {source} of {} numbers", row.len()), expected)?;
    (0..).zip(row).try_for_each(|(destination, &number)| add(rows, source, destination, number))
}

fn add(rows: &mut [Vec<(u32, f64)>], source: usize, destination: u32, number: f64) -> Result<(), InputError> {
    let is_number = number >= 0.0 && number.is_finite();
    let of_pair = format!("{number} from {source} to {destination}");
    InputError::unless(is_number, "", &of_pair, "a number of 0 or more")?;
    InputError::unless(source as u32 != destination || number == 0.0, "", of_pair, "0: no host sends to itself")?;
    if number > 0.0 {
        rows[source].push((destination, number));
    }
    Ok(())
}

/// Rows of a text, or its pairs.
fn read(text: &str, rows: &mut [Vec<(u32, f64)>]) -> Result<(), InputError> {
    let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines()).map(|(number, line)| (number, fields(line)));
    let mut lines = lines.filter(|(_, fields)| !fields.is_empty() && !fields[0].starts_with('#')).peekable();
    let is_of_rows = lines.peek().is_some_and(|(_, fields)| fields[0].parse::<f64>().is_ok());
    let Some((number, columns)) = lines.next_if(|_| !is_of_rows) else {
        let mut count = 0;
        for (source, (number, fields)) in lines.enumerate() {
            count = source + 1;
            let expected = format!("{} rows, one for each host", rows.len());
            InputError::unless(source < rows.len(), "", "a row more", expected)
                .map_err(|error| error.at_line(number))?;
            let row: Result<Vec<f64>, InputError> = fields.iter().map(|field| amount(field)).collect();
            row.and_then(|row| add_row(rows, source, &row)).map_err(|error| error.at_line(number))?;
        }
        return check_rows(count, rows.len());
    };
    let place = |known: [&str; 2]| columns.iter().position(|name| known.contains(&name.to_ascii_lowercase().as_str()));
    let places = (place(["source", "src"]), place(["destination", "dst"]), columns.len());
    let (Some(source), Some(destination), 3) = places else {
        let expected = "columns source, destination and one of numbers, or rows of numbers";
        return Err(InputError::new("", "neither", expected).at_line(number));
    };
    for (number, fields) in lines {
        pair(rows, &fields, [source, destination]).map_err(|error| error.at_line(number))?;
    }
    Ok(())
}

/// Adds a pair, whose source and destination stand at these places of three.
fn pair(rows: &mut [Vec<(u32, f64)>], fields: &[&str], places: [usize; 2]) -> Result<(), InputError> {
    InputError::unless(fields.len() == 3, "", fields.join(","), "three fields")?;
    let host = |place: usize| {
        let host = fields[place].parse::<usize>().ok().filter(|&host| host < rows.len());
        host.ok_or_else(|| InputError::new("", fields[place], format!("a host from 0 to {}", rows.len() - 1)))
    };
    let (source, destination) = (host(places[0])?, host(places[1])?);
    add(rows, source, destination as u32, amount(fields[3 - places[0] - places[1]])?)
}

fn amount(field: &str) -> Result<f64, InputError> {
    field.parse().map_err(|_| InputError::new("", field, "a number of 0 or more"))
}

fn fields(line: &str) -> Vec<&str> {
    let is_separator = |letter: char| letter.is_whitespace() || ",;".contains(letter);
    line.split(is_separator).map(|field| field.trim_matches('"')).filter(|field| !field.is_empty()).collect()
}

fn plan_of(rows: &[Vec<(u32, f64)>]) -> Result<PatternPlan, InputError> {
    let (mut starts, mut destinations) = (vec![0], Vec::new());
    InputError::unless(rows.iter().any(|row| !row.is_empty()), "", "zeros alone", "a source that sends")?;
    for (source, row) in rows.iter().enumerate() {
        let sum = row.iter().fold(0.0, |sum, (_, number)| sum + number);
        let mistake = format!("a sum of {sum} from {source}");
        InputError::unless(sum.is_finite(), "", mistake, "numbers with a sum that is finite")?;
        let mut before = 0.0;
        for &(destination, number) in row {
            before += number;
            destinations.push(((before / sum * PARTS) as u64, destination));
        }
        starts.push(destinations.len());
    }
    Ok(PatternPlan { starts: starts.into(), destinations: destinations.into() })
}

impl PatternPlan {
    fn of(&self, src: HostId) -> &[(u64, u32)] {
        let ends = self.starts.get(src.index()..src.index() + 2);
        ends.map_or(&[], |ends| &self.destinations[ends[0]..ends[1]])
    }

    #[inline]
    pub(super) fn destination(&self, src: HostId, _: Time, random: &mut Stream) -> Option<HostId> {
        let row = self.of(src);
        let part = random.bits() >> 11;
        let at = row.partition_point(|&(below, _)| below <= part);
        // Rounding may leave a part to nobody behind the last.
        row.get(at).or(row.last()).map(|&(_, destination)| HostId::new(destination))
    }

    pub(super) fn shares(&self, src: HostId, _: Time, each: &mut dyn FnMut(HostRange, f64)) {
        let mut before = 0;
        for &(below, destination) in self.of(src) {
            let share = (below - before) as f64 / PARTS;
            before = below;
            if share > 0.0 {
                each(HostRange::of(HostId::new(destination)), share);
            }
        }
    }
}
