//! Congestion control of a reliable connection: none, or a member of the list of the crate.

use etherweave_primitives::{BitRate, Duration, InputError, Time};

use super::selective::Progress;
use crate::{params::RoceParams, telemetry::PathTelemetry};

/// Congestion as an acknowledgement reports it.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Newly acknowledged [B].
    pub acked: u64,
    /// All below is acknowledged [offset].
    pub acknowledged: u64,
    /// The next byte to send [offset].
    pub next: u64,
    /// Since the packet left that it answers.
    pub round_trip: Duration,
    /// Whether that packet was marked.
    pub is_marked: bool,
}

/// A connection without history.
#[derive(Clone, Copy, Debug)]
pub struct FreshConnection {
    /// Rate of the NIC.
    pub rate: BitRate,
    /// Payload of a full packet [B].
    pub packet: u64,
    /// Most that may be unacknowledged [B].
    pub window: u64,
}

/// Parameters of a congestion control, what they ask of receivers, headers and switches, and its start. A member writes
/// what it needs of it; the rest asks for nothing.
pub trait CongestionControl: Sized {
    /// Its table in a scenario.
    type Params;

    /// Whether switches mark its packets.
    fn heeds_marks(_params: &Self::Params) -> bool {
        false
    }

    /// Whether every acknowledgement must echo what became of a packet, as those of selective repeat do.
    fn needs_echoes(_params: &Self::Params) -> bool {
        true
    }

    /// Rejects inconsistent parameters; keys of errors are those of its table.
    fn check(_params: &Self::Params) -> Result<(), InputError> {
        Ok(())
    }

    /// Rates among its parameters, by their keys: none exceeds that of the link.
    fn rates(_params: &Self::Params) -> Vec<(&'static str, BitRate)> {
        Vec::new()
    }

    /// Receiver: shortest time between two notifications of marks, where it sends any.
    fn notification_gap(_params: &Self::Params) -> Option<Duration> {
        None
    }

    /// Switches for whose telemetry packets have room.
    fn telemetry_switches(_params: &Self::Params) -> u8 {
        0
    }

    /// Share of a link's rate that its connections use at most; infinite if it sets none.
    fn link_share_max(_params: &Self::Params) -> f64 {
        f64::INFINITY
    }

    /// Start of a connection.
    fn start(params: &Self::Params, connection: &FreshConnection) -> Self;
}

/// The congestion control of one sender: what it learns, and what it allows. A member writes what it needs of it; the
/// rest does nothing.
pub trait SenderControl {
    /// Returns the bytes that may be unacknowledged [B], where that is less than the connection's window.
    fn window(&self) -> Option<u64> {
        None
    }

    /// A packet of `wire` bytes goes out: must the next one wait?
    fn sent(&mut self, _now: Time, _wire: u32) -> bool {
        false
    }

    /// When to ask next whether a packet may go.
    fn next_at(&self) -> Time {
        Time::ZERO
    }

    /// Whether the next packet may go.
    fn is_open(&mut self, now: Time) -> bool {
        self.next_at() <= now
    }

    /// Takes an acknowledgement.
    fn acknowledged(&mut self, _now: Time, _feedback: &Feedback) {}

    /// Takes what switches wrote into the packet that an acknowledgement of all below `acknowledged` answers; `next` is
    /// the next byte to send.
    fn measured(&mut self, _path: &PathTelemetry, _acknowledged: u64, _next: u64) {}

    /// A notification has come.
    fn notified(&mut self, _now: Time) {}

    /// A packet was lost.
    fn lost(&mut self, _now: Time, _progress: Progress) {}

    /// The retransmission timer has expired.
    fn timed_out(&mut self, _now: Time) {}

    /// The rate at `now`, where there is one.
    fn rate_at(&self, _now: Time) -> Option<BitRate> {
        None
    }

    /// State that decides what it will allow from `now` on, as a word that depends on no absolute time and offset. None
    /// where such a word would leave something out.
    fn repeatable_state(&self, _now: Time, _progress: Progress) -> Option<u64> {
        None
    }
}

