//! So many numbers further.

use super::permuted::Permuted;
use crate::HostGroups;
use etherweave_primitives::{InputError, params};

params! {
    /// Host s to host s + `offset`, modulo their number (`shift`; shift+k).
    pub struct Shift {
        /// Distance to the receiver in hosts: no multiple of their number.
        pub offset: u32 = 1,
    }
}

pub(super) type PatternPlan = Permuted;

impl Shift {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let hosts = groups.hosts();
        if self.offset.is_multiple_of(hosts) {
            let mistake = format!("{} among {hosts} hosts", self.offset);
            return Err(InputError::new("offset", mistake, format!("no multiple of {hosts}, which leads back")));
        }
        let further = |host: u32| (u64::from(host) + u64::from(self.offset)) % u64::from(hosts);
        Ok(Permuted::new(hosts, |host| further(host) as u32))
    }
}
