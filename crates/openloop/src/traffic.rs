//! Where packets go.

use etherweave_primitives::Stream;

use crate::OpenLoopError;
use crate::params::in_range;

/// Whom each packet of a host is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// UN: any other host, each as likely.
    Uniform,
    /// ADV+k: any host of the block of hosts `k` further, each as likely.
    Adversarial {
        /// Hosts of one block, such as a group: a divisor of all hosts.
        block: u32,
        /// How many blocks further, 1 up to one less than there are.
        ahead: u32,
    },
    /// Always the same host, by source. Who is told to send to itself is silent.
    Fixed(Vec<u32>),
}

impl Pattern {
    /// # Errors
    /// When a destination does not exist.
    pub(crate) fn check(&self, hosts: u32) -> Result<(), OpenLoopError> {
        match self {
            Pattern::Uniform => Ok(()),
            Pattern::Adversarial { block, ahead } => {
                if *block == 0 || !hosts.is_multiple_of(*block) {
                    let expected = format!("a divisor of {hosts} hosts");
                    return Err(OpenLoopError { key: "block", found: block.to_string(), expected });
                }
                in_range("ahead", u64::from(*ahead), 1, u64::from(hosts / block - 1))
            }
            Pattern::Fixed(destinations) => {
                in_range("destinations", destinations.len() as u64, u64::from(hosts), u64::from(hosts))?;
                let check = |&host: &u32| in_range("destination", u64::from(host), 0, u64::from(hosts - 1));
                destinations.iter().try_for_each(check)
            }
        }
    }

    /// Whether a host sends at all.
    pub(crate) fn is_active(&self, source: u32) -> bool {
        match self {
            Pattern::Uniform | Pattern::Adversarial { .. } => true,
            Pattern::Fixed(destinations) => destinations[source as usize] != source,
        }
    }

    /// A destination for a packet of `source`.
    pub(crate) fn draw(&self, source: u32, hosts: u32, stream: &mut Stream) -> u32 {
        match self {
            Pattern::Uniform => {
                let other = stream.below(u64::from(hosts) - 1) as u32;
                other + u32::from(other >= source)
            }
            Pattern::Adversarial { block, ahead } => {
                let target = (source / block + ahead) % (hosts / block);
                target * block + stream.below(u64::from(*block)) as u32
            }
            Pattern::Fixed(destinations) => destinations[source as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_lead_nowhere_are_refused_with_what_would_do() {
        let check = |pattern: Pattern, expected: &str| {
            assert_eq!(pattern.check(12).unwrap_err().to_string(), expected);
        };
        check(Pattern::Adversarial { block: 5, ahead: 1 }, "block is 5; expected a divisor of 12 hosts");
        check(Pattern::Adversarial { block: 4, ahead: 3 }, "ahead is 3; expected 1 to 2");
        check(Pattern::Fixed(vec![0; 11]), "destinations is 11; expected 12 to 12");
        check(Pattern::Fixed(vec![12; 12]), "destination is 12; expected 0 to 11");
    }
}
