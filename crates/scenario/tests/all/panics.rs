//! A panic is a fault of Etherweave; what there was before it is kept.

use etherweave_scenario::{Fabric, Processes, Table};

use super::results::numbers;

const POINTS: &str = "[topology.dragonfly]\np = 1\na = 2\nh = 1\n[open_loop]\nloads = [0.1, 0.2, 0.3, 0.4]\n\
    warm_up = \"1us\"\nmeasured = \"2us\"\n";

fn loads(points: &Table) -> Vec<f64> {
    numbers(std::slice::from_ref(points), "points", "load")
}

#[test]
fn a_panic_in_a_curve_leaves_the_points_before_it() {
    let fabric = Fabric::parse(POINTS, "x.toml", &[]).unwrap();
    let curve = |last: usize| {
        let points = fabric.curve(&Processes::ALONE, 1, None, &mut |at| {
            assert!(at.done < last, "the point has a fault");
            true
        });
        points.unwrap()
    };
    let (points, fault) = curve(2);
    assert_eq!((loads(&points), fault.unwrap().message.as_str()), (vec![0.1, 0.2], "the point has a fault"));
    let (points, fault) = curve(usize::MAX);
    assert_eq!((loads(&points), fault), (vec![0.1, 0.2, 0.3, 0.4], None));
}
