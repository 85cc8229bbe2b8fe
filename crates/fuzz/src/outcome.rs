//! Results of a run, column by column.

use etherweave_scenario::{Column, Outcome, Table, Texts};

/// A table of a result, if it has it.
pub(crate) struct Columns<'o>(&'o Table);

impl<'o> Columns<'o> {
    pub(crate) fn of(outcome: &'o Outcome, name: &str) -> Option<Columns<'o>> {
        outcome.tables.iter().find(|table| table.name == name).map(Columns)
    }

    pub(crate) fn new(table: &'o Table) -> Columns<'o> {
        Columns(table)
    }

    fn column(&self, name: &str) -> &'o Column {
        let column = self.0.columns.iter().find(|(column, _)| *column == name);
        &column.unwrap_or_else(|| panic!("{} has a column {name}", self.0.name)).1
    }

    pub(crate) fn texts(&self, name: &str) -> &'o Texts {
        match self.column(name) {
            Column::Texts(values) => values,
            Column::Integers(_) | Column::Numbers(_) => panic!("{name} is a column of texts"),
        }
    }

    pub(crate) fn integers(&self, name: &str) -> &'o [u64] {
        match self.column(name) {
            Column::Integers(values) => values,
            Column::Texts(_) | Column::Numbers(_) => panic!("{name} is a column of integers"),
        }
    }

    /// Times of a column in nanoseconds [ps].
    pub(crate) fn times(&self, name: &str) -> Vec<u64> {
        self.numbers(name).iter().map(|time| (time * 1e3).round() as u64).collect()
    }

    pub(crate) fn numbers(&self, name: &str) -> &'o [f64] {
        match self.column(name) {
            Column::Numbers(values) => values,
            Column::Texts(_) | Column::Integers(_) => panic!("{name} is a column of numbers"),
        }
    }
}

/// The first difference between two results, if there is one.
pub(crate) fn difference(a: &Outcome, b: &Outcome) -> Option<String> {
    let figures = facts(a).into_iter().zip(facts(b));
    let figure = figures.into_iter().find(|(a, b)| a != b).map(|((name, a), (_, b))| format!("{name}: {a} and {b}"));
    let names = |outcome: &Outcome| outcome.tables.iter().map(|table| table.name).collect::<Vec<_>>();
    let tables = (names(a) != names(b)).then(|| format!("tables: {:?} and {:?}", names(a), names(b)));
    let rows = || a.tables.iter().zip(&b.tables).find_map(|(a, b)| table_difference(a, b));
    figure.or(tables).or_else(rows)
}

/// Facts that no number of threads may change, beside tables.
fn facts(outcome: &Outcome) -> [(&'static str, String); 12] {
    let summary = &outcome.summary;
    [
        ("finished", summary.finished.to_owned()),
        ("stuck_report", format!("{:?}", summary.stuck_report)),
        ("end_ns", summary.end_ns.to_string()),
        ("packet_hops", summary.packet_hops.to_string()),
        ("packets_created", summary.packets_created.to_string()),
        ("packets_delivered", summary.packets_delivered.to_string()),
        ("packets_dropped", summary.packets_dropped.to_string()),
        ("packets_damaged", summary.packets_damaged.to_string()),
        ("packets_lost", summary.packets_lost.to_string()),
        ("packets_in_flight", summary.packets_in_flight.to_string()),
        ("fingerprint", format!("{:?}", summary.fingerprint)),
        ("warnings", format!("{:?}", summary.warnings)),
    ]
}

pub(crate) fn table_difference(a: &Table, b: &Table) -> Option<String> {
    a.columns.iter().zip(&b.columns).find_map(|((name, a_values), (_, b_values))| {
        let (a_rows, b_rows) = (rows(a_values), rows(b_values));
        let row = (0..a_rows.len().max(b_rows.len())).find(|&row| a_rows.get(row) != b_rows.get(row))?;
        let value = |rows: &[String]| rows.get(row).cloned().unwrap_or_else(|| "no row".to_owned());
        Some(format!("{}.{name} in row {row}: {} and {}", a.name, value(&a_rows), value(&b_rows)))
    })
}

fn rows(column: &Column) -> Vec<String> {
    match column {
        Column::Texts(values) => values.iter().map(str::to_owned).collect(),
        Column::Integers(values) => values.iter().map(u64::to_string).collect(),
        Column::Numbers(values) => values.iter().map(f64::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::start;

    #[test]
    fn equal_results_have_no_difference_and_others_their_first() {
        let text = "topology.single_switch.hosts = 2\n[[job]]\nname = \"a\"\nworkload.osu_latency.iterations = 2\n";
        let outcome = start(text, 1).unwrap().finish(&mut |_| true).0;
        assert_eq!(difference(&outcome, &outcome), None);
        let mut other = outcome.clone();
        let Column::Numbers(durations) = &mut other.tables[0].columns[5].1 else { panic!("durations are numbers") };
        durations[1] += 1.0;
        assert!(difference(&outcome, &other).unwrap().starts_with("iterations.duration_ns in row 1: "));
        other.summary.packet_hops += 1;
        assert!(difference(&outcome, &other).unwrap().starts_with("packet_hops: "));
    }
}
