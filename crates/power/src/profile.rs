//! Power profiles: what the parts of a fabric draw.

use std::{collections::BTreeMap, fmt};

use etherweave_primitives::{BitRate, Bytes, Duration, Energy, InputError, Power, TextPlace};

use crate::{Cited, PortKind, TableKind, cited::Ledger, shipped};

/// Power that parts draw, read from TOML.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct PowerProfile {
    /// Name of the profile; not part of the text.
    #[serde(skip)]
    pub name: String,
    /// Description in a sentence.
    pub about: String,
    /// Any switch.
    pub switch: SwitchPower,
    /// Electronics of a port in use, by kind.
    pub port: BTreeMap<PortKind, Cited<Power>>,
    /// An end of a cable, at switches and hosts, by kind. Absent: contained in `port`.
    #[serde(default)]
    pub module: BTreeMap<PortKind, Cited<Power>>,
    /// A host's NIC by the rate of its link. Absent: NICs are not counted.
    #[serde(default)]
    pub nic: BTreeMap<BitRate, Cited<Power>>,
    /// Buffers. Absent: contained in `switch` and `port`.
    pub packet: Option<PacketEnergy>,
    /// Tables by kind. Absent: contained in `switch`.
    #[serde(default)]
    pub table: BTreeMap<TableKind, TableEnergy>,
    /// Power that ports save between packets. Absent: none.
    pub low_power_idle: Option<LowPowerIdle>,
    /// Power that links without traffic save. Absent: none.
    pub link_sleep: Option<LinkSleep>,
    /// Rates of links that follow their load. Absent: none.
    pub rate_adaptation: Option<RateAdaptation>,
}

/// Any switch.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchPower {
    /// Power that it draws before a port is up.
    pub fixed: Cited<Power>,
    /// How many ports it has, where `fixed` holds for one size only.
    pub ports: Option<u32>,
}

/// Packets in buffers, and the packets of the worst case.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct PacketEnergy {
    /// The packet that `read` and `written` are for, and that fills every link in the worst case [B], 1..=16,384.
    pub size: Bytes,
    /// Bytes that each packet takes besides on the wire in the worst case: preamble and gap [B], 0..=16,384.
    pub gap: Bytes,
    /// Reading it from the buffer.
    pub read: Cited<Energy>,
    /// Writing it to the buffer.
    pub written: Cited<Energy>,
}

/// A search of a table compares all bits of all entries.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct TableEnergy {
    /// Bits of an entry.
    pub bits: Cited<u32>,
    /// Energy per bit of an entry and search.
    pub energy_per_bit: Cited<Energy>,
}

/// Ports that sleep between packets: IEEE 802.3 clause 78.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct LowPowerIdle {
    /// Power of a sleeping direction as a share of an active one, 0..=1.
    pub share: Cited<f64>,
    /// Time to fall asleep, at full power: T_s.
    pub sleep: Cited<Duration>,
    /// Time to wake, at full power: T_w.
    pub wake: Cited<Duration>,
}

/// Links that are taken down while nothing uses them.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSleep {
    /// Power of a port and its module while their link is down, as a share, 0..=1.
    pub share: Cited<f64>,
    /// Time until the link carries packets again.
    pub wake: Cited<Duration>,
}

/// Links whose rate follows their load: Abts et al., "Energy proportional datacenter networks", ISCA 2010, section 3.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct RateAdaptation {
    /// Load up to which a rate suffices, as a share of that rate, above 0 and up to 1.
    pub load_max: Cited<f64>,
    /// Time in which a link that changes its rate carries nothing.
    pub change: Cited<Duration>,
    /// Rates below the full one, the lowest first.
    pub rates: Vec<ReducedRate>,
}

/// A rate below the full one.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReducedRate {
    /// The rate, as a share of the full one, above 0 and below 1.
    pub rate: f64,
    /// Power of a direction at it, as a share, 0..=1.
    pub share: Cited<f64>,
}

impl RateAdaptation {
    /// Power of a direction, as a share of full power, at the lowest rate that suffices.
    pub(crate) fn share(&self, suffices: impl Fn(f64) -> bool) -> f64 {
        let lowest = self.rates.iter().find(|reduced| suffices(reduced.rate));
        lowest.map_or(1.0, |reduced| reduced.share.value)
    }

