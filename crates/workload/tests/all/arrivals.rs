//! The suite that every arrival process passes, and what each promises beyond it.

use etherweave_primitives::{Duration, HostId};
use etherweave_workload::arrival::{
    Bernoulli, BurstLength, FirstArrival, GAP_MAX, LogNormal, OnOff, Periodic, Poisson,
};
use etherweave_workload::{Arrival, ArrivalPlan, HostArrivals, Share};

/// 1,000 bytes at 40 Gb/s.
const PACKET: Duration = Duration::from_ns(200);
const DRAWS: usize = 200_000;

fn share(number: f64) -> Share {
    Share::try_from(number).unwrap()
}

fn plan(arrival: &Arrival, load: f64) -> ArrivalPlan {
    arrival.plan(PACKET, share(load)).unwrap()
}

/// The first gaps of host 5 under seed 1 [ps].
fn gaps(plan: &ArrivalPlan, count: usize) -> Vec<u64> {
    let mut host = HostArrivals::new(1, HostId::new(5));
    (0..count).map(|_| plan.next(&mut host).as_ps()).collect()
}

/// The variance of the number of packets by an instant t, divided by t in packet times, as t grows: load · (squared
/// coefficient of variation of the gap) for a renewal process; of bursts it is derived beside [`burst_spread`].
fn spread(arrival: &Arrival, load: f64) -> f64 {
    match arrival {
        // A geometric number of slots with chance p has squared coefficient of variation 1 − p.
        Arrival::Bernoulli(bernoulli) => load * (1.0 - load / f64::from(bernoulli.slots_per_packet)),
        Arrival::Poisson(_) => load,
        // The squared coefficient of variation of a log-normal number.
        Arrival::LogNormal(LogNormal { sigma }) => load * ((sigma * sigma).exp() - 1.0),
        Arrival::OnOff(bursts) => burst_spread(bursts, load),
        Arrival::Periodic(_) => 0.0,
    }
}

/// A cycle has B packets and takes T = B / peak + S, with E B / E T = load. By the renewal-reward theorem the variance
/// per time is Var(B − load · T) / E T, where B − load · T = B · (1 − load / peak) − load · S, and S is
/// exponential.
fn burst_spread(bursts: &OnOff, load: f64) -> f64 {
    let (mean, peak) = (f64::from(bursts.burst), f64::from(bursts.peak));
    let variance = match bursts.length {
        // Geometric from 1 on with chance 1/mean.
        BurstLength::Geometric => mean * (mean - 1.0),
        // Pareto's variance is mean² / (shape (shape − 2)); rounding at random adds at most 1/4.
        BurstLength::Pareto { shape } => mean * mean / (shape * (shape - 2.0)) + 0.25,
    };
    let silence = mean * (1.0 / load - 1.0 / peak);
    (variance * (1.0 - load / peak).powi(2) + (load * silence).powi(2)) / (mean / load)
}

/// Defaults and relatives.
fn members() -> Vec<Arrival> {
    let mut members = Arrival::defaults();
    members.push(Arrival::Bernoulli(Bernoulli { slots_per_packet: 200 }));
    members.push(Arrival::LogNormal(LogNormal { sigma: 0.3 }));
    members.push(Arrival::Periodic(Periodic { phase: FirstArrival::Aligned }));
    let bursts = [
        OnOff { burst: 1, ..OnOff::default() },
        OnOff { burst: 100, ..OnOff::default() },
        OnOff { peak: share(0.97), ..OnOff::default() },
        OnOff { length: BurstLength::Pareto { shape: 3.5 }, ..OnOff::default() },
    ];
    members.extend(bursts.map(Arrival::OnOff));
    members
}

#[test]
fn the_mean_rate_is_the_offered_load() {
    for member in members() {
        for load in [0.05, 0.35, 0.5, 0.9, 0.97] {
            let time: u64 = gaps(&plan(&member, load), DRAWS).iter().sum();
            let packets_times = time as f64 / PACKET.as_ps() as f64;
            let offered = DRAWS as f64 / packets_times;
            // Four deviations of the rate over that time, and the first period, which may begin anywhere.
            let bound = 4.0 * (spread(&member, load) / packets_times).sqrt() + 100.0 / DRAWS as f64 * load;
            assert!((offered - load).abs() <= bound, "{member:?}: {offered} for {load} ± {bound}");
        }
    }
}

