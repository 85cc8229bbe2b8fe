//! NICs, processors, MPI libraries.

use etherweave_primitives::{Bytes, Duration, InputErrors};

use super::{
    BUFFER_MAX, Checked, DELAY_MAX, RATES, check_delay, check_low_power_idle, check_rate_adaptation, check_shaper,
    has_pauses, require, require_within,
};
use crate::constants;
use crate::params::{
    CoreParams, CpuCosts, Moderation, MpiParams, NicParams, Noise, PROFILES, Pcie, ReceiveParams, SharedMemoryParams,
    SimParams, TransmitParams, Transport,
};

/// Largest segment that Linux hands to a NIC (BIG TCP: eight times 64 KiB).
const OFFLOAD_MAX: Bytes = Bytes::new(512 << 10);
/// Entries of a NIC's indirection table, each of which names a queue.
const QUEUES_MAX: u32 = 128;
/// Sockets of a host, and cores of a socket.
const CORES_MAX: u32 = 1024;
/// Longest message that a processor writes into a NIC; none is near.
const INLINE_MAX: Bytes = Bytes::new(1 << 20);
/// Largest envelope of an MPI message; none is near.
const ENVELOPE_MAX: Bytes = Bytes::new(64 << 10);
/// Pieces of a window of an MPI message, which are all sent at once; none is near.
const PIECES_MAX: u64 = 4096;

pub(super) fn check(params: &SimParams, errors: &mut InputErrors) {
    errors.check(check_buffer(params));
    let frame = Bytes::new(constants::largest_frame(params).into());
    errors.check(check_shaper("nic.shaper", params.nic.shaper.as_ref(), frame));
    errors.check(check_low_power_idle("nic.low_power_idle", params.nic.low_power_idle.as_ref(), &params.flow_control));
    errors.check(check_rate_adaptation("nic.rate_adaptation", params.nic.rate_adaptation.as_ref(), params));
    errors.check(check_cpu(&params.host.cpu).and_then(|()| check_offload(params)));
    errors.check(params.host.cores.as_ref().map_or(Ok(()), check_cores));
    errors.check(params.host.memory_rate.map_or(Ok(()), |rate| require_within(RATES, "host.memory_rate", rate)));
    errors.check(check_receive(&params.host.receive));
    errors.check(params.host.transmit.as_ref().map_or(Ok(()), check_transmit));
    errors.check(check_delay("host.timer_slack", params.host.timer_slack));
    errors.check(check_delay("host.start_jitter", params.host.start_jitter));
    errors.check(params.host.noise.as_ref().map_or(Ok(()), check_noise));
    errors.check(check_mpi("host.mpi_roce", &params.host.mpi_roce));
    errors.check(check_mpi("host.mpi_tcp", &params.host.mpi_tcp));
    errors.check(check_shared_memory(&params.host.shared_memory));
}

fn check_noise(noise: &Noise) -> Checked {
    check_delay("host.noise.every", noise.every)?;
    let least = Duration::from_us(1);
    require(noise.every >= least, "host.noise.every", noise.every, format!("at least {least}"))?;
    let most = format!("at most host.noise.every, {}", noise.every);
    require(noise.duration <= noise.every, "host.noise.duration", noise.duration, most)
}

/// Each of these is meaningful only if those before it hold.
fn check_buffer(params: &SimParams) -> Checked {
    check_nic(&params.nic)?;
    if has_pauses(params) {
        check_pauses(&params.nic)?;
    }
    check_room(params)
}

fn check_offload(params: &SimParams) -> Checked {
    let offload = params.host.cpu.offload;
    let in_kernel = params.transports().filter(|transport| transport.is_in_kernel());
    { in_kernel }.try_for_each(|transport| {
        let (name, payload) = (transport.payload_name(), transport.payload());
        let least = format!("at least {name}, {payload}, which means no offload");
        require(offload >= payload, "host.cpu.offload", offload, least)
    })
}

