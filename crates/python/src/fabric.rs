//! Fabrics on paper for Python: a scenario's text goes in, figures come out as JSON.

use std::sync::Arc;

use etherweave_scenario::{CurveProgress, DesignStep, Fault, PointChoice, PortSent, Question};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

use crate::error::{input_error, scenario_error};
use crate::interruptible::interruptible;
use crate::processes::{agree, has_agreed, processes};
use crate::run::{by_name, lent_table};
use crate::table::Table;

/// A port: its node, its number, bytes and packets that it sent, how often it woke, where it sleeps, and a rate that it
/// had for some time [ns], where its rate follows its load.
type PortColumns = (String, u64, u64, u64, Option<u64>, Option<(f64, f64)>);
/// Message and place of a fault.
type FaultTexts = (String, String);

/// The fabric of a scenario.
#[pyclass(frozen, module = "etherweave._core")]
pub struct Fabric {
    fabric: Arc<etherweave_scenario::Fabric>,
}

#[pymethods]
impl Fabric {
    /// Reads a scenario and builds its fabric; jobs may be missing.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, origin: &str, overrides: Vec<(String, String)>) -> PyResult<Fabric> {
        let (text, origin) = (text.to_owned(), origin.to_owned());
        let parse = move || etherweave_scenario::Fabric::parse(&text, &origin, &overrides);
        let fabric = py.detach(|| interruptible(parse))?;
        fabric.map(|fabric| Fabric { fabric: Arc::new(fabric) }).map_err(|error| scenario_error(&error))
    }

    /// Returns the name of the fabric.
    #[getter]
    fn name(&self) -> &str {
        self.fabric.name()
    }

    /// The resolved scenario, as TOML.
    #[getter]
    fn resolved(&self) -> String {
        self.fabric.resolved()
    }

    /// Returns the names of the coordinates of a switch.
    #[getter]
    fn axes(&self) -> Vec<String> {
        self.fabric.topology().axes().to_vec()
    }

    /// The order in which its switches are joined: "single", "tree", "rails", "grid", "groups", "graph".
    #[getter]
    fn shape(&self) -> &'static str {
        self.fabric.kind().shape().name()
    }

    /// Switches, hosts and links.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_name(py, &self.fabric.tables())
    }

    /// Headroom and shared pool of every port of every switch for packets of `mtu` bytes above Ethernet.
    fn buffers(&self, mtu: u16) -> PyResult<Table> {
        let table = self.fabric.buffers(mtu).map_err(|error| scenario_error(&error))?;
        Ok(lent_table(&table))
    }

    /// The largest packet above Ethernet that its hosts send [B].
    #[getter]
    fn largest_packet_bytes(&self) -> u64 {
        self.fabric.largest_packet_bytes()
    }

    /// How many priorities the deadlock proof of a routing, or of the scenario's, takes apart.
    fn routing_priorities(&self, routing: Option<&str>) -> PyResult<u8> {
        self.fabric.routing_priorities(routing).map_err(|error| scenario_error(&error))
    }

    /// A design of this fabric, with what it draws under a measured load: rows of ports, and the time they took.
    fn with_load(&self, design: &Design, rows: Vec<PortColumns>, span_ns: f64) -> PyResult<Design> {
        let row = |(node, port, bytes, packets, wakes, rate)| PortSent { node, port, bytes, packets, wakes, rate };
        let rows: Vec<PortSent> = rows.into_iter().map(row).collect();
        let mut design = design.design.clone();
        let added = self.fabric.add_load(&mut design, &rows, span_ns);
        added.map(|()| Design { design }).map_err(|error| scenario_error(&error))
    }

    /// The fabric in a format that other programs read: texts by file name. `names` are what the world calls things.
    fn export<'py>(&self, py: Python<'py>, form: &str, names: Vec<(String, String)>) -> PyResult<Bound<'py, PyDict>> {
        let (fabric, form) = (Arc::clone(&self.fabric), form.to_owned());
        let files = py.detach(|| interruptible(move || fabric.export(&form, &names)))?;
        let files = files.map_err(|error| scenario_error(&error))?;
        let named = PyDict::new(py);
        files.into_iter().try_for_each(|(name, text)| named.set_item(name, text))?;
        Ok(named)
    }

    /// Latency and throughput, a row for each routing, pattern and load; `progress` gets the number of points
    /// done, their count and the next one, and returns whether to continue. Beside the rows: the fault that ended them.
    #[pyo3(signature = (threads, progress, memory_limit=None))]
    fn curve(
        &self,
        py: Python<'_>,
        threads: usize,
        progress: Option<Py<PyAny>>,
        memory_limit: Option<&str>,
    ) -> PyResult<(Table, Option<FaultTexts>)> {
        let mut failure = None;
        let mut on_point = |at: CurveProgress| {
            let answer = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = &progress else { return Ok(true) };
                progress.call1(py, (at.done, at.count, at.next))?.is_truthy(py)
            });
            match agree(answer) {
                Ok(answer) => processes().share(answer).into_iter().all(|answer| answer),
                Err(error) => {
                    failure = Some(error);
                    false
                }
            }
        };
        let points = py.detach(|| {
            let points = self.fabric.curve(processes(), threads.max(1), memory_limit, &mut on_point);
            let points = points.map_err(|error| scenario_error(&error));
            if has_agreed() { points } else { agree(points) }
        });
        match failure {
            Some(error) => Err(error),
            None => points.map(|(points, fault)| (lent_table(&points), fault.map(texts))),
        }
    }

    /// One point of the traffic, watched: its row, its patterns, channels, steps and series by name.
    #[pyo3(signature = (threads, routing, pattern, load, memory_limit=None))]
    fn observe<'py>(
        &self,
        py: Python<'py>,
        threads: usize,
        routing: Option<String>,
        pattern: Option<String>,
        load: Option<f64>,
        memory_limit: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let choice = PointChoice { routing, pattern, load };
        let (fabric, memory_limit) = (Arc::clone(&self.fabric), memory_limit.map(str::to_owned));
        let observe = move || fabric.observe(&choice, threads.max(1), memory_limit.as_deref());
        let tables = py.detach(|| interruptible(observe))?;
        by_name(py, &tables.map_err(|error| scenario_error(&error))?)
    }

    /// Returns the needs that `curve` is expected to have, as JSON.
    fn estimate_curve(&self, py: Python<'_>) -> String {
        py.detach(|| self.fabric.estimate_curve()).to_json()
    }

    /// Returns the needs that `observe` is expected to have, as JSON.
    fn estimate_observe(
        &self,
        py: Python<'_>,
        routing: Option<String>,
        pattern: Option<String>,
        load: Option<f64>,
    ) -> String {
        let choice = PointChoice { routing, pattern, load };
        py.detach(|| self.fabric.estimate_observe(&choice)).to_json()
    }

    /// The flow tables and addresses to deploy, around cables that are down.
    fn deployment(&self, py: Python<'_>, down: Vec<String>) -> PyResult<Deployment> {
        let fabric = Arc::clone(&self.fabric);
        let made = py.detach(|| interruptible(move || fabric.deployment(&down)))?;
        made.map(|deployment| Deployment { deployment }).map_err(|error| scenario_error(&error))
    }

    /// Returns the needs that `design` is expected to have, as JSON.
    fn estimate_design(&self, py: Python<'_>) -> String {
        py.detach(|| self.fabric.estimate_design()).to_json()
    }

    /// All its figures; `progress` gets the next step with the share of it that is done, and returns whether to
    /// continue. None when it stopped.
    #[pyo3(signature = (progress, memory_limit=None))]
    fn design(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        memory_limit: Option<&str>,
    ) -> PyResult<Option<Design>> {
        let mut failure = None;
        let designed = py.detach(|| {
            self.fabric.design(memory_limit, &mut |step| {
                report(progress.as_ref(), step).unwrap_or_else(|error| {
                    failure = Some(error);
                    false
                })
            })
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(designed.map_err(|error| scenario_error(&error))?.map(|design| Design { design })),
        }
    }
}

