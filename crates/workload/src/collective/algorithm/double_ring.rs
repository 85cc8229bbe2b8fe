//! A barrier: a token passes twice around the ring, and nobody leaves before it came the second time.

use super::Form;
use crate::collective::{Combining, Kind, Member};

pub(super) const FORMS: &[Form] = &[Form::new(Kind::Barrier, barrier)];

fn barrier(member: &mut Member<'_>) {
    let (to, from, nothing) = (member.up(1), member.down(1), member.whole());
    for _ in 0..2 {
        if member.is_root() {
            member.send_now(to, nothing);
            member.receive_now(from, nothing, Combining::Replace);
        } else {
            member.receive_now(from, nothing, Combining::Replace);
            member.send_now(to, nothing);
        }
    }
}
