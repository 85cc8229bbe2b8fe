//! Packets and bytes that links carry of a message.

use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::Time;

use super::{Active, Fluid, Level, PathSet, Tables};

impl Fluid {
    /// Calls `count` with what each link carried until now of a message of the connection at a place: packets and bytes
    /// on the wire. A link that is used in part counts whole packets, and keeps the rest for later ones.
    pub fn carried(
        &mut self,
        now: Time,
        place: u32,
        tables: Tables<'_>,
        packets: u64,
        wire: u64,
        count: &mut impl FnMut(PortIndex, u64, u64),
    ) {
        let Active { links, since, .. } = self.active[place as usize];
        for (link, part) in links.at_hosts() {
            match part < 1.0 {
                true => self.carried_in_part(link, part, (packets, wire), count),
                false => count(link, packets, wire),
            }
        }
        if let PathSet::One(branch) = links.paths {
            return branch.links(tables).for_each(|(link, _)| count(link, packets, wire));
        }
        // Rates of branches change while a message lasts.
        let (branches, _) = links.all_branches(tables);
        let (own, span) = (place as usize * self.branches, now.since(since).as_ps().max(1) as f64);
        let sent = |fluid: &Fluid, number: usize| {
            let Level { rate, sent, .. } = fluid.levels[own + number];
            sent + rate * span
        };
        let weighted =
            branches.iter().enumerate().map(|(number, branch)| f64::from(branch.weight) * sent(self, number));
        let total: f64 = weighted.sum();
        for (number, branch) in branches.iter().enumerate() {
            let part = sent(self, number) / total;
            for (link, share) in branch.links(tables) {
                self.carried_in_part(link, share * part, (packets, wire), count);
            }
        }
    }

    fn carried_in_part(
        &mut self,
        link: PortIndex,
        part: f64,
        (packets, wire): (u64, u64),
        count: &mut impl FnMut(PortIndex, u64, u64),
    ) {
        let rest = &mut self.uncounted[link.get() as usize];
        *rest += packets as f64 * part;
        let counted = rest.floor().max(0.0);
        *rest -= counted;
        count(link, counted as u64, (counted * wire as f64 / packets as f64).round() as u64);
    }
}
