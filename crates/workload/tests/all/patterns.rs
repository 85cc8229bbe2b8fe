//! The suite that every pattern passes, and what each promises beyond it.

use etherweave_primitives::{Duration, HostId, Time};
use etherweave_workload::pattern::{
    Adversarial, Alternating, BitComplement, BitReverse, GroupLocal, HotSpot, Listed, Matrix, Neighbour,
    RandomPermutation, Shift, Switching, Tornado, Transpose, Uniform, host_destinations,
};
use etherweave_workload::{Destinations, HostGroups, Pattern, Share};

/// Draws per host in tests of shares.
const DRAWS: u32 = 40_000;

/// Eight groups of eight: every default member fits.
fn eight_by_eight() -> HostGroups {
    HostGroups::new(&[8; 8]).unwrap()
}

fn share(number: f64) -> Share {
    Share::try_from(number).unwrap()
}

fn plan(pattern: &Pattern, groups: &HostGroups) -> Destinations {
    pattern.plan(groups, 1).unwrap()
}

/// The first destinations of a host at the start of a run.
fn draws(plan: &Destinations, src: u32, count: u32) -> Vec<Option<u32>> {
    let mut random = host_destinations(1, HostId::new(src));
    let mut next = || plan.destination(HostId::new(src), Time::ZERO, &mut random);
    (0..count).map(|_| next().map(HostId::get)).collect()
}

/// The partner of each host; its own number when it sends nothing.
fn partners(pattern: &Pattern, groups: &HostGroups) -> Vec<u32> {
    let plan = plan(pattern, groups);
    (0..groups.hosts()).map(|src| draws(&plan, src, 1)[0].unwrap_or(src)).collect()
}

/// Packets of `src` by destination.
fn histogram(pattern: &Pattern, groups: &HostGroups, src: u32) -> Vec<u32> {
    let mut counts = vec![0; groups.hosts() as usize];
    draws(&plan(pattern, groups), src, DRAWS).into_iter().flatten().for_each(|dst| counts[dst as usize] += 1);
    counts
}

/// Whether counts agree with chances: nothing where the chance is 0, and chi-square no more than four deviations
/// (the root of twice the degrees of freedom) above its mean, the degrees of freedom.
fn check_chances(counts: &[u32], chances: impl Fn(u32) -> f64, what: &str) {
    let (mut chi_square, mut classes) = (0.0, 0);
    for (dst, &count) in (0..).zip(counts) {
        let expected = chances(dst) * f64::from(DRAWS);
        if expected == 0.0 {
            assert_eq!(count, 0, "{what}: host {dst}");
        } else {
            chi_square += (f64::from(count) - expected).powi(2) / expected;
            classes += 1;
        }
    }
    let freedom = f64::from(classes - 1);
    assert!(chi_square <= freedom + 4.0 * (2.0 * freedom).sqrt(), "{what}: {chi_square} of {freedom}");
}

/// Members that share out packets, and groups of unequal sizes where they may.
fn sharing() -> Vec<(Pattern, HostGroups)> {
    let local = |number| Pattern::GroupLocal(GroupLocal { share: share(number), ..GroupLocal::default() });
    let hot = |number| Pattern::HotSpot(HotSpot { hosts: vec![3, 5, 11], share: share(number) });
    let by_switch = Pattern::Adversarial(Adversarial { offset: 3, hosts_per_switch: Some(4) });
    let switching = |us| Pattern::Switching(Switching { at: Duration::from_us(us), ..Switching::default() });
    let listed = Pattern::Listed(Listed { pairs: vec![[0, 9], [5, 2], [3, 3]] });
    let uneven = || HostGroups::new(&[30, 20, 14]).unwrap();
    let members = [hot(0.0), hot(0.3), hot(1.0), local(0.0), local(0.8), local(1.0), listed, Pattern::default()];
    let even = [by_switch, switching(0), switching(1)].into_iter().chain(permutations()).chain(Pattern::defaults());
    let uneven = members.into_iter().map(|member| (member, uneven()));
    uneven.chain(even.map(|member| (member, eight_by_eight()))).collect()
}