fn check_nic(nic: &NicParams) -> Checked {
    check_delay("nic.transmit_latency", nic.transmit_latency)?;
    check_delay("nic.receive_latency", nic.receive_latency)?;
    check_delay("nic.context_switch", nic.context_switch)?;
    if let Some(cache) = &nic.context_cache {
        require_within(1..=1 << 16, "nic.context_cache.entries", cache.entries)?;
        check_delay("nic.context_cache.miss", cache.miss)?;
    }
    if let Some(dynamic) = &nic.dynamic_connections {
        require_within(1..=1 << 12, "nic.dynamic_connections.initiators", dynamic.initiators)?;
        check_delay("nic.dynamic_connections.connect", dynamic.connect)?;
    }
    require_within(0..=1_000, "nic.clock_ppm", nic.clock_ppm)?;
    require_within(RATES, "nic.drain_rate", nic.drain_rate)?;
    if let Some(pcie) = &nic.pcie {
        check_pcie(pcie)?;
        let default = NicParams::default().drain_rate;
        require(
            nic.drain_rate == default,
            "nic.drain_rate",
            nic.drain_rate,
            "no rate beside nic.pcie, which gives it",
        )?;
    }
    if let Some(stall) = &nic.command_stall {
        check_delay("nic.command_stall.duration", stall.duration)?;
        let (period, least) = (stall.statistics_period, Duration::from_ms(1));
        require(period >= least, "nic.command_stall.statistics_period", period, format!("at least {least}"))?;
        require_within(0..=100, "nic.command_stall.statistics_commands", stall.statistics_commands)?;
    }
    require(nic.receive_buffer <= BUFFER_MAX, "nic.receive_buffer", nic.receive_buffer, "less than 4GiB")
}

fn check_pcie(pcie: &Pcie) -> Checked {
    require_within(3..=6, "nic.pcie.generation", pcie.generation)?;
    require_within(1..=16, "nic.pcie.width", pcie.width)?;
    for (key, size) in [("nic.pcie.payload", pcie.payload), ("nic.pcie.read_request", pcie.read_request)] {
        let is_legal = (128..=4096).contains(&size.get()) && size.get().is_power_of_two();
        require(is_legal, key, size, "a power of two from 128B to 4KiB")?;
    }
    require_within(Bytes::ZERO..=INLINE_MAX, "nic.pcie.inline_max", pcie.inline_max)?;
    check_delay("nic.pcie.read_latency", pcie.read_latency)
}

fn check_pauses(nic: &NicParams) -> Checked {
    let NicParams { receive_buffer, xoff, xon, .. } = *nic;
    require(xon <= xoff, "nic.xon", xon, format!("at most nic.xoff, {xoff}"))?;
    require(xoff < receive_buffer, "nic.xoff", xoff, format!("less than nic.receive_buffer, {receive_buffer}"))
}

/// A frame must fit the NIC. With kernel bypass, what drains while the NIC switches contexts counts as occupied too.
fn check_room(params: &SimParams) -> Checked {
    let nic = &params.nic;
    let frame = Bytes::new(constants::largest_frame(params).into());
    let is_switching = !params.transports().all(|transport| transport.is_in_kernel());
    let is_used = is_switching || nic.context_cache.is_none();
    require(is_used, "nic.context_cache", "over transports of the kernel", "a transport that NICs carry out")?;
    let may_share = |transport: &Transport| !transport.is_in_kernel() && !transport.slows_before_loss(true);
    let is_used = nic.dynamic_connections.is_none() || params.transports().all(may_share);
    let expected = "transports that NICs carry out without congestion control";
    require(is_used, "nic.dynamic_connections", "over a kernel, or with congestion control", expected)?;
    let switching = if is_switching { nic.drain_rate.bytes_in(nic.switching_max()) } else { Bytes::ZERO };
    let room = frame + switching;
    let least = format!("at least {room}: a frame, {frame}, and drain_rate times context_switch, {switching}");
    require(nic.receive_buffer >= room, "nic.receive_buffer", nic.receive_buffer, least)
}

fn check_cpu(cpu: &CpuCosts) -> Checked {
    let costs = [
        ("send_call", cpu.send_call),
        ("receive_call", cpu.receive_call),
        ("receive_frame", cpu.receive_frame),
        ("receive_batch", cpu.receive_batch),
        ("acknowledgement", cpu.acknowledgement),
        ("interrupt", cpu.interrupt),
    ];
    costs.into_iter().try_for_each(|(name, cost)| check_delay(&format!("host.cpu.{name}"), cost))?;
    check_per_kib("host.cpu.send_per_kib", cpu.send_per_kib)?;
    check_per_kib("host.cpu.receive_per_kib", cpu.receive_per_kib)?;
    require_within(Bytes::new(1)..=OFFLOAD_MAX, "host.cpu.offload", cpu.offload)?;
    require(cpu.merge_frames != Some(0), "host.cpu.merge_frames", 0, "1 or more frames; 1 merges nothing")
}

fn check_cores(cores: &CoreParams) -> Checked {
    require_within(1..=CORES_MAX, "host.cores.sockets", cores.sockets)?;
    require_within(1..=CORES_MAX, "host.cores.per_socket", cores.per_socket)
}

fn check_receive(receive: &ReceiveParams) -> Checked {
    require_within(1..=QUEUES_MAX, "host.receive.queues", receive.queues)?;
    require(receive.ring > 0, "host.receive.ring", receive.ring, "1 or more frames")?;
    check_moderation("host.receive.moderation", &receive.moderation)
}