/// Whether to continue.
fn report(progress: Option<&Py<PyAny>>, step: DesignStep) -> PyResult<bool> {
    Python::attach(|py| {
        py.check_signals()?;
        let Some(progress) = progress else { return Ok(true) };
        progress.call1(py, (step.to_string(), step.share()))?.is_truthy(py)
    })
}

/// A fabric's flow tables, made and proved.
#[pyclass(frozen, module = "etherweave._core")]
pub struct Deployment {
    deployment: etherweave_scenario::Deployment,
}

#[pymethods]
impl Deployment {
    /// The table `control` of the scenario, every default written out, as JSON.
    #[getter]
    fn spec(&self) -> String {
        self.deployment.spec()
    }

    /// Fields of the addresses.
    #[getter]
    fn layout(&self) -> String {
        self.deployment.layout()
    }

    /// How many address bits ports of hosts differ in.
    #[getter]
    fn address_bits(&self) -> u32 {
        self.deployment.address_bits()
    }

    /// Equal fabrics, each of which has a port of every host.
    #[getter]
    fn planes(&self) -> usize {
        self.deployment.planes()
    }

    /// How pauses can deadlock what is deployed, and what failed cables divide, each with its key.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.deployment.warnings().to_vec()
    }

    /// Rules, hosts, ports, and patterns of known addresses.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_name(py, &self.deployment.tables())
    }

    /// Where packets go: questions are switch, in-port, source and destination; paused are switch and port.
    fn decide(&self, py: Python<'_>, questions: Vec<[u32; 4]>, paused: Vec<(u32, u32)>) -> Table {
        let question = |[switch, in_port, src, dst]: [u32; 4]| Question { switch, in_port, src, dst };
        let questions: Vec<Question> = questions.into_iter().map(question).collect();
        lent_table(&py.detach(|| self.deployment.decide(&questions, &paused)))
    }
}

