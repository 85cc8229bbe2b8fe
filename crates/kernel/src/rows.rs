//! Rows of result tables, each declared once: [`rows!`](crate::rows) makes the structure, its words for other processes
//! and its columns.

use etherweave_primitives::{BitRate, Duration, Priority, Time};

use crate::Texts;

/// The values of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// Counts and whole units.
    Integers(Vec<u64>),
    /// Measures.
    Numbers(Vec<f64>),
    /// Names.
    Texts(Texts),
}

impl Column {
    /// Adds the values of another column of the same kind.
    ///
    /// # Panics
    /// When it is of another kind.
    pub fn append(&mut self, more: Column) {
        match (self, more) {
            (Column::Integers(all), Column::Integers(more)) => all.extend(more),
            (Column::Numbers(all), Column::Numbers(more)) => all.extend(more),
            (Column::Texts(all), Column::Texts(more)) => all.extend(more.iter()),
            (own, more) => panic!("a column has one kind of values: {own:?}, {more:?}"),
        }
    }
}

/// A value of a table: a count, a measure in the unit of its column, or a name.
pub trait Cell: Sized {
    /// The values one below the other.
    fn column(cells: impl Iterator<Item = Self>) -> Column;
}

/// A row of a table.
pub trait TableRow: Sized {
    /// The table.
    const TABLE: &'static str;
    /// Names of what rows have numbers of.
    type Names<'n>;

    /// The columns by name, in order.
    fn columns(rows: &[Self], names: &Self::Names<'_>) -> Vec<(&'static str, Column)>;
}

/// Names that rows have numbers of: of jobs, of hosts and of purposes of messages.
#[derive(Clone, Copy)]
pub struct RowNames<'n> {
    /// Names of jobs, by number.
    pub jobs: &'n [String],
    /// Name of a host by its number.
    pub host: &'n dyn Fn(u32) -> &'n str,
    /// Purpose of the messages of a job that have a tag, such as a collective; empty where none is known.
    pub purpose: &'n dyn Fn(u32, u32) -> &'n str,
}

impl<'n> RowNames<'n> {
    /// The name of a job.
    pub fn job(&self, number: u32) -> &'n str {
        &self.jobs[number as usize]
    }

    /// Purpose of the messages of a job that have a tag.
    pub fn purpose(&self, job: u32, tag: u32) -> &'n str {
        (self.purpose)(job, tag)
    }

    /// The name of a host.
    pub fn host(&self, number: u32) -> &'n str {
        (self.host)(number)
    }
}

/// Declares rows: the table, the type of names that cells are looked up in, which may have the lifetime `'n`, and the
/// fields with their columns.
///
/// ```
/// use etherweave_kernel::{Column, TableRow, rows};
/// use etherweave_primitives::Time;
///
/// rows! {
///     /// A message.
///     #[derive(Debug)]
///     pub struct MessageRow in Vec<String>, "messages" {
///         /// Number of the sender.
///         host: u32 ["host" = |row, names| names[row.host as usize].clone()];
///         /// Length [B].
///         bytes: u64 ["bytes"];
///         /// Arrival.
///         end: Time ["end_ns"];
///     }
/// }
///
/// let rows = [MessageRow { host: 0, bytes: 7, end: Time::from_ps(2_500) }];
/// let columns = MessageRow::columns(&rows, &vec!["leaf0".to_owned()]);
/// assert_eq!(columns[0], ("host", Column::Texts(["leaf0"].into_iter().collect())));
/// assert_eq!(columns[2], ("end_ns", Column::Numbers(vec![2.5])));
/// ```
///
/// A field may have several columns or none. `wire there => back` after them sends it as another value.
#[macro_export]
macro_rules! rows {
    ($(
        $(#[$meta:meta])*
        pub struct $row:ident in $names:ty, $table:literal {
            $(
                $(#[$doc:meta])*
                $field:ident: $type:ty [$($column:literal $(= $cell:expr)?),*] $(wire $there:path => $back:path)?;
            )*
        }
    )*) => {$(
        $(#[$meta])*
        pub struct $row {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $crate::Wire for $row {
            fn write(&self, words: &mut Vec<u32>) {
                $($crate::rows!(@write words, &self.$field $(, $there)?);)*
            }

            fn read(words: &mut &[u32]) -> $row {
                // Fields of a literal are evaluated in the order in which they stand here.
                $row { $($field: $crate::rows!(@read words $(, $back)?),)* }
            }
        }

        impl $crate::TableRow for $row {
            const TABLE: &'static str = $table;
            type Names<'n> = $names;

            fn columns(
                rows: &[$row],
                names: &<$row as $crate::TableRow>::Names<'_>,
            ) -> Vec<(&'static str, $crate::Column)> {
                vec![$($(($column, $crate::column(rows, names, $crate::rows!(@cell $field $(, $cell)?))),)*)*]
            }
        }
    )*};
    (@write $words:ident, $value:expr) => { $crate::Wire::write($value, $words) };
    (@write $words:ident, $value:expr, $there:path) => { $crate::Wire::write(&$there($value), $words) };
    (@read $words:ident) => { $crate::Wire::read($words) };
    (@read $words:ident, $back:path) => { $back($crate::Wire::read($words)) };
    (@cell $field:ident) => { |row, _| Clone::clone(&row.$field) };
    (@cell $field:ident, $cell:expr) => { $cell };
}

/// A column of what `cell` makes of each row.
pub fn column<R, N, C: Cell>(rows: &[R], names: &N, cell: impl Fn(&R, &N) -> C) -> Column {
    C::column(rows.iter().map(|row| cell(row, names)))
}

/// Cells that become one kind of column: `kind: type as value`.
macro_rules! cells {
    ($($kind:ident: $($type:ty = $value:expr),*;)*) => {
        $($(impl Cell for $type {
            fn column(cells: impl Iterator<Item = Self>) -> Column {
                Column::$kind(cells.map($value).collect())
            }
        })*)*
    };
}

cells! {
    Integers: u8 = u64::from, u16 = u64::from, u32 = u64::from, u64 = |count| count,
        Priority = |priority| priority.get().into();
    Numbers: f64 = |number| number, Time = Time::as_ns_f64, Duration = |time| time.as_ns_f64(),
        Option<u32> = |count| count.map_or(f64::NAN, f64::from),
        Option<Time> = |time| time.map_or(f64::NAN, Time::as_ns_f64), BitRate = gbps,
        Option<BitRate> = |rate| rate.map_or(f64::NAN, gbps);
    Texts: String = |name| name, &str = |name| name;
}

fn gbps(rate: BitRate) -> f64 {
    rate.as_bps() as f64 / 1e9
}