/// The share of every destination of a host at the start of a run.
fn chances(plan: &Destinations, src: u32, hosts: u32) -> Vec<f64> {
    let mut chances = vec![0.0; hosts as usize];
    plan.shares(HostId::new(src), Time::ZERO, &mut |range, share| {
        assert!(range.hosts > 0 && share > 0.0, "{range:?} gets {share}");
        let all = range.first..range.first + range.hosts;
        all.for_each(|dst| chances[dst as usize] += share);
    });
    chances
}

fn permutations() -> Vec<Pattern> {
    let extents = || vec![4, 2, 8];
    vec![
        Pattern::RandomPermutation(RandomPermutation { fixed_points: true }),
        Pattern::RandomPermutation(RandomPermutation { fixed_points: false }),
        Pattern::BitReverse(BitReverse {}),
        Pattern::BitComplement(BitComplement {}),
        Pattern::Transpose(Transpose { rows: None }),
        Pattern::Transpose(Transpose { rows: Some(4) }),
        Pattern::Tornado(Tornado { extents: vec![] }),
        Pattern::Tornado(Tornado { extents: extents() }),
        Pattern::Shift(Shift { offset: 1 }),
        Pattern::Shift(Shift { offset: u32::MAX }),
        Pattern::Neighbour(Neighbour { extents: vec![] }),
        Pattern::Neighbour(Neighbour { extents: extents() }),
    ]
}

#[test]
fn nobody_sends_to_itself_and_everybody_to_a_host_that_exists() {
    let groups = eight_by_eight();
    for member in Pattern::defaults().into_iter().chain(permutations()) {
        let plan = plan(&member, &groups);
        for src in 0..64 {
            let sent = draws(&plan, src, 500);
            assert!(sent.iter().flatten().all(|&dst| dst != src && dst < 64), "{member:?} from host {src}");
        }
    }
}

#[test]
fn shares_are_what_draws_tend_to_add_up_to_one_and_leave_out_the_host_itself() {
    for (member, groups) in sharing() {
        let plan = plan(&member, &groups);
        for src in [0, 3, 17, 63] {
            let chances = chances(&plan, src, 64);
            let counts = histogram(&member, &groups, src);
            let sends = if counts.iter().sum::<u32>() == 0 { 0.0 } else { 1.0 };
            let sum: f64 = chances.iter().sum();
            // Rounding of at most 64 terms.
            assert!((sum - sends).abs() < 64.0 * f64::EPSILON, "{member:?} from host {src}: {sum}");
            assert_eq!(chances[src as usize], 0.0, "{member:?} from host {src}");
            if sends > 0.0 {
                check_chances(&counts, |dst| chances[dst as usize], &format!("{member:?} from host {src}"));
            }
        }
    }
}

#[test]
fn a_host_repeats_itself_under_its_seed() {
    let groups = eight_by_eight();
    for member in Pattern::defaults() {
        let (one, other) = (plan(&member, &groups), plan(&member, &groups));
        assert_eq!(draws(&one, 3, 100), draws(&other, 3, 100), "{member:?}");
    }
    let uniform = plan(&Pattern::default(), &groups);
    assert_ne!(draws(&uniform, 3, 100), draws(&uniform, 4, 100));
}

#[test]
fn the_schema_lists_every_member() {
    let schema = format!("{:?}", schemars::schema_for!(Pattern));
    assert!(Pattern::NAMES.iter().all(|name| schema.contains(&format!("{name:?}"))), "{schema}");
}

#[test]
fn every_member_is_written_and_read_under_its_name() {
    for (member, name) in Pattern::defaults().into_iter().zip(Pattern::NAMES) {
        assert_eq!(member.name(), *name);
        assert_eq!(toml::from_str::<Pattern>(&format!("[{name}]\n")).unwrap(), member);
        let written = toml::to_string(&member).unwrap();
        assert_eq!(toml::from_str::<Pattern>(&written).unwrap(), member, "{written}");
    }
    let text = "[switching]\nat = \"20us\"\nto.hot_spot.share = 0.25\n";
    let to = Box::new(Pattern::HotSpot(HotSpot { share: share(0.25), ..HotSpot::default() }));
    let expected = Switching { at: Duration::from_us(20), to, ..Switching::default() };
    assert_eq!(toml::from_str(text), Ok(Pattern::Switching(expected)));
}

