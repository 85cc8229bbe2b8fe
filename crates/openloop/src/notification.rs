//! Congestion notification: congestion points sample the queues of links between switches, and switches that a
//! notification passes deactivate the rules by which its packet's destination is reached over that port.
//!
//! ```text
//!   source ◄── switch ◄──────── switch ──► congested link ──► … ──► destination
//!              snoops: rules    samples a packet, by how long its queue is
//!              for it by this   and by how much it has grown
//!              port, inactive
//! ```
//!
//! - Sampling is that of a congestion point, IEEE 802.1Q-2022, 30.2.1 (802.1Qau).
//! - Snooping is that of C. Minkenberg, A. Scicchitano, M. Gusat, "Adaptive routing for Convergence Enhanced
//!   Ethernet", HPSR 2009.
//!
//! Left out: bandwidth and queues of notifications, as of credits and pauses; reaction points, as hosts of open loops
//! send what they are offered; congestion points of ports to hosts, which no rule avoids.

use etherweave_primitives::{HostId, InputError};
use etherweave_routing::tables::{Notification, Trigger};
use etherweave_workload::HostGroups;

use crate::params::{SwitchParams, whole};

pub(crate) struct NotificationPlan {
    pub params: Notification,
    /// Time for which a rule is inactive [ticks].
    pub hold: u32,
    /// Length of every packet [B].
    pub packet: u32,
    /// Destinations that share rules.
    groups: HostGroups,
}

/// Congestion points and snooped notifications of a shard; all empty where no rule asks.
#[derive(Default)]
pub(crate) struct Notifications {
    /// Congestion points by output channel.
    pub points: Vec<CongestionPoint>,
    /// Time until which the rules of a port for a group of destinations are inactive [ticks], by port and group.
    pub until: Vec<u32>,
}

#[derive(Clone, Copy)]
pub(crate) struct CongestionPoint {
    /// Queue at the last sample [B].
    before: u32,
    /// Bytes until the next sample.
    left: i64,
}

impl NotificationPlan {
    /// The plan for the trigger of a routing, if that asks for notifications.
    ///
    /// # Errors
    /// Names the key of a parameter that is out of range.
    pub fn of(
        trigger: Option<Trigger>,
        switch: &SwitchParams,
        groups: &HostGroups,
    ) -> Result<Option<NotificationPlan>, InputError> {
        let Some(Trigger::Notification(params)) = trigger else { return Ok(None) };
        let within = |error: InputError| error.within("tables.conditional.trigger.notification");
        let (queue, packet) = (u64::from(switch.output_queue) * switch.packet.get(), switch.packet.get());
        let expected = format!("1 B to less than switch.output_queue, {queue} B: no queue is longer");
        let is_reached = (1..queue).contains(&params.set_point.get());
        InputError::unless(is_reached, "set_point", params.set_point, expected).map_err(within)?;
        let is_rare = (packet..=1 << 30).contains(&params.sample_base.get());
        let expected = format!("a packet, {packet} B, to 1 GiB");
        InputError::unless(is_rare, "sample_base", params.sample_base, expected).map_err(within)?;
        InputError::unless(params.weight <= 1 << 10, "weight", params.weight, "0 to 1024").map_err(within)?;
        let hold = whole("hold", params.hold).map_err(within)?;
        let is_short = (1..=HOLD_MAX).contains(&hold);
        InputError::unless(is_short, "hold", params.hold, "1ns to 1s").map_err(within)?;
        let (hold, packet, groups) = (hold as u32, packet as u32, groups.clone());
        Ok(Some(NotificationPlan { params, hold, packet, groups }))
    }

    /// Place of a port's rules for a host, among those of all ports and groups.
    pub fn place(&self, port: usize, host: u32) -> usize {
        port * self.groups.count() as usize + self.groups.group_of(HostId::new(host)) as usize
    }
}

/// The longest time for which a rule is inactive after a notification [ticks].
const HOLD_MAX: u64 = 1_000_000_000;

impl Notifications {
    /// Makes those of so many ports with their channels.
    pub fn new(plan: Option<&NotificationPlan>, ports: usize, channels: usize) -> Notifications {
        plan.map_or_else(Notifications::default, |plan| {
            let point = CongestionPoint { before: 0, left: plan.params.sample_base.get() as i64 };
            let until = vec![0; ports * plan.groups.count() as usize];
            Notifications { points: vec![point; channels], until }
        })
    }

    /// Whether the rules of a port for a host are inactive.
    pub fn are_held(&self, plan: &NotificationPlan, port: usize, host: u32, now: u32) -> bool {
        self.until[plan.place(port, host)] > now
    }
}

impl CongestionPoint {
    /// Counts a packet that makes a queue so long [B]. Returns whether a notification is sent about it. `random` moves
    /// the next sample by up to 15 %.
    pub fn count(&mut self, params: &Notification, packet: u32, queue: u32, random: u64) -> bool {
        self.left -= i64::from(packet);
        if self.left > 0 {
            return false;
        }
        let feedback = params.feedback(queue, std::mem::replace(&mut self.before, queue));
        let interval = params.sample_base.get() / (1 + feedback.unwrap_or(0) / 8);
        self.left += (interval * (850 + random % 301) / 1_000) as i64;
        feedback.is_some()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use etherweave_primitives::{Bytes, Duration, mix};

    use super::*;

    pub(crate) fn notification(set_point: u64, weight: u32, sample_base: u64, hold: u64) -> Notification {
        let [set_point, sample_base] = [set_point, sample_base].map(Bytes::new);
        Notification { hold: Duration::from_ns(hold), set_point, weight, sample_base }
    }

    /// Queue of 3,000 B at the first sample, which comes with the sixth packet: 1 of 6 of those that follow.
    #[test]
    fn a_congestion_point_samples_more_often_the_more_its_queue_exceeds_the_set_point() {
        let rare = notification(26_000, 2, 150_000, 1);
        let samples = |params: &Notification, queue: u32| {
            let mut point = CongestionPoint { before: queue, left: params.sample_base.get() as i64 };
            (0..300_000_u64).filter(|&packet| point.count(params, 1_000, queue, mix(packet))).count()
        };
        assert_eq!(samples(&rare, 26_000), 0, "at the set point");
        // Excess 6,000 of 130,000 B: feedback 2, no division. Excess 34,667: 16, three times as often.
        assert!(samples(&rare, 32_000).abs_diff(2_000) < 20, "{}", samples(&rare, 32_000));
        assert!(samples(&rare, 60_667).abs_diff(6_000) < 60, "{}", samples(&rare, 60_667));
        assert!(samples(&rare, 200_000).abs_diff(16_000) < 160, "{}", samples(&rare, 200_000));
    }

    #[test]
    fn parameters_out_of_range_are_refused_with_their_key() {
        let groups = HostGroups::one(4).unwrap();
        let check = |params: Notification, expected: &str| {
            let error = NotificationPlan::of(Some(Trigger::Notification(params)), &SwitchParams::default(), &groups);
            let error = error.err().unwrap().to_string();
            assert_eq!(error, format!("tables.conditional.trigger.notification.{expected}"));
        };
        let unreached = "set_point: 26kB; expected 1 B to less than switch.output_queue, 10000 B: no queue is longer";
        check(notification(26_000, 2, 150_000, 1), unreached);
        check(notification(5_000, 2, 999, 1), "sample_base: 999B; expected a packet, 1000 B, to 1 GiB");
        check(notification(5_000, 1_025, 150_000, 1), "weight: 1025; expected 0 to 1024");
        check(notification(5_000, 2, 150_000, 0), "hold: 0ps; expected 1ns to 1s");
    }
}