fn texts(fault: Fault) -> FaultTexts {
    (fault.message, fault.place)
}

/// All figures of a fabric.
#[pyclass(frozen, module = "etherweave._core")]
pub struct Design {
    design: etherweave_scenario::Design,
}

#[pymethods]
impl Design {
    /// The first fault that took figures from it, if one has.
    #[getter]
    fn fault(&self) -> Option<FaultTexts> {
        self.design.fault.clone().map(texts)
    }

    /// The figures as JSON.
    fn to_json(&self) -> String {
        self.design.to_json()
    }
}

/// Several designs side by side, as JSON.
#[pyfunction]
pub fn compare(designs: Vec<Py<Design>>) -> String {
    let designs = designs.iter().map(|design| design.get().design.clone()).collect();
    etherweave_scenario::Comparison::of(designs).to_json()
}

/// Finds which fabrics beat which, of metrics as JSON that several processes have made.
#[pyfunction]
pub fn compare_metrics(metrics: &str) -> PyResult<String> {
    etherweave_scenario::DesignMetrics::compare_json(metrics).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The formats of `Fabric.export`, with a sentence about each.
#[pyfunction]
pub fn exports() -> Vec<(&'static str, &'static str)> {
    etherweave_scenario::exports()
}

/// A fabric's name and its scenario.
type Named = (String, String);

/// Names and scenarios of the fabrics with `hosts` to `hosts_max` hosts from switches of `radix` ports of a rate, and
/// why others were left out.
#[pyfunction]
pub fn proposals(hosts: u32, hosts_max: u32, radix: u32, rate: &str) -> PyResult<(Vec<Named>, Vec<String>)> {
    let proposals = etherweave_scenario::proposals(&(hosts..=hosts_max), radix, rate);
    let (proposals, reasons) = proposals.map_err(|error| input_error("", [error]))?;
    Ok((proposals.into_iter().map(|proposal| (proposal.name, proposal.scenario)).collect(), reasons))
}

/// Reads a price book or a power profile, by the key of a scenario that has its name or its text.
#[pyfunction]
pub fn check_document(key: &str, document: &str) -> PyResult<()> {
    etherweave_scenario::check_document(key, document).map_err(|error| input_error("override", [error]))
}

/// The largest balanced fabrics of switches of so many ports, by formula, as JSON; each with its scenario.
#[pyfunction]
pub fn largest(radix: u32) -> PyResult<String> {
    etherweave_scenario::largest(radix).map_err(|error| PyValueError::new_err(error.to_string()))
}
