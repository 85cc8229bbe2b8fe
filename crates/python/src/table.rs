//! Result tables, lent to Python.
//!
//! A table hands out Arrow's C stream through the PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>), so that
//! `polars.DataFrame(table)`, `pyarrow.table(table)` and `pandas.DataFrame.from_arrow(table)` read the
//! core's memory in place. The memory lives as long as the last of them.
//!
//! Left out: type negotiation. A consumer that asks for another schema gets the table's own, as the interface allows.

use std::{iter, sync::Arc, sync::OnceLock};

use arrow_array::{
    Array, ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray, UInt64Array,
    cast::AsArray, ffi_stream::FFI_ArrowArrayStream, types::Float64Type, types::UInt64Type,
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, ffi::FFI_ArrowSchema};
use etherweave_scenario::{Column, LateTable};
use pyo3::{exceptions::PyKeyError, exceptions::PyValueError, prelude::*, types::PyCapsule, types::PyList};

/// Named columns of equal length; polars, pyarrow and pandas read it without copying. A long table is read as a stream
/// of groups of rows, which are not all in memory at once.
#[pyclass(frozen, module = "etherweave._core")]
pub struct Table {
    name: String,
    batch: OnceLock<RecordBatch>,
    late: Option<LateTable>,
}

impl Table {
    /// Joins columns into a table.
    ///
    /// # Panics
    /// When two columns differ in length or there is none: the core never makes such a table.
    pub fn new(name: impl Into<String>, columns: Vec<(String, ArrayRef)>) -> Self {
        Self { name: name.into(), batch: OnceLock::from(batch(columns)), late: None }
    }

    /// A table that is made when it is first read.
    pub fn late(late: LateTable) -> Self {
        Self { name: late.name.to_owned(), batch: OnceLock::new(), late: Some(late) }
    }

    fn batch(&self) -> &RecordBatch {
        let made = || batch(self.late.iter().flat_map(|late| columns(&late.table())).collect());
        self.batch.get_or_init(made)
    }

    /// The table if it has several groups of rows, which are not in memory.
    fn long(&self) -> Option<&LateTable> {
        self.late.as_ref().filter(|late| late.is_long && self.batch.get().is_none())
    }

    /// Groups of rows, and their fields.
    fn groups(&self) -> RecordBatchIterator<Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>> {
        let Some(late) = self.long() else {
            // Cloning a batch counts references; the columns stay where they are.
            return RecordBatchIterator::new(Box::new(iter::once(Ok(self.batch().clone()))), self.batch().schema());
        };
        let mut groups = late.groups().map(|table| batch(columns(&table))).peekable();
        let fields = groups.peek().expect("a long table has a group").schema();
        RecordBatchIterator::new(Box::new(groups.map(Ok)), fields)
    }
}

fn batch(columns: Vec<(String, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).expect("columns of a table have one length")
}

/// The columns of a table in Arrow's layout.
pub(crate) fn columns(table: &etherweave_scenario::Table) -> Vec<(String, ArrayRef)> {
    table.columns.iter().map(|(name, column)| ((*name).to_owned(), lent(column))).collect()
}

fn lent(column: &Column) -> ArrayRef {
    match column {
        Column::Integers(values) => Arc::new(UInt64Array::from(values.clone())),
        Column::Numbers(values) => Arc::new(Float64Array::from(values.clone())),
        Column::Texts(values) => {
            let ends = OffsetBuffer::from_lengths(values.iter().map(str::len));
            Arc::new(StringArray::new(ends, Buffer::from(values.joined().as_bytes()), None))
        }
    }
}

#[pymethods]
impl Table {
    /// Returns the name of the table in a result.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has more rows than need be in memory at once.
    #[getter]
    fn is_long(&self) -> bool {
        self.long().is_some()
    }

    /// Names of the columns, in order, units as suffixes.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.groups().schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Copies a column into a list.
    fn values<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        let values = self.batch().column_by_name(column);
        let values = values.ok_or_else(|| {
            let known = self.columns().join(", ");
            PyKeyError::new_err(format!("no column {column:?} in table {:?}; known: {known}", self.name))
        })?;
        match values.data_type() {
            DataType::UInt64 => PyList::new(py, values.as_primitive::<UInt64Type>().values()),
            DataType::Float64 => PyList::new(py, values.as_primitive::<Float64Type>().values()),
            DataType::Utf8 => PyList::new(py, values.as_string::<i32>().iter()),
            other => unreachable!("columns are integers, numbers or texts, not {other}"),
        }
    }

    fn __len__(&self) -> usize {
        self.batch().num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<Table {}: {} rows of {}>", self.name, self.batch().num_rows(), self.columns().join(", "))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.groups().schema().as_ref())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let groups = FFI_ArrowArrayStream::new(Box::new(self.groups()));
        PyCapsule::new_with_value(py, groups, c"arrow_array_stream")
    }
}
