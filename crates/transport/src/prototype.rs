//! A congestion control that the caller of a run brings, for exploration: an object behind the trait that the members
//! in Rust implement, which costs a call by a table where they cost none.

use etherweave_primitives::{Brought, Duration, InputError, params};

use super::roce::{CongestionControl, FreshConnection, SenderControl};
use crate::params::{TIMER_MAX, require, require_within};
use crate::telemetry::SWITCHES_MAX;

/// The control of a connection.
pub type PrototypeControl = Box<dyn SenderControl + Send>;
/// Start of the controls of connections, once the caller has brought it.
pub type PrototypeStart = Brought<dyn Fn(&FreshConnection) -> PrototypeControl + Send + Sync>;

params! {
    /// Congestion control by a class of the caller of the run, on one thread.
    pub struct Prototype {
        /// Name of the class, which `etherweave.run(scenario, extend={"congestion": CLASS})` brings in Python.
        pub class: String = String::new(),
        /// Whether switches mark its packets.
        pub heeds_marks: bool = false,
        /// Whether it takes an acknowledgement of every packet, with round trip and mark, as selective repeat sends.
        pub needs_echoes: bool = true,
        /// Shortest time between two notifications of marks by a receiver. Absent: it sends none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub notification_gap: Option<Duration> = None,
        /// Switches for whose telemetry packets have room, 0 to 8. 0: none.
        pub telemetry_switches: u8 = 0,
        /// Start of its controls, once the caller has brought it.
        #[serde(skip)]
        pub start: PrototypeStart = PrototypeStart::default(),
    }
}

/// Control of a connection to which nothing was brought: the connection's window alone limits it.
struct NoControl;

impl SenderControl for NoControl {}

impl CongestionControl for PrototypeControl {
    type Params = Prototype;

    fn heeds_marks(prototype: &Prototype) -> bool {
        prototype.heeds_marks
    }

    fn needs_echoes(prototype: &Prototype) -> bool {
        prototype.needs_echoes
    }

    fn check(prototype: &Prototype) -> Result<(), InputError> {
        require(!prototype.class.is_empty(), "class", "no name", "the name of the caller's class")?;
        require_within(0..=SWITCHES_MAX as u8, "telemetry_switches", prototype.telemetry_switches)?;
        let Some(gap) = prototype.notification_gap else { return Ok(()) };
        let marks = "none beside heeds_marks = false: only marks are notified";
        require(prototype.heeds_marks, "notification_gap", gap, marks)?;
        require(gap <= TIMER_MAX, "notification_gap", gap, "at most 1000000s")
    }

    fn notification_gap(prototype: &Prototype) -> Option<Duration> {
        prototype.notification_gap
    }

    fn telemetry_switches(prototype: &Prototype) -> u8 {
        prototype.telemetry_switches
    }

    fn start(prototype: &Prototype, connection: &FreshConnection) -> PrototypeControl {
        prototype.start.get().map_or_else(|| Box::new(NoControl) as PrototypeControl, |start| start(connection))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use etherweave_primitives::{BitRate, Time};

    use super::*;
    use crate::{params::RoceParams, roce::Operation, roce::Requester};

    struct TwoPackets(u64);

    impl SenderControl for TwoPackets {
        fn window(&self) -> Option<u64> {
            Some(2 * self.0)
        }
    }

    #[test]
    fn a_connection_asks_what_the_caller_has_brought() {
        let start = PrototypeStart::new(Arc::new(|connection: &FreshConnection| {
            Box::new(TwoPackets(connection.packet)) as PrototypeControl
        }));
        let sent = |start| {
            let prototype = Some(Prototype { class: "TwoPackets".into(), start, ..Prototype::default() });
            let params = RoceParams { prototype, ..RoceParams::default() };
            let mut requester = Requester::default();
            requester.open(&params, BitRate::from_gbps(100));
            requester.post(Time::ZERO, 10 * params.path_mtu.get(), Operation::Write, &params);
            std::iter::from_fn(|| requester.next_packet(Time::ZERO, &params)).count()
        };
        assert_eq!((sent(start), sent(PrototypeStart::default())), (2, 10));
    }

    #[test]
    fn notifications_need_marks_and_the_class_a_name() {
        let key = |prototype| PrototypeControl::check(&prototype).unwrap_err().key;
        let named = Prototype { class: "Timely".into(), ..Prototype::default() };
        assert_eq!(key(Prototype::default()), "class");
        assert_eq!(key(Prototype { telemetry_switches: 9, ..named.clone() }), "telemetry_switches");
        assert_eq!(key(Prototype { notification_gap: Some(Duration::from_us(4)), ..named }), "notification_gap");
    }
}