    fn check(&self) -> Result<(), InputError> {
        let load = self.load_max.value;
        InputError::unless(load > 0.0 && load <= 1.0, "rate_adaptation.load_max", load, "above 0, up to 1")?;
        let mut lower = 0.0;
        for (number, reduced) in self.rates.iter().enumerate() {
            let key = |field| format!("rate_adaptation.rates.{number}.{field}");
            let is_higher = reduced.rate > lower && reduced.rate < 1.0;
            let expected = format!("more than {lower}, and less than 1: shares of the full rate, the lowest first");
            InputError::unless(is_higher, key("rate"), reduced.rate, expected)?;
            let share = reduced.share.value;
            InputError::unless((0.0..=1.0).contains(&share), key("share"), share, "0 to 1")?;
            lower = reduced.rate;
        }
        Ok(())
    }
}

impl TableEnergy {
    /// Returns the power that so many searches per second of so many entries draw.
    pub(crate) fn searched(&self, entries: u64, searches_per_second: f64) -> Power {
        let bits = f64::from(self.bits.value) * entries as f64;
        self.energy_per_bit.value.at_rate(bits * searches_per_second)
    }
}

impl PowerProfile {
    /// Reads a profile.
    ///
    /// # Errors
    /// When the text is no profile, with line and column; when a share or size is out of range.
    pub fn parse(name: &str, text: &str) -> Result<PowerProfile, InputError> {
        let mut profile: PowerProfile = read(text)?;
        profile.name = name.to_owned();
        profile.check()?;
        Ok(profile)
    }

    /// A profile that comes with Etherweave; [`shipped::PROFILES`] lists them.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn shipped(name: &str) -> Result<PowerProfile, InputError> {
        PowerProfile::parse(name, shipped::PROFILES.entry("", "power profile", name)?.1)
    }

    pub(crate) fn missing(&self, key: &str, known: Vec<String>) -> InputError {
        missing(format!("power profile {}", self.name), key, &known)
    }

    fn check(&self) -> Result<(), InputError> {
        if let Some(PacketEnergy { size, gap, .. }) = self.packet {
            in_frame("packet.size", size, 1)?;
            in_frame("packet.gap", gap, 0)?;
        }
        let idle = self.low_power_idle.as_ref().map(|idle| ("low_power_idle.share", idle.share.value));
        let sleep = self.link_sleep.as_ref().map(|sleep| ("link_sleep.share", sleep.share.value));
        for (key, share) in idle.into_iter().chain(sleep) {
            if !(0.0..=1.0).contains(&share) {
                return Err(InputError::new(key, share, "0 to 1"));
            }
        }
        self.rate_adaptation.as_ref().map_or(Ok(()), RateAdaptation::check)
    }

    /// The figure of a table by key, noted as used.
    pub(crate) fn look_up<K: Ord + fmt::Display>(
        &self,
        table: &str,
        figures: &BTreeMap<K, Cited<Power>>,
        key: &K,
        ledger: &mut Ledger,
    ) -> Result<Power, InputError> {
        let name = |key: &K| format!("{table}.\"{key}\"");
        let missing = || self.missing(&name(key), figures.keys().map(name).collect());
        figures.get(key).map(|cited| ledger.take(&name(key), cited)).ok_or_else(missing)
    }
}

pub(crate) fn read<T: for<'de> serde::Deserialize<'de>>(text: &str) -> Result<T, InputError> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().trim().replace('\n', "; ");
        let expected =
            if message.contains("expected") { "" } else { "the keys and forms of the profiles that are included" };
        let place = TextPlace::of_byte(text, error.span().map_or(0, |span| span.start));
        InputError { place: Some(place), ..InputError::new("", message, expected) }
    })
}

/// A profile or price book lacks `key`, which the fabric needs; `known` are the keys of the same table.
pub(crate) fn missing(document: String, key: &str, known: &[String]) -> InputError {
    let expected =
        if known.is_empty() { "it in the profile".to_owned() } else { format!("one of {}", known.join(", ")) };
    InputError::new("", format!("{document} has no {key}"), expected)
}

/// No Ethernet frame is longer than 16 KiB, jumbo frames included.
fn in_frame(key: &str, size: Bytes, least: u64) -> Result<(), InputError> {
    let is_fitting = (least..=16_384).contains(&size.get());
    if is_fitting { Ok(()) } else { Err(InputError::new(key, size, format!("{least}B to 16384B"))) }
}
