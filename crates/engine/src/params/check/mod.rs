//! Consistency of values: rejected are values that would silently change the physics, and options that cannot take
//! effect. Properties of the hardware (such as processor costs under RoCE) may be given although the chosen protocol
//! does not use them, so that scenarios can differ in one line.

mod host;
mod network;
mod transport;

use etherweave_primitives::{Bytes, Duration, InputErrors};
use etherweave_transport::params::{Checked, RATES, require, require_effect, require_within};

use super::{EpochRates, FlowControl, Forwarding, LowPowerIdleTimes, SimParams, TokenBucket};

/// Longest delay of a link, a switch, a NIC or a processor: a slip of the unit, beyond it. Sums of a run's
/// times stay far below the 213 days that a clock of picoseconds counts.
const DELAY_MAX: Duration = Duration::from_ms(1_000);
/// Sizes of buffers are 32 bits wide.
const BUFFER_MAX: Bytes = Bytes::new((1 << 32) - 1);

/// Rejects inconsistent parameters.
///
/// # Errors
/// Every mistake that does not follow from another.
pub fn check(params: &SimParams) -> Result<(), InputErrors> {
    // First: the others depend on the largest frame.
    transport::check(params)?;
    let mut errors = InputErrors::default();
    network::check(params, &mut errors);
    host::check(params, &mut errors);
    errors.into_result()
}

/// Rejects a shaper that could not let the largest frame go, `frame` on the wire.
fn check_shaper(key: &str, shaper: Option<&TokenBucket>, frame: Bytes) -> Checked {
    let Some(TokenBucket { rate, burst }) = shaper else { return Ok(()) };
    require_within(RATES, &format!("{key}.rate"), *rate)?;
    let least = format!("at least the largest frame, {frame}");
    require(*burst >= frame, &format!("{key}.burst"), burst, least)?;
    require(*burst <= BUFFER_MAX, &format!("{key}.burst"), burst, "less than 4GiB")
}

/// Rejects times of a sleeping transmitter beyond all reason, and beside credits, which return without frames.
fn check_low_power_idle(key: &str, idle: Option<&LowPowerIdleTimes>, flow_control: &FlowControl) -> Checked {
    let Some(LowPowerIdleTimes { after, sleep, wake }) = idle else { return Ok(()) };
    check_delay(&format!("{key}.after"), *after)?;
    check_delay(&format!("{key}.sleep"), *sleep)?;
    check_delay(&format!("{key}.wake"), *wake)?;
    let has_credits = matches!(flow_control, FlowControl::Credits(_));
    let expected = "none with flow_control.credits: credits return without frames, which no link wakes for";
    require(!has_credits, key, "times of low-power idle", expected)
}

/// Shortest epoch of a transmitter whose rate follows its load, less than a frame of 1,500 B at 100 Gb/s.
const EPOCH_MIN: Duration = Duration::from_ns(100);
/// Most reduced rates of a transmitter, each with a counter for every port.
const RATES_MAX: usize = 16;

/// Rejects rates of a transmitter that no frame could take, and beside what reckons with the full rate.
fn check_rate_adaptation(key: &str, rates: Option<&EpochRates>, params: &SimParams) -> Checked {
    let Some(EpochRates { rates, epoch, reactivation, load_max }) = rates else { return Ok(()) };
    let rise = rates.first().is_some_and(|&rate| rate >= RATE_MIN)
        && rates.last().is_some_and(|&rate| rate < 1.0)
        && rates.windows(2).all(|pair| pair[0] < pair[1]);
    let expected = format!("shares of the full rate that rise, from {RATE_MIN} on, each below 1");
    require(rise, &format!("{key}.rates"), format!("{rates:?}"), expected)?;
    require(rates.len() <= RATES_MAX, &format!("{key}.rates"), rates.len(), format!("at most {RATES_MAX} rates"))?;
    check_delay(&format!("{key}.epoch"), *epoch)?;
    let expected = format!("{EPOCH_MIN} or more: a choice takes the simulator as long as a packet");
    require(*epoch >= EPOCH_MIN, &format!("{key}.epoch"), epoch, expected)?;
    let less = format!("less than {key}.epoch, {epoch}");
    require(reactivation < epoch, &format!("{key}.reactivation"), reactivation, less)?;
    let is_share = *load_max > 0.0 && *load_max <= 1.0;
    require(is_share, &format!("{key}.load_max"), load_max, "above 0, up to 1")?;
    let expected = "store_and_forward: a frame that comes in slowly cannot go on at the full rate";
    let stores = params.switch.forwarding == Forwarding::StoreAndForward;
    require(stores, "switch.forwarding", format!("cut_through with {key}"), expected)?;
    let has_credits = matches!(params.flow_control, FlowControl::Credits(_));
    require(!has_credits, key, "rates that change", "none with flow_control.credits, which reckon with the full rate")
}