#[test]
fn a_permutation_reaches_every_host_once() {
    for member in permutations() {
        let mut reached = partners(&member, &eight_by_eight());
        reached.sort_unstable();
        assert_eq!(reached, (0..64).collect::<Vec<_>>(), "{member:?}");
    }
}

#[test]
fn permutations_lead_where_their_definitions_say() {
    let check = |pattern: Pattern, groups: &[u32], expected: &[u32]| {
        assert_eq!(partners(&pattern, &HostGroups::new(groups).unwrap()), expected, "{pattern:?}");
    };
    check(Pattern::BitReverse(BitReverse {}), &[8], &[0, 4, 2, 6, 1, 5, 3, 7]);
    check(Pattern::BitComplement(BitComplement {}), &[4], &[3, 2, 1, 0]);
    check(Pattern::BitComplement(BitComplement {}), &[5], &[4, 3, 2, 1, 0]);
    // 2 × 3 row by row becomes 3 × 2: (0, 1) is host 1 and goes to (1, 0), which is host 2.
    check(Pattern::Transpose(Transpose { rows: Some(2) }), &[6], &[0, 2, 4, 1, 3, 5]);
    check(Pattern::Shift(Shift { offset: 9 }), &[4], &[1, 2, 3, 0]);
    // Five groups of two: ⌈5/2⌉ − 1 = 2 groups further.
    check(Pattern::Tornado(Tornado { extents: vec![] }), &[2; 5], &[4, 5, 6, 7, 8, 9, 0, 1, 2, 3]);
    // A row of four points turns by one, a column of two by none.
    check(Pattern::Tornado(Tornado { extents: vec![4, 2] }), &[8], &[1, 2, 3, 0, 5, 6, 7, 4]);
    // (x + 1 mod 2, y + 1 mod 3) at 2 · y + x.
    check(Pattern::Neighbour(Neighbour { extents: vec![2, 3] }), &[6], &[3, 2, 5, 4, 1, 0]);
    check(Pattern::Neighbour(Neighbour { extents: vec![] }), &[1; 3], &[1, 2, 0]);
}

#[test]
fn the_transpose_of_a_square_exchanges_the_halves_of_the_number() {
    let halves = |host: u32| (host & 7) << 3 | host >> 3;
    let expected: Vec<u32> = (0..64).map(halves).collect();
    assert_eq!(partners(&Pattern::Transpose(Transpose::default()), &eight_by_eight()), expected);
}

#[test]
fn a_random_permutation_has_fixed_points_only_on_request_and_then_one_on_average() {
    let groups = HostGroups::one(50).unwrap();
    let fixed_points = |fixed_points, seed| {
        let plan = Pattern::RandomPermutation(RandomPermutation { fixed_points }).plan(&groups, seed).unwrap();
        (0..50).filter(|&src| draws(&plan, src, 1)[0].is_none()).count()
    };
    let total: usize = (0..1_000).map(|seed| fixed_points(true, seed)).sum();
    // Mean and variance of the number of fixed points are 1: four deviations of a sum of 1,000.
    assert!(total.abs_diff(1_000) < 127, "{total}");
    assert!((0..100).all(|seed| fixed_points(false, seed) == 0));
}

#[test]
fn uniform_traffic_goes_to_all_others_alike() {
    let groups = HostGroups::new(&[30, 20]).unwrap();
    for src in [0, 17, 49] {
        let counts = histogram(&Pattern::Uniform(Uniform {}), &groups, src);
        check_chances(&counts, |dst| if dst == src { 0.0 } else { 1.0 / 49.0 }, "uniform");
    }
}

