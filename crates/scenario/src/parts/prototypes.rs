//! Prototypes: classes that the caller of a run brings in place of members of the core.

use etherweave_primitives::{Brought, InputError};
use etherweave_routing::PortChoiceStart;
use etherweave_sim::{transport::entropy::CallerChoiceStart, transport::prototype::PrototypeStart};
use etherweave_workload::DriverStart;

use crate::{RunOptions, Scenario};

/// Objects of the caller, by what they decide on.
#[derive(Clone, Default, Debug)]
pub struct Prototypes {
    /// Congestion control of `transport.roce.prototype`.
    pub congestion: PrototypeStart,
    /// Load balancing of `transport.uet.load_balancer`.
    pub load_balancing: CallerChoiceStart,
    /// Choice of ports of `port_choice`.
    pub port_choice: PortChoiceStart,
    /// Drivers of `workload.driver`.
    pub driver: DriverStart,
}

/// Gives what the caller brings to all that asks for it. A note for each, for the result.
///
/// # Errors
/// When a key asks for what the caller does not bring, or the reverse; or a run has several processes.
pub(crate) fn bring(scenario: &mut Scenario, options: &RunOptions<'_>) -> Result<Vec<String>, InputError> {
    let (nothing, mut notes) = (Prototypes::default(), Notes { of: options.process.of, all: Vec::new() });
    let brought = options.prototypes.unwrap_or(&nothing);
    let (mut jobs, mut transports) = (Vec::new(), vec![("transport".to_owned(), &mut scenario.transport)]);
    for (number, job) in scenario.job.iter_mut().enumerate() {
        jobs.push((format!("job.{number}.workload.driver"), &mut job.workload));
        transports.extend(job.transport.as_mut().map(|own| (format!("job.{number}.transport"), own)));
    }
    for (key, transport) in transports {
        let key = format!("{key}.{}", transport.name());
        if let Some(own) = transport.prototype() {
            notes.give(format!("{key}.prototype"), "congestion", &own.class, &brought.congestion, &mut own.start)?;
        }
        if let Some(own) = transport.load_balancer() {
            let (brought, key) = (&brought.load_balancing, format!("{key}.load_balancer"));
            notes.give(key, "load_balancing", &own.class, brought, &mut own.start)?;
        }
    }
    if let Some(own) = &mut scenario.port_choice {
        notes.give("port_choice".to_owned(), "port_choice", &own.class, &brought.port_choice, &mut own.start)?;
    }
    for (key, workload) in jobs {
        if let Some(own) = workload.driver() {
            notes.give(key, "driver", &own.class, &brought.driver, &mut own.start)?;
        }
    }
    notes.check("congestion", &brought.congestion, "transport.roce.prototype")?;
    notes.check("load_balancing", &brought.load_balancing, "transport.uet.load_balancer")?;
    notes.check("port_choice", &brought.port_choice, "port_choice")?;
    notes.check("driver", &brought.driver, "a job with workload.driver")?;
    Ok(notes.all.into_iter().map(|(_, note)| note).collect())
}

struct Notes {
    /// Processes of the run.
    of: usize,
    all: Vec<(&'static str, String)>,
}

impl Notes {
    /// Gives what is brought to a place that asks for a class at a key.
    fn give<F: ?Sized>(
        &mut self,
        key: String,
        kind: &'static str,
        class: &str,
        brought: &Brought<F>,
        place: &mut Brought<F>,
    ) -> Result<(), InputError> {
        let call = format!("the class from the caller: etherweave.run(scenario, extend={{\"{kind}\": {class}}})");
        InputError::unless(brought.get().is_some(), format!("{key}.class"), class, call)?;
        InputError::unless(self.of == 1, &key, class, "a run of one process: the class is of one")?;
        *place = brought.clone();
        let lacks = "a class of the caller that the result does not contain; one thread";
        self.all.push((kind, format!("{key}: {} by {class}, {lacks}", kind.replace('_', " "))));
        Ok(())
    }

    fn check<F: ?Sized>(&self, kind: &str, brought: &Brought<F>, expected: &str) -> Result<(), InputError> {
        let is_asked = brought.get().is_none() || self.all.iter().any(|(given, _)| *given == kind);
        InputError::unless(is_asked, "", format!("nothing asks for the caller's {kind}"), expected)
    }
}