/// The lowest share of a rate: frames take up to 1,000 times as long.
const RATE_MIN: f64 = 0.001;

fn check_delay(key: &str, delay: Duration) -> Checked {
    require(delay <= DELAY_MAX, key, delay, format!("at most {DELAY_MAX}"))
}

/// Whether anything pauses anything.
fn has_pauses(params: &SimParams) -> bool {
    matches!(params.flow_control, FlowControl::GlobalPause(_) | FlowControl::Pfc(_))
}

#[cfg(test)]
mod tests {
    use super::super::{
        Credits, Dcqcn, EcnMarking, MarkAt, OuterHeader, Pfc, Reliability, RoceParams, RoceVersion, SwitchParams,
        Transport, Trimming,
    };
    use super::*;
    use etherweave_primitives::Priority;
    use etherweave_transport::entropy::LoadBalancing;
    use etherweave_transport::tcp::TcpParams;
    use etherweave_transport::uet::{Delivery, Nscc, Rccc, UetParams};

    fn rejected(change: impl FnOnce(&mut SimParams)) -> String {
        let mut params = SimParams::default();
        change(&mut params);
        let errors = check(&params).expect_err("it is rejected");
        errors.iter().map(|error| error.key.as_str()).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn defaults_are_valid_for_both_transports() {
        assert_eq!(check(&SimParams::default()), Ok(()));
        let tcp = Transport::Tcp(TcpParams::default());
        assert_eq!(check(&SimParams { transport: tcp, ..SimParams::default() }), Ok(()));
    }

    #[test]
    fn independent_mistakes_are_reported_together() {
        let several = rejected(|params| {
            params.nic.xon = Bytes::new(1 << 20);
            params.ets.weights = [50, 49, 0, 0, 0, 0, 0, 0];
            params.host.timer_slack = Duration::from_ms(2_000);
        });
        assert_eq!(several, "ets.weights, nic.xon, host.timer_slack");
    }

    #[test]
    fn links_sleep_only_where_credits_need_no_frames() {
        let idle = |wake| {
            let (after, sleep) = (Duration::ZERO, Duration::from_us(3));
            Some(LowPowerIdleTimes { after, sleep, wake })
        };
        assert_eq!(
            rejected(|params| params.nic.low_power_idle = idle(Duration::from_ms(2_000))),
            "nic.low_power_idle.wake"
        );
        let both = rejected(|params| {
            params.flow_control = FlowControl::Credits(Default::default());
            params.switch.low_power_idle = idle(Duration::from_us(5));
            params.nic.low_power_idle = idle(Duration::from_us(5));
        });
        assert_eq!(both, "switch.low_power_idle, nic.low_power_idle");
    }

    #[test]
    fn switches_trim_where_packets_may_be_lost_and_receivers_report_them() {
        let trims = |change: &dyn Fn(&mut SimParams)| {
            rejected(|params| {
                params.switch.trimming = Some(Trimming::default());
                params.transport = Transport::Uet(UetParams::default());
                change(params);
            })
        };
        let pfc = |priority| FlowControl::Pfc(Pfc { priorities: vec![Priority::new(priority)], ..Pfc::default() });
        assert_eq!(trims(&|params| params.transport = Transport::default()), "switch.trimming");
        assert_eq!(trims(&|params| params.other_transports = vec![Transport::default()]), "switch.trimming");
        let datagrams = Transport::Uet(UetParams { delivery: Delivery::Uud, ..UetParams::default() });
        let switch = SwitchParams { trimming: Some(Trimming::default()), ..SwitchParams::default() };
        let error = check(&SimParams { transport: datagrams, switch, ..SimParams::default() }).unwrap_err().to_string();
        assert!(
            error.contains("trimming beside transport.uet.delivery = \"uud\"; expected another delivery"),
            "{error}"
        );
        assert_eq!(trims(&|params| params.flow_control = pfc(6)), "switch.trimming.priority");
        for size in [43, 4_085] {
            let trimming = Some(Trimming { size: Bytes::new(size), ..Trimming::default() });
            assert_eq!(trims(&|params| params.switch.trimming = trimming), "switch.trimming.size");
        }
        let trimming = |change: fn(&mut Trimming)| {
            let mut trimming = Trimming::default();
            change(&mut trimming);
            trims(&move |params| params.switch.trimming = Some(trimming))
        };
        assert_eq!(trimming(|own| own.code_point = Some(47)), "switch.trimming.code_point");
        assert_eq!(trimming(|own| own.last_hop_code_point = Some(56)), "switch.trimming.last_hop_code_point");
        assert_eq!(trimming(|own| own.queue = Some(8)), "switch.trimming.queue");
        let in_lossless = |params: &mut SimParams| {
            params.flow_control = pfc(3);
            params.switch.trimming = Some(Trimming { queue: Some(3), ..Trimming::default() });
        };
        assert_eq!(trims(&in_lossless), "switch.trimming.queue");
        let share_without_priority = |queue| {
            let mut params = SimParams { transport: Transport::Uet(UetParams::default()), ..SimParams::default() };
            params.flow_control = FlowControl::None {};
            params.switch.trimming = Some(Trimming { queue, ..Trimming::default() });
            params.ets.class_of_priority = [0, 1, 2, 3, 4, 4, 6, 7];
            params.ets.weights = [90, 0, 0, 0, 0, 10, 0, 0];
            check(&params)
        };
        assert_eq!(share_without_priority(Some(5)), Ok(()));
        assert!(share_without_priority(None).unwrap_err().to_string().starts_with("ets.weights: a share for class 5"));
        let mut params = SimParams { transport: Transport::Uet(UetParams::default()), ..SimParams::default() };
        let credits = |priority| {
            FlowControl::Credits(Credits { priorities: vec![Priority::new(priority)], ..Credits::default() })
        };
        params.switch.trimming = Some(Trimming::default());
        for lossless in [pfc(0), credits(0)] {
            params.flow_control = lossless;
            assert_eq!(check(&params), Ok(()));
        }
        assert_eq!(trims(&|params| params.flow_control = credits(6)), "switch.trimming.priority");
    }

    #[test]
    fn ultra_ethernet_needs_marks_for_its_window_and_paths_for_its_entropy_values() {
        let uet = |change: &dyn Fn(&mut UetParams)| {
            let mut uet = UetParams::default();
            change(&mut uet);
            rejected(|params| params.transport = Transport::Uet(uet))
        };
        assert_eq!(uet(&|uet| uet.nscc = Some(Nscc::default())), "transport.uet.nscc");
        assert_eq!(uet(&|uet| uet.entropies = 48), "transport.uet.entropies");
        assert_eq!(uet(&|uet| (uet.delivery, uet.entropies) = (Delivery::Rod, 8)), "transport.uet.entropies");
        assert_eq!(uet(&|uet| uet.payload_mtu = Bytes::new(4000)), "transport.uet.payload_mtu");
        let rccc = Some(Rccc::default());
        assert_eq!(uet(&|uet| (uet.delivery, uet.rccc) = (Delivery::Rudi, rccc.clone())), "transport.uet.rccc");
        let trigger = Bytes::new(4096);
        assert_eq!(
            uet(&|uet| (uet.delivery, uet.ack_trigger) = (Delivery::Rudi, trigger)),
            "transport.uet.ack_trigger"
        );
        let timeout = Duration::from_us(100);
        let datagrams = uet(&|uet| (uet.delivery, uet.retransmission_timeout) = (Delivery::Uud, timeout));
        assert_eq!(datagrams, "transport.uet.retransmission_timeout");
        assert_eq!(uet(&|uet| uet.psn_range = 1 << 16), "transport.uet.psn_range");
        let marked = rejected(|params| {
            let (queue_min, queue_max) = (Bytes::new(1), Bytes::new(2));
            params.switch.ecn =
                Some(EcnMarking { queue_min, queue_max, share_max: 1.0, mark_at: MarkAt::Dequeue, last_hop: true });
            let load_balancing = LoadBalancing::Oblivious;
            params.transport = Transport::Uet(UetParams { load_balancing, ..UetParams::default() });
        });
        assert_eq!(marked, "switch.ecn");
    }

    #[test]
    fn roce_chooses_paths_with_selective_repeat_in_udp_alone_and_heeds_marks_by_them() {
        let selective = RoceParams {
            reliability: Reliability::SelectiveRepeat,
            load_balancing: Some(LoadBalancing::Mixed),
            ..RoceParams::default()
        };
        let roce = |change: &dyn Fn(&mut RoceParams)| {
            let mut roce = selective.clone();
            change(&mut roce);
            rejected(|params| params.transport = Transport::Roce(roce))
        };
        let paths = "transport.roce.load_balancing";
        assert_eq!(roce(&|roce| roce.reliability = Reliability::GoBackN), paths);
        assert_eq!(roce(&|roce| roce.version = RoceVersion::V1), paths);
        let entropies = "transport.roce.entropies";
        assert_eq!(roce(&|roce| roce.entropies = 48), entropies);
        assert_eq!(roce(&|roce| roce.entropies = 1 << 15), entropies);
        assert_eq!(roce(&|roce| (roce.load_balancing, roce.entropies) = (None, 8)), entropies);
        let marked = |load_balancing| {
            let (queue_min, queue_max) = (Bytes::new(1), Bytes::new(2));
            let ecn = EcnMarking { queue_min, queue_max, share_max: 1.0, mark_at: MarkAt::Dequeue, last_hop: true };
            let switch = SwitchParams { ecn: Some(ecn), ..SwitchParams::default() };
            let transport = Transport::Roce(RoceParams { load_balancing: Some(load_balancing), ..selective.clone() });
            check(&SimParams { switch, transport, ..SimParams::default() })
        };
        assert_eq!(marked(LoadBalancing::Mixed), Ok(()));
        let error = marked(LoadBalancing::Oblivious).unwrap_err();
        assert!(error.to_string().starts_with("switch.ecn"), "{error}");
    }

    #[test]
    fn outer_headers_are_short() {
        let of = |bytes, latency| {
            let latency = Duration::from_ms(latency);
            rejected(|params| params.switch.outer_header = Some(OuterHeader { bytes: Bytes::new(bytes), latency }))
        };
        assert_eq!(
            [of(0, 0), of(257, 0), of(50, 2_000)],
            ["switch.outer_header.bytes", "switch.outer_header.bytes", "switch.outer_header.latency"]
        );
    }

    #[test]
    fn rates_that_follow_the_load_rise_and_need_store_and_forward() {
        let adapt = |params: &mut SimParams, rates: &[f64], epoch| {
            params.switch.forwarding = Forwarding::StoreAndForward;
            let (rates, reactivation) = (rates.to_vec(), Duration::from_us(1));
            params.switch.rate_adaptation = Some(EpochRates { rates, epoch, reactivation, load_max: 0.5 });
        };
        let of = |rates: &[f64], epoch| rejected(|params| adapt(params, rates, Duration::from_us(epoch)));
        for rates in [&[][..], &[0.5, 0.25], &[0.5, 1.0], &[0.0, 0.5], &[f64::NAN]] {
            assert_eq!(of(rates, 10), "switch.rate_adaptation.rates", "{rates:?}");
        }
        let many: Vec<f64> = (1..=17).map(|part| f64::from(part) / 20.0).collect();
        assert_eq!(of(&many, 10), "switch.rate_adaptation.rates");
        assert_eq!(of(&[0.5], 1), "switch.rate_adaptation.reactivation");
        assert_eq!(of(&[0.5], 0), "switch.rate_adaptation.epoch");
        let cut_through = rejected(|params| {
            adapt(params, &[0.5], Duration::from_us(10));
            params.switch.forwarding = Forwarding::CutThrough;
        });
        assert_eq!(cut_through, "switch.forwarding");
        let credits = rejected(|params| {
            adapt(params, &[0.5], Duration::from_us(10));
            params.flow_control = FlowControl::Credits(Default::default());
        });
        assert_eq!(credits, "switch.rate_adaptation");
    }

    #[test]
    fn what_would_silently_change_the_physics_is_rejected() {
        assert_eq!(rejected(|params| params.nic.xon = Bytes::new(1 << 20)), "nic.xon");
        assert_eq!(rejected(|params| params.switch.headroom = Some(Bytes::new(17 << 20))), "switch.headroom");
        assert_eq!(rejected(|params| params.ets.weights = [50, 49, 0, 0, 0, 0, 0, 0]), "ets.weights");
        assert_eq!(rejected(|params| params.switch.xon_offset = Bytes::new(1 << 30)), "switch.xon_offset");
        let still = Dcqcn { dce_tcp_rtt: Duration::ZERO, ..Dcqcn::default() };
        let roce = RoceParams { dcqcn: Some(still), ..RoceParams::default() };
        let ecn = EcnMarking {
            queue_min: Bytes::new(1),
            queue_max: Bytes::new(2),
            share_max: 1.0,
            mark_at: MarkAt::Dequeue,
            last_hop: true,
        };
        let endless = rejected(|params| {
            params.switch.ecn = Some(ecn);
            params.transport = Transport::Roce(roce);
        });
        assert_eq!(endless, "transport.roce.dcqcn.dce_tcp_rtt");
        let roce = RoceParams { dcqcn: Some(Default::default()), ..RoceParams::default() };
        assert_eq!(rejected(|params| params.transport = Transport::Roce(roce)), "transport.roce.dcqcn");
    }
}
