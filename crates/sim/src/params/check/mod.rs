//! Consistency of values: rejected are values that would silently change the physics, and options that cannot take
//! effect. Properties of the hardware (such as processor costs under RoCE) may be given although the chosen protocol
//! does not use them, so that scenarios can differ in one line.

mod host;
mod network;
mod transport;

use std::fmt::Display;
use std::ops::RangeInclusive;

use etherweave_primitives::{BitRate, Bytes, Duration};

use super::{FlowControl, SimParams, TokenBucket, Transport};

/// A value that does not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// Dotted key in a scenario.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What would fit.
    pub expected: String,
}

type Checked = Result<(), Misfit>;

/// Longest delay of a link, a switch, a NIC or a processor: a slip of the unit, beyond it. Sums of a run's
/// times stay far below the 213 days that a clock of picoseconds counts.
const DELAY_MAX: Duration = Duration::from_ms(1_000);
/// Longest timer.
const TIMER_MAX: Duration = Duration::from_ms(1_000_000_000);
/// Slowest and fastest rate of a part. Times per byte keep three digits up to there.
const RATES: RangeInclusive<BitRate> = BitRate::from_bps(1_000_000)..=BitRate::from_gbps(100_000);
/// Sizes of buffers are 32 bits wide.
const BUFFER_MAX: Bytes = Bytes::new((1 << 32) - 1);

/// Refuses parameters that do not fit together.
///
/// # Errors
/// The first value that does not fit.
pub fn check(params: &SimParams) -> Checked {
    // First: the others ask for the largest frame.
    match &params.transport {
        Transport::Roce(roce) => transport::check_roce(roce, params.switch.ecn.as_ref()),
        Transport::Tcp(tcp) => transport::check_tcp(tcp, params.switch.ecn.as_ref()),
    }?;
    network::check(params)?;
    host::check(params)
}

/// The misfit of `key`, unless it fits.
fn demand(fits: bool, key: &str, found: impl Display, expected: impl Into<String>) -> Checked {
    let misfit = || Misfit { key: key.to_owned(), found: found.to_string(), expected: expected.into() };
    if fits { Ok(()) } else { Err(misfit()) }
}

/// Refuses a value outside `range`.
fn demand_within<T: Display + PartialOrd>(range: RangeInclusive<T>, key: &str, value: T) -> Checked {
    let expected = format!("{} to {}", range.start(), range.end());
    demand(range.contains(&value), key, value, expected)
}

/// Refuses a shaper that could not let the largest frame go, `frame` on the wire.
fn check_shaper(key: &str, shaper: Option<&TokenBucket>, frame: Bytes) -> Checked {
    let Some(TokenBucket { rate, burst }) = shaper else { return Ok(()) };
    demand_within(RATES, &format!("{key}.rate"), *rate)?;
    let least = format!("at least the largest frame, {frame}");
    demand(*burst >= frame, &format!("{key}.burst"), burst, least)?;
    demand(*burst <= BUFFER_MAX, &format!("{key}.burst"), burst, "less than 4GiB")
}

/// Refuses a delay beyond all reason.
fn check_delay(key: &str, delay: Duration) -> Checked {
    demand(delay <= DELAY_MAX, key, delay, format!("at most {DELAY_MAX}"))
}

/// Refuses a timer that expires at once, or never.
fn check_timer(key: &str, timer: Duration) -> Checked {
    demand_within(Duration::from_ps(1)..=TIMER_MAX, key, timer)
}

/// Refuses an option that is set to something else than its default where nothing reads it.
fn demand_effect<T: Display + PartialEq>(is_read: bool, key: &str, value: T, default: T, why: &str) -> Checked {
    demand(is_read || value == default, key, value, format!("nothing here {why}: it cannot take effect"))
}

/// Whether anything pauses anything.
fn has_pauses(params: &SimParams) -> bool {
    !matches!(params.flow_control, FlowControl::None {})
}

#[cfg(test)]
mod tests {
    use super::super::{Dcqcn, EcnMarking, RoceParams};
    use super::*;
    use crate::transport::tcp::TcpParams;

    fn misfit(change: impl FnOnce(&mut SimParams)) -> String {
        let mut params = SimParams::default();
        change(&mut params);
        check(&params).expect_err("it does not fit").key
    }

    #[test]
    fn defaults_fit_for_both_transports() {
        assert_eq!(check(&SimParams::default()), Ok(()));
        let tcp = Transport::Tcp(TcpParams::default());
        assert_eq!(check(&SimParams { transport: tcp, ..SimParams::default() }), Ok(()));
    }

    #[test]
    fn what_would_silently_change_the_physics_is_named() {
        assert_eq!(misfit(|params| params.nic.xon = Bytes::new(1 << 20)), "nic.xon");
        assert_eq!(misfit(|params| params.switch.headroom = Some(Bytes::new(17 << 20))), "switch.headroom");
        assert_eq!(misfit(|params| params.ets.weights = [50, 49, 0, 0, 0, 0, 0, 0]), "ets.weights");
        assert_eq!(misfit(|params| params.switch.xon_offset = Bytes::new(1 << 30)), "switch.xon_offset");
        let still = Dcqcn { alpha_timer: Duration::ZERO, ..Dcqcn::default() };
        let roce = RoceParams { dcqcn: Some(still), ..RoceParams::default() };
        let ecn = EcnMarking { queue_min: Bytes::new(1), queue_max: Bytes::new(2), share_max: 1.0 };
        let endless = misfit(|params| {
            params.switch.ecn = Some(ecn);
            params.transport = Transport::Roce(roce);
        });
        assert_eq!(endless, "transport.roce.dcqcn.alpha_timer");
        let roce = RoceParams { dcqcn: Some(Default::default()), ..RoceParams::default() };
        assert_eq!(misfit(|params| params.transport = Transport::Roce(roce)), "transport.roce.dcqcn");
    }
}
