//! A share to few hosts, the rest to any.

use etherweave_primitives::{HostId, InputError, Stream, Time, params};

use crate::{HostGroups, HostRange, Share};

params! {
    /// A share of the packets to few hosts, all alike, and the rest to any other host (`hot_spot`; Pfister and Norton,
    /// *"Hot Spot" Contention and Combining in Multistage Interconnection Networks*, IEEE Transactions on Computers
    /// 34(10), 1985).
    pub struct HotSpot {
        /// The hosts that are sought, 1 or more, each once. What one of them would send to itself goes to any other
        /// host.
        pub hosts: Vec<u32> = vec![0],
        /// Share of each host's packets that goes to them, beyond what they get of the rest.
        pub share: Share = Share::percent(10),
    }
}

#[derive(Clone, Debug)]
pub(super) struct PatternPlan {
    all: HostRange,
    hot: Box<[u32]>,
    share: Share,
}

impl HotSpot {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let all = groups.hosts();
        let refuse = |mistake: String, expected: String| Err(InputError::new("hosts", mistake, expected));
        let mut hot = self.hosts.clone();
        hot.sort_unstable();
        match hot.last() {
            None => return refuse("none".into(), "one host at least".into()),
            Some(host) if *host >= all => return refuse(format!("host {host}"), format!("a host of {all}, from 0")),
            Some(_) => {}
        }
        if let Some(pair) = hot.windows(2).find(|pair| pair[0] == pair[1]) {
            return refuse(format!("host {} twice", pair[0]), "each host once".into());
        }
        Ok(PatternPlan { all: groups.all(), hot: hot.into(), share: self.share })
    }
}

impl PatternPlan {
    #[inline]
    pub(super) fn destination(&self, src: HostId, _: Time, random: &mut Stream) -> Option<HostId> {
        if random.happens(self.share.parts(), Share::PARTS) {
            let hot = self.hot[random.below(self.hot.len() as u64) as usize];
            if hot != src.get() {
                return Some(HostId::new(hot));
            }
        }
        Some(self.all.any_but(HostRange::of(src), random))
    }

    pub(super) fn shares(&self, src: HostId, _: Time, each: &mut dyn FnMut(HostRange, f64)) {
        let hot_share = f64::from(self.share) / self.hot.len() as f64;
        let mut rest = 1.0 - f64::from(self.share);
        for &hot in &self.hot {
            match hot == src.get() {
                true => rest += hot_share,
                false if hot_share > 0.0 => each(HostRange::of(HostId::new(hot)), hot_share),
                false => {}
            }
        }
        self.all.share_but(HostRange::of(src), rest, each);
    }
}