#[test]
fn at_load_one_packets_fill_the_link_and_at_load_zero_none_ever_comes() {
    for member in members() {
        assert!(gaps(&plan(&member, 0.0), 10).iter().all(|&gap| gap == GAP_MAX.as_ps()), "{member:?}");
    }
    let ones = [Arrival::default(), Arrival::OnOff(OnOff::default()), Arrival::Periodic(Periodic::default())];
    for member in ones {
        assert!(gaps(&plan(&member, 1.0), 1_000)[1..].iter().all(|&gap| gap == PACKET.as_ps()), "{member:?}");
    }
}

#[test]
fn a_host_repeats_itself_under_its_seed_and_nobody_else() {
    for member in members() {
        let plan = plan(&member, 0.3);
        let of = |seed, host| {
            let mut host = HostArrivals::new(seed, HostId::new(host));
            (0..50).map(|_| plan.next(&mut host)).collect::<Vec<_>>()
        };
        assert_eq!(of(1, 5), of(1, 5), "{member:?}");
        if member != Arrival::Periodic(Periodic { phase: FirstArrival::Aligned }) {
            assert!(of(1, 5) != of(2, 5) && of(1, 5) != of(1, 6), "{member:?}");
        }
    }
}

#[test]
fn the_schema_lists_every_member() {
    let schema = format!("{:?}", schemars::schema_for!(Arrival));
    assert!(Arrival::NAMES.iter().all(|name| schema.contains(&format!("{name:?}"))), "{schema}");
}

#[test]
fn every_member_is_written_and_read_under_its_name() {
    for (member, name) in Arrival::defaults().into_iter().zip(Arrival::NAMES) {
        assert_eq!(member.name(), *name);
        assert_eq!(toml::from_str::<Arrival>(&format!("[{name}]\n")).unwrap(), member);
        let written = toml::to_string(&member).unwrap();
        assert_eq!(toml::from_str::<Arrival>(&written).unwrap(), member, "{written}");
    }
    let text = "[on_off]\nburst = 4\npeak = 0.5\n[on_off.length.pareto]\nshape = 1.5\n";
    let length = BurstLength::Pareto { shape: 1.5 };
    assert_eq!(toml::from_str(text), Ok(Arrival::OnOff(OnOff { burst: 4, length, peak: share(0.5) })));
    let error = toml::from_str::<Arrival>("[poison]\n").unwrap_err().to_string();
    assert!(error.contains("unknown variant `poison`") && error.contains("`poisson`"), "{error}");
}

#[test]
fn bernoulli_packets_come_at_whole_slots_with_the_geometric_chances() {
    let load = 0.3;
    let gaps = gaps(&plan(&Arrival::default(), load), DRAWS);
    let mut counts = [0u32; 21];
    for gap in gaps {
        assert!(gap.is_multiple_of(PACKET.as_ps()) && gap > 0);
        counts[(gap / PACKET.as_ps()).min(21) as usize - 1] += 1;
    }
    let chance = |slot: i32| if slot < 20 { load * (1.0f64 - load).powi(slot) } else { (1.0f64 - load).powi(slot) };
    let expected = |slot: usize| DRAWS as f64 * chance(slot as i32);
    let terms = counts.iter().enumerate().map(|(slot, &n)| (f64::from(n) - expected(slot)).powi(2) / expected(slot));
    let chi_square: f64 = terms.sum();
    // 20 degrees of freedom: mean 20, 99.99 % quantile 52.4.
    assert!(chi_square < 52.4, "{chi_square}");
}

#[test]
fn poisson_gaps_fall_evenly_into_classes_of_equal_chance() {
    let gaps = gaps(&plan(&Arrival::Poisson(Poisson {}), 0.4), DRAWS);
    let mean = PACKET.as_ps() as f64 / 0.4;
    let mut counts = [0u32; 21];
    gaps.iter().for_each(|&gap| counts[((1.0 - (-(gap as f64) / mean).exp()) * 21.0) as usize] += 1);
    let expected = DRAWS as f64 / 21.0;
    let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    // 20 degrees of freedom: 99.99 % quantile 52.4.
    assert!(chi_square < 52.4, "{chi_square}");
}