#[test]
fn adversarial_traffic_of_group_g_goes_to_all_of_group_g_plus_k_alike() {
    let groups = HostGroups::new(&[4, 7, 5, 1, 6]).unwrap();
    for offset in [1, 2, 4, 6, u32::MAX - 1] {
        for src in 0..groups.hosts() {
            let to = (u64::from(groups.group_of(HostId::new(src))) + u64::from(offset)) % 5;
            let range = groups.ranges()[to as usize];
            let chance = |dst| {
                let inside = groups.group_of(HostId::new(dst)) == to as u32;
                if inside { 1.0 / f64::from(range.hosts) } else { 0.0 }
            };
            let counts = histogram(&Pattern::Adversarial(Adversarial { offset, hosts_per_switch: None }), &groups, src);
            assert_eq!(counts.iter().sum::<u32>(), DRAWS);
            check_chances(&counts, chance, &format!("offset {offset}, host {src}"));
        }
    }
}

#[test]
fn adversarial_traffic_of_a_switch_may_go_to_the_switch_in_its_place() {
    // Three groups of two switches with three hosts. Switch 1 of group 2 is hosts 15-17, that of group 1 hosts 9-11.
    let pattern = Pattern::Adversarial(Adversarial { offset: 2, hosts_per_switch: Some(3) });
    let counts = histogram(&pattern, &HostGroups::new(&[6; 3]).unwrap(), 16);
    check_chances(&counts, |dst| if (9..12).contains(&dst) { 1.0 / 3.0 } else { 0.0 }, "switch by switch");
}

#[test]
fn hot_spots_get_their_share_and_what_they_get_of_the_rest() {
    let groups = HostGroups::one(20).unwrap();
    let pattern = |share| Pattern::HotSpot(HotSpot { hosts: vec![3, 11], share });
    let cold = 0.7 / 19.0;
    let chance = |dst| if dst == 5 { 0.0 } else { cold + if [3, 11].contains(&dst) { 0.15 } else { 0.0 } };
    check_chances(&histogram(&pattern(share(0.3)), &groups, 5), chance, "from a cold host");
    // Host 3 turns its own half of the share to anybody else.
    let chance = |dst| match dst {
        3 => 0.0,
        11 => 0.15 + 0.85 / 19.0,
        _ => 0.85 / 19.0,
    };
    check_chances(&histogram(&pattern(share(0.3)), &groups, 3), chance, "from a hot host");
    let only = |dst| if [3, 11].contains(&dst) { 0.5 } else { 0.0 };
    check_chances(&histogram(&pattern(Share::ALL), &groups, 5), only, "all to hot hosts");
}

#[test]
fn local_shares_stay_in_the_group_and_in_the_leaf_and_the_rest_leaves_them() {
    let groups = HostGroups::new(&[4, 6, 10]).unwrap();
    // Shares of group and leaf, and hosts of a leaf; without leaves each host is one.
    for (number, leaf_share, leaf) in [(0.0, 0.0, 1), (0.8, 0.0, 1), (1.0, 0.0, 1), (0.8, 0.5, 2), (0.4, 0.0, 2)] {
        let (leaf_share_key, leaf_hosts) = if leaf > 1 { (Some(share(leaf_share)), Some(leaf)) } else { (None, None) };
        let pattern = Pattern::GroupLocal(GroupLocal { share: share(number), leaf_share: leaf_share_key, leaf_hosts });
        for (src, own, first, size) in [(0, 0, 0, 4), (7, 1, 4, 6), (19, 2, 10, 10)] {
            let chance = |dst| match groups.group_of(HostId::new(dst)) {
                _ if dst == src => 0.0,
                group if group != own => (1.0 - number) / f64::from(20 - size),
                _ if (dst - first) / leaf == (src - first) / leaf => leaf_share / f64::from(leaf - 1),
                _ => (number - leaf_share) / f64::from(size - leaf),
            };
            let what = format!("shares {number} and {leaf_share} from host {src}");
            check_chances(&histogram(&pattern, &groups, src), chance, &what);
        }
    }
}