fn check_transmit(transmit: &TransmitParams) -> Checked {
    let is_throttled = matches!(transmit.moderation, Moderation::Throttled(_));
    let right = "one of the others; host.receive.moderation.throttled holds for both directions";
    require(!is_throttled, "host.transmit.moderation", "throttled", right)?;
    check_moderation("host.transmit.moderation", &transmit.moderation)
}

fn check_moderation(key: &str, moderation: &Moderation) -> Checked {
    match moderation {
        Moderation::Off {} => Ok(()),
        Moderation::Fixed(profile) => {
            check_delay(&format!("{key}.fixed.period"), profile.period)?;
            require(profile.count > 0, &format!("{key}.fixed.count"), 0, "1 or more frames")
        }
        Moderation::Adaptive(adaptive) => {
            require_within(0..=PROFILES as u8 - 1, &format!("{key}.adaptive.start"), adaptive.start)
        }
        Moderation::Throttled(throttle) => check_delay(&format!("{key}.throttled.interval_min"), throttle.interval_min),
    }
}

fn check_mpi(key: &str, mpi: &MpiParams) -> Checked {
    let costs = [
        ("send_overhead", mpi.send_overhead),
        ("receive_overhead", mpi.receive_overhead),
        ("handling_overhead", mpi.handling_overhead),
        ("poll", mpi.poll),
        ("poll_per_connection", mpi.poll_per_connection),
    ];
    costs.into_iter().try_for_each(|(name, cost)| check_delay(&format!("{key}.{name}"), cost))?;
    check_per_kib(&format!("{key}.eager_send_per_kib"), mpi.eager_send_per_kib)?;
    check_per_kib(&format!("{key}.eager_receive_per_kib"), mpi.eager_receive_per_kib)?;
    check_per_kib(&format!("{key}.self_per_kib"), mpi.self_per_kib)?;
    check_per_kib(&format!("{key}.reduce_per_kib"), mpi.reduce_per_kib)?;
    check_per_kib(&format!("{key}.reduce_cached_per_kib"), mpi.reduce_cached_per_kib.unwrap_or(Duration::ZERO))?;
    check_per_kib(&format!("{key}.temporary_per_kib"), mpi.temporary_per_kib)?;
    let has_bytes = mpi.fragment.is_none_or(|fragment| fragment.get() > 0);
    require(has_bytes, &format!("{key}.fragment"), Bytes::ZERO, "1B or more")?;
    check_window(key, mpi)?;
    require_within(Bytes::new(1)..=ENVELOPE_MAX, &format!("{key}.header"), mpi.header)
}

fn check_window(key: &str, mpi: &MpiParams) -> Checked {
    let Some(window) = mpi.rendezvous_window else { return Ok(()) };
    let key = format!("{key}.rendezvous_window");
    require(window > Bytes::ZERO, &key, window, "1B or more")?;
    require(!mpi.matched_by_nic, &key, window, "absent beside matched_by_nic, by which the NIC READs messages")?;
    let Some(fragment) = mpi.fragment else { return Ok(()) };
    let is_bounded = window.get().div_ceil(fragment.get()) <= PIECES_MAX;
    require(is_bounded, &key, window, format!("at most {PIECES_MAX} pieces of fragment, {fragment}"))
}

fn check_shared_memory(memory: &SharedMemoryParams) -> Checked {
    let key = |name: &str| format!("host.shared_memory.{name}");
    let costs = [
        ("send_overhead", memory.send_overhead),
        ("latency", memory.latency),
        ("far_latency", memory.far_latency.unwrap_or(Duration::ZERO)),
        ("handling_overhead", memory.handling_overhead),
        ("single_copy_overhead", memory.single_copy_overhead),
    ];
    costs.into_iter().try_for_each(|(name, cost)| check_delay(&key(name), cost))?;
    require_within(1..=CORES_MAX, "host.shared_memory.complex", memory.complex.unwrap_or(1))?;
    let is_order_kept = !memory.send_overhead.is_zero();
    require(is_order_kept, &key("send_overhead"), memory.send_overhead, "more than 0: messages keep their order")?;
    check_per_kib(&key("eager_send_per_kib"), memory.eager_send_per_kib)?;
    check_per_kib(&key("eager_receive_per_kib"), memory.eager_receive_per_kib)?;
    check_per_kib(&key("single_copy_per_kib"), memory.single_copy_per_kib)
}

fn check_per_kib(key: &str, cost: Duration) -> Checked {
    let most = DELAY_MAX / 1024;
    require(cost <= most, key, cost, format!("at most {most}"))
}