/// Shares of 2.275, 15.866 and 50 % of a normal number lie beyond two, one and no deviations.
#[test]
fn logarithms_of_log_normal_gaps_are_normal() {
    let sigma = 2.0_f64;
    let gaps = gaps(&plan(&Arrival::LogNormal(LogNormal { sigma }), 0.4), DRAWS);
    let median = PACKET.as_ps() as f64 / 0.4 / (sigma * sigma / 2.0).exp();
    for (deviations, share) in [(-2.0, 0.97725), (-1.0, 0.84134), (0.0, 0.5), (1.0, 0.15866), (2.0, 0.02275)] {
        let bound = median * (sigma * deviations).exp();
        let beyond = gaps.iter().filter(|&&gap| gap as f64 > bound).count() as f64 / DRAWS as f64;
        // Four deviations of a binomial share.
        let margin = 4.0 * (share * (1.0_f64 - share) / DRAWS as f64).sqrt();
        assert!((beyond - share).abs() < margin, "{beyond} beyond {deviations} deviations");
    }
}

/// Lengths of the complete bursts among so many packets.
fn bursts(bursts: &OnOff) -> Vec<f64> {
    let gaps = gaps(&plan(&Arrival::OnOff(bursts.clone()), 0.1), 4 * DRAWS);
    let starts: Vec<usize> = (0..gaps.len()).filter(|&at| gaps[at] > PACKET.as_ps()).collect();
    starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
}

#[test]
fn bursts_are_as_long_as_asked() {
    for length in [BurstLength::Geometric, BurstLength::Pareto { shape: 3.5 }] {
        let parameters = OnOff { burst: 10, length, ..OnOff::default() };
        let lengths = bursts(&parameters);
        let count = lengths.len() as f64;
        let mean = lengths.iter().sum::<f64>() / count;
        // Variances: 10 · 9 of the geometric; 10² / (3.5 · 1.5) + 1/4 of Pareto's.
        let variance = if length == BurstLength::Geometric { 90.0 } else { 100.0 / 5.25 + 0.25 };
        assert!((mean - 10.0).abs() < 4.0 * (variance / count).sqrt(), "{parameters:?}: {mean}");
    }
}

#[test]
fn long_bursts_are_as_frequent_as_their_law_says() {
    let tail = |length, x: f64| {
        let lengths = bursts(&OnOff { burst: 10, length, ..OnOff::default() });
        (lengths.iter().filter(|&&packets| packets > x).count() as f64, lengths.len() as f64)
    };
    // Pareto of shape 1.5 and mean 10 starts at 10/3. Rounding at random moves a threshold by less than a packet.
    let law = |x: f64| (10.0 / 3.0 / x).powf(1.5);
    for x in [20.0, 100.0] {
        let (hits, all) = tail(BurstLength::Pareto { shape: 1.5 }, x);
        let margin = 4.0 * (all * law(x)).sqrt();
        assert!(hits < all * law(x - 1.0) + margin && hits > all * law(x + 1.0) - margin, "{hits} of {all} above {x}");
        let (hits, all) = tail(BurstLength::Geometric, x);
        let expected = all * 0.9f64.powf(x);
        assert!((hits - expected).abs() < 4.0 * expected.sqrt() + 1.0, "{hits} of {all} above {x}");
    }
}

#[test]
fn a_period_that_is_no_whole_number_of_picoseconds_drifts_nowhere() {
    // 200 ns / 0.3 are 666,666.67 ps: after three million packets 2 · 10^12 ps, less 2^-16 ps for each.
    let periodic = Arrival::Periodic(Periodic { phase: FirstArrival::Aligned });
    let time: u64 = gaps(&plan(&periodic, 0.3), 3_000_001).iter().sum();
    assert!((2_000_000_000_000 - 46..=2_000_000_000_000).contains(&time), "{time}");
}

#[test]
fn hosts_in_step_start_at_once_and_others_spread_over_the_first_period() {
    let first = |phase, host| {
        plan(&Arrival::Periodic(Periodic { phase }), 0.5).next(&mut HostArrivals::new(1, HostId::new(host))).as_ps()
    };
    assert!((0..100).all(|host| first(FirstArrival::Aligned, host) == 0));
    let mut quarters = [0; 4];
    (0..4_000).for_each(|host| quarters[(first(FirstArrival::Random, host) / 100_000) as usize] += 1);
    // Binomial with mean 1,000 and deviation 27: four deviations.
    assert!(quarters.iter().all(|n| (890..1_110).contains(n)), "{quarters:?}");
}