#[test]
fn a_matrix_gives_each_source_shares_of_its_row_in_whatever_form_it_is() {
    let groups = HostGroups::one(4).unwrap();
    let rows =
        vec![vec![0.0, 1.0, 3.0, 0.0], vec![5.0, 0.0, 0.0, 0.0], vec![1e9, 1e9, 0.0, 2e9], vec![0.1, 0.0, 0.3, 0.0]];
    let dense = rows.iter().map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(","));
    let dense = dense.collect::<Vec<_>>().join("\n");
    let pairs = "Source;destination;bytes\n0;1;1\n0;2;3\n\n1;0;5\n2;0;1e9\n2;1;1e9\n2;3;2e9\n# last\n3;0;.1\n3;2;.3";
    let of_text = |text: &str| Matrix { text: text.to_owned(), ..Matrix::default() };
    let forms = [Matrix { rows: rows.clone(), ..Matrix::default() }, of_text(&dense), of_text(pairs)];
    for matrix in forms.map(Pattern::Matrix) {
        for (src, row) in (0..).zip(&rows) {
            let sum: f64 = row.iter().sum();
            check_chances(&histogram(&matrix, &groups, src), |dst| row[dst as usize] / sum, &format!("{matrix:?}"));
        }
    }
}

#[test]
fn a_source_whose_row_is_zero_sends_nothing() {
    let rows = vec![vec![0.0, 1.0, 3.0], vec![1.0, 0.0, 1.0], vec![0.0; 3]];
    let plan = plan(&Pattern::Matrix(Matrix { rows, ..Matrix::default() }), &HostGroups::one(3).unwrap());
    let mut random = host_destinations(1, HostId::new(2));
    assert_eq!(plan.destination(HostId::new(2), Time::ZERO, &mut random), None);
    plan.shares(HostId::new(2), Time::ZERO, &mut |_, _| panic!("it sends nothing"));
}

#[test]
fn a_pattern_switches_at_its_instant_and_not_before() {
    let shift = |offset| Box::new(Pattern::Shift(Shift { offset }));
    let last = Pattern::Switching(Switching { from: shift(2), to: shift(3), at: Duration::from_ns(9) });
    let pattern = Pattern::Switching(Switching { from: shift(1), to: Box::new(last), at: Duration::from_ns(5) });
    let plan = plan(&pattern, &eight_by_eight());
    let at = |ps| {
        let mut random = host_destinations(1, HostId::new(0));
        plan.destination(HostId::new(0), Time::from_ps(ps), &mut random).map(HostId::get)
    };
    assert_eq!([0, 4_999, 5_000, 8_999, 9_000].map(at), [Some(1), Some(1), Some(2), Some(2), Some(3)]);
    let mut listed = Vec::new();
    let shares =
        |ps| plan.shares(HostId::new(0), Time::from_ps(ps), &mut |range, share| listed.push((range.first, share)));
    [4_999, 5_000, 9_000].into_iter().for_each(shares);
    assert_eq!(listed, [(1, 1.0), (2, 1.0), (3, 1.0)]);
}

#[test]
fn patterns_take_turns_of_a_period_and_begin_again() {
    let patterns = [1, 2, 3].map(|offset| Pattern::Shift(Shift { offset })).into();
    let turns = Pattern::Alternating(Alternating { patterns, period: Duration::from_ns(5) });
    let alone = plan(&turns, &eight_by_eight());
    let to = |plan: &Destinations, ps| {
        let mut random = host_destinations(1, HostId::new(0));
        plan.destination(HostId::new(0), Time::from_ps(ps), &mut random).map(HostId::get)
    };
    let instants = [0, 4_999, 5_000, 10_000, 14_999, 15_000, 20_000];
    assert_eq!(instants.map(|ps| to(&alone, ps)), [1, 1, 2, 3, 3, 1, 2].map(Some));
    assert_eq!(instants.map(|ps| alone.phase(Time::from_ps(ps))), [0, 0, 1, 2, 2, 0, 1]);
    // After a switch the turns are where they would be without it.
    let from = Box::new(Pattern::Shift(Shift { offset: 9 }));
    let pattern = Switching { from, to: Box::new(turns), at: Duration::from_ns(12) };
    let switched = plan(&Pattern::Switching(pattern), &eight_by_eight());
    for (ps, offset, phase) in [(11_999, 9, 0), (12_000, 3, 3), (15_000, 1, 1)] {
        let phases = switched.phases();
        assert_eq!((to(&switched, ps), switched.phase(Time::from_ps(ps))), (Some(offset), phase));
        assert_eq!((phases.len(), to(phases[phase], 0)), (4, Some(offset)));
    }
}
