//! Hosts on one switch.

use etherweave_primitives::{BitRate, InputError, InputErrors, params};

use crate::check::in_range;
use crate::{AsBuilt, Bisection, Builder, Cable, Family, FamilyFit, LinkClass, Shape, SizeRequest, Topology};

params! {
    /// A star: every host on the one switch, host `i` on port `i`. With breakout cables (`as_built.breakout = 4`) a
    /// switch of 32 ports of 400 Gb/s takes 128 hosts of 100 Gb/s.
    pub struct SingleSwitch {
        /// Hosts, 1..=65,536 (a port number has 16 bits). Default 2.
        pub hosts: u32 = 2,
        /// Rate of every link [bit/s]. Default "100Gb/s".
        pub rate: BitRate = BitRate::from_gbps(100),
        /// Cable between host and switch. Default "3m".
        pub cable: Cable = Cable::from_m(3),
        /// Departures from the regular plan.
        #[serde(skip_serializing_if = "AsBuilt::is_default")]
        pub as_built: AsBuilt = AsBuilt::default(),
    }
}

impl Family for SingleSwitch {
    fn generate(&self) -> Result<Topology, InputErrors> {
        in_range("hosts", self.hosts, 1..=1 << 16)?;
        let mut builder = Builder::new();
        let switch = builder.add_switch("switch0", 0);
        for host in builder.add_hosts(self.hosts) {
            builder.link(host, switch, self.rate, self.cable, LinkClass::Host);
        }
        Ok(builder.build_as(&self.as_built)?)
    }

    fn examples() -> Vec<Self> {
        [1, 2, 9].map(|hosts| SingleSwitch { hosts, ..Self::default() }).to_vec()
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        Shape::Single
    }

    fn hosts_planned(&self) -> u64 {
        self.hosts.into()
    }

    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        request.check(1)?;
        request.check_room(request.radix.into())?;
        let member = |hosts| SingleSwitch { hosts, ..SingleSwitch::default() };
        Ok(FamilyFit { smallest: member(request.hosts), largest: Some(member(request.radix)) })
    }

    /// A switch is not divided: half of the hosts send.
    fn bisection(&self) -> Option<Bisection> {
        let bps = u128::from(self.hosts / 2) * u128::from(self.rate.as_bps());
        Some(Bisection::exact(bps, "half of the hosts"))
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::SwitchId;

    use super::*;

    #[test]
    fn breakout_cables_let_128_hosts_share_32_ports() {
        let as_built = AsBuilt { radix: Some(32), breakout: 4, ..AsBuilt::default() };
        let topology = SingleSwitch { hosts: 128, as_built, ..SingleSwitch::default() }.generate().unwrap();
        assert_eq!((topology.hosts(), topology.ports_used(SwitchId::new(0))), (128, 32));
        let as_built = AsBuilt { radix: Some(32), breakout: 4, ..AsBuilt::default() };
        let error = SingleSwitch { hosts: 129, as_built, ..SingleSwitch::default() }.generate().unwrap_err();
        assert_eq!(error.to_string(), "as_built.radix: 32; expected at least 33, which switch0 uses");
    }
}
