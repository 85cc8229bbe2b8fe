//! Broadcast of a panel from the column that has factorised it to all others of a row.

use etherweave_primitives::{Bytes, Rank};

use super::Seat;
use crate::Op;
use crate::collective::{Algorithm, Collective, Communicator, Rule};

/// The broadcast of panels (`BCAST` of `HPL.dat`, 0 to 5). The column behind the root factorises the next panel: where
/// it says so, that one is served first and passes nothing on.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PanelBroadcast {
    /// Messages from column to column (`1ring`).
    #[default]
    Ring,
    /// The same from the second column on, the next one first (`1ringM`).
    RingModified,
    /// Half of the columns each (`2ring`).
    TwoRings,
    /// The same, the next one first (`2ringM`).
    TwoRingsModified,
    /// A part to each column, then around a ring (`blong`).
    Long,
    /// The same, the next one first (`blongM`).
    LongModified,
}

/// A place in a row, counted from the root of a broadcast.
type Distance = u32;

impl PanelBroadcast {
    /// All, in the order of `HPL.dat`.
    pub const ALL: &'static [PanelBroadcast] = &[
        PanelBroadcast::Ring,
        PanelBroadcast::RingModified,
        PanelBroadcast::TwoRings,
        PanelBroadcast::TwoRingsModified,
        PanelBroadcast::Long,
        PanelBroadcast::LongModified,
    ];

    /// Blocks of columns that a rank at a distance updates before the panel is there: one for each rank of a ring; a
    /// roll has all of them in it at once.
    pub(super) fn blocks_before_panel(self, distance: u32) -> u32 {
        match self {
            PanelBroadcast::Long | PanelBroadcast::LongModified => 1,
            PanelBroadcast::Ring
            | PanelBroadcast::RingModified
            | PanelBroadcast::TwoRings
            | PanelBroadcast::TwoRingsModified => distance,
        }
    }

    /// Returns the operations of a rank when the column `root` broadcasts `bytes` along rows.
    pub(super) fn ops(self, seat: &Seat, root: u32, bytes: u64) -> Vec<Op> {
        let columns = seat.of_row.len() as u32;
        let distance = (seat.column + columns - root) % columns;
        let row = RowFromRoot { seat, root, bytes };
        match self {
            PanelBroadcast::Ring => row.relay(distance, std::slice::from_ref(&(1..columns))),
            PanelBroadcast::RingModified => row.relay(distance, &[1..columns.min(2), 2..columns]),
            PanelBroadcast::TwoRings => {
                let middle = columns.div_ceil(2);
                row.relay(distance, &[1..middle, middle.max(1)..columns])
            }
            PanelBroadcast::TwoRingsModified => {
                let middle = 2 + columns.saturating_sub(2).div_ceil(2);
                row.relay(distance, &[1..columns.min(2), 2..middle.min(columns), middle..columns])
            }
            PanelBroadcast::Long => row.scatter_roll(distance, 0..columns),
            PanelBroadcast::LongModified => {
                let mut ops = row.relay(distance, std::slice::from_ref(&(1..columns.min(2))));
                ops.extend(row.scatter_roll(distance, 1..columns));
                ops
            }
        }
    }
}

/// A row of the grid as its broadcast sees it.
struct RowFromRoot<'a> {
    seat: &'a Seat,
    root: u32,
    bytes: u64,
}

impl RowFromRoot<'_> {
    const TAG: u32 = 1;

    fn rank(&self, distance: Distance) -> Rank {
        self.seat.of_row[((self.root + distance) as usize) % self.seat.of_row.len()]
    }

    /// The root sends to the first of each chain, in order; each of a chain to the next once it has all.
    fn relay(&self, distance: Distance, chains: &[std::ops::Range<Distance>]) -> Vec<Op> {
        if distance == 0 {
            let firsts = chains.iter().filter(|chain| !chain.is_empty()).map(|chain| chain.start);
            return firsts.flat_map(|to| self.send(to)).collect();
        }
        let Some(chain) = chains.iter().find(|chain| chain.contains(&distance)) else { return Vec::new() };
        let from = if distance == chain.start { 0 } else { distance - 1 };
        let receive = Op::Irecv { peer: self.rank(from), tag: RowFromRoot::TAG, bytes: self.bytes };
        let mut ops = vec![receive, Op::WaitAll];
        if chain.contains(&(distance + 1)) {
            ops.extend(self.send(distance + 1));
        }
        ops
    }

    fn send(&self, to: Distance) -> [Op; 2] {
        [Op::Isend { peer: self.rank(to), tag: RowFromRoot::TAG, bytes: self.bytes }, Op::WaitAll]
    }

    /// Parts to the root and all others, less the first `0..left_out.start` behind the root, and around the ring of
    /// them.
    fn scatter_roll(&self, distance: Distance, served: std::ops::Range<Distance>) -> Vec<Op> {
        let members: Vec<Distance> = (0..served.end).filter(|&member| member == 0 || member > served.start).collect();
        let members = if served.start == 0 { (0..served.end).collect() } else { members };
        let Some(own) = members.iter().position(|&member| member == distance) else { return Vec::new() };
        let group = Communicator::new(members.iter().map(|&member| self.rank(member)).collect(), Seat::ROW);
        let rule = Rule { algorithm: Some(Algorithm::ScatterRing), ..Rule::default() };
        Collective::Bcast { root: 0, bytes: Bytes::new(self.bytes) }.lower(&rule, &group, own as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hpl;

    /// Where ranks of a row of seven, counted from the root in column 2, get the panel from and pass it on to.
    fn relays(broadcast: PanelBroadcast) -> Vec<(Option<u32>, Vec<u32>)> {
        let hpl = Hpl { rows: 1, columns: 7, ..Hpl::default() };
        let place = |peer: Rank| (peer.get() + 7 - 2) % 7;
        let of_rank = |distance: u32| {
            let ops = broadcast.ops(&Seat::new(&hpl, (2 + distance) % 7), 2, 100);
            let from =
                ops.iter().find_map(|op| if let Op::Irecv { peer, .. } = op { Some(place(*peer)) } else { None });
            let to =
                ops.iter().filter_map(|op| if let Op::Isend { peer, .. } = op { Some(place(*peer)) } else { None });
            (from, to.collect())
        };
        (0..7).map(of_rank).collect()
    }

    #[test]
    fn rings_pass_a_panel_on_from_column_to_column() {
        let by = |from: [u32; 6]| from.map(Some);
        let from = |broadcast| relays(broadcast)[1..].iter().map(|relay| relay.0).collect::<Vec<_>>();
        assert_eq!(from(PanelBroadcast::Ring), by([0, 1, 2, 3, 4, 5]));
        assert_eq!(from(PanelBroadcast::RingModified), by([0, 0, 2, 3, 4, 5]));
        assert_eq!(from(PanelBroadcast::TwoRings), by([0, 1, 2, 0, 4, 5]));
        assert_eq!(from(PanelBroadcast::TwoRingsModified), by([0, 0, 2, 3, 0, 5]));
        assert_eq!(relays(PanelBroadcast::TwoRingsModified)[0].1, [1, 2, 5], "the next column first");
        assert_eq!(relays(PanelBroadcast::LongModified)[1], (Some(0), vec![]), "it passes nothing on");
    }
}