/// Defines the congestion controls of connections from the list, and what parameters say of theirs.
macro_rules! define_controls {
    ($($(#[$doc:meta])* $key:ident: $Params:path => $Name:ident($Control:path);)*) => {
        /// The congestion control of a connection.
        pub enum Congestion {
            $(
                $(#[$doc])*
                $Name($Control),
            )*
        }

        /// Calls a function of whichever it is.
        macro_rules! each {
            ($congestion:expr, $control:ident => $call:expr) => {
                match $congestion {
                    $(Congestion::$Name($control) => $call,)*
                }
            };
        }

        impl Congestion {
            /// Creates the congestion control that `params` ask for, at a NIC of `rate`.
            pub(super) fn new(params: &RoceParams, rate: BitRate) -> Option<Box<Congestion>> {
                let connection =
                    FreshConnection { rate, packet: params.path_mtu.get(), window: params.window.get() };
                let control: Option<Congestion> = None;
                $(
                    let control = control.or_else(|| {
                        let own = params.$key.as_ref()?;
                        Some(Congestion::$Name(<$Control as CongestionControl>::start(own, &connection)))
                    });
                )*
                control.map(Box::new)
            }
        }

        impl RoceParams {
            /// The congestion controls that it has, by their keys: one at most where they are consistent.
            pub fn congestion_controls(&self) -> Vec<&'static str> {
                let keys = [$(self.$key.as_ref().map(|_| stringify!($key)),)*];
                keys.into_iter().flatten().collect()
            }

            /// Whether its congestion control heeds marks of switches.
            pub fn controls_heed_marks(&self) -> bool {
                false $(|| self.$key.as_ref().is_some_and(<$Control as CongestionControl>::heeds_marks))*
            }

            /// Whether its congestion control needs an echo of every packet.
            pub fn needs_echoes(&self) -> bool {
                false $(|| self.$key.as_ref().is_some_and(<$Control as CongestionControl>::needs_echoes))*
            }

            /// Rejects inconsistent parameters of congestion controls.
            pub fn check_controls(&self) -> Result<(), InputError> {
                $(
                    let checked = self.$key.as_ref().map_or(Ok(()), <$Control as CongestionControl>::check);
                    checked.map_err(|error| error.within(concat!("transport.roce.", stringify!($key))))?;
                )*
                Ok(())
            }

            /// Rates of its congestion control, by their keys: none exceeds that of a host's link.
            pub fn rates(&self) -> Vec<(String, BitRate)> {
                let mut rates = Vec::new();
                $(
                    let own = self.$key.as_ref().map(<$Control as CongestionControl>::rates).unwrap_or_default();
                    let key = |name| format!("transport.roce.{}.{name}", stringify!($key));
                    rates.extend(own.into_iter().map(|(name, rate)| (key(name), rate)));
                )*
                rates
            }

            /// Shortest time between two notifications of a receiver, where it sends any.
            #[inline]
            pub fn notification_gap(&self) -> Option<Duration> {
                let gap = None;
                $(let gap = gap.or_else(|| <$Control as CongestionControl>::notification_gap(self.$key.as_ref()?));)*
                gap
            }

            /// Switches for whose telemetry packets have room: 0 where they have none.
            pub fn telemetry_switches(&self) -> u8 {
                let own = [$(self.$key.as_ref().map_or(0, <$Control as CongestionControl>::telemetry_switches),)*];
                own.into_iter().max().unwrap_or_default()
            }

            /// Share of a link's rate that its connections use at most; infinite if nothing sets one.
            pub fn link_share_max(&self) -> f64 {
                let most = f64::INFINITY;
                $(
                    let own = self.$key.as_ref().map(<$Control as CongestionControl>::link_share_max);
                    let most = own.map_or(most, |own| most.min(own));
                )*
                most
            }
        }
    };
}
roce_congestion_controls!(define_controls);

impl Congestion {
    /// See [`SenderControl::window`].
    pub(super) fn window(&self) -> Option<u64> {
        each!(self, control => control.window())
    }

    /// See [`SenderControl::sent`].
    pub(super) fn sent(&mut self, now: Time, wire: u32) -> bool {
        each!(self, control => control.sent(now, wire))
    }

    /// See [`SenderControl::next_at`].
    pub(super) fn next_at(&self) -> Time {
        each!(self, control => control.next_at())
    }

    /// See [`SenderControl::is_open`].
    pub(super) fn is_open(&mut self, now: Time) -> bool {
        each!(self, control => control.is_open(now))
    }

    /// See [`SenderControl::acknowledged`].
    pub(super) fn acknowledged(&mut self, now: Time, feedback: &Feedback) {
        each!(self, control => control.acknowledged(now, feedback));
    }

    /// See [`SenderControl::measured`].
    pub(super) fn measured(&mut self, path: &PathTelemetry, acknowledged: u64, next: u64) {
        each!(self, control => control.measured(path, acknowledged, next));
    }

    /// See [`SenderControl::notified`].
    pub(super) fn notified(&mut self, now: Time) {
        each!(self, control => control.notified(now));
    }

    /// See [`SenderControl::lost`].
    pub(super) fn lost(&mut self, now: Time, progress: Progress) {
        each!(self, control => control.lost(now, progress));
    }

    /// See [`SenderControl::timed_out`].
    pub(super) fn timed_out(&mut self, now: Time) {
        each!(self, control => control.timed_out(now));
    }

    /// See [`SenderControl::rate_at`].
    pub(super) fn rate_at(&self, now: Time) -> Option<BitRate> {
        each!(self, control => control.rate_at(now))
    }

    /// See [`SenderControl::repeatable_state`].
    pub(super) fn repeatable_state(&self, now: Time, progress: Progress) -> Option<u64> {
        each!(self, control => control.repeatable_state(now, progress))
    }
}
