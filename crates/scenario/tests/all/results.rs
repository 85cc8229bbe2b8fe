//! Results of runs, and columns of their tables.

use etherweave_scenario::{Column, Outcome, Run, ScenarioError, Table};

pub fn overrides(changed: &[(&str, &str)]) -> Vec<(String, String)> {
    changed.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Runs a scenario with some keys changed.
pub fn run(text: &str, changed: &[(&str, &str)], threads: usize) -> Result<Outcome, ScenarioError> {
    Ok(Run::start(text, "x.toml", &overrides(changed), threads, &[])?.finish(&mut |_| true).0)
}

fn column<'a>(tables: &'a [Table], table: &str, name: &str) -> &'a Column {
    let table = tables.iter().find(|known| known.name == table).expect("a table of the result");
    &table.columns.iter().find(|(known, _)| *known == name).expect("a column of the table").1
}

/// Numbers of a column, whole or not.
pub fn numbers(tables: &[Table], table: &str, name: &str) -> Vec<f64> {
    match column(tables, table, name) {
        Column::Integers(values) => values.iter().map(|&value| value as f64).collect(),
        Column::Numbers(values) => values.clone(),
        Column::Texts(_) => panic!("{name} has texts"),
    }
}

pub fn texts(tables: &[Table], table: &str, name: &str) -> Vec<String> {
    let Column::Texts(values) = column(tables, table, name) else { panic!("{name} has numbers") };
    values.iter().map(str::to_owned).collect()
}
