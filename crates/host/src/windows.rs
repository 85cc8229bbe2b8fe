//! Rendezvous in windows: a receiver clears a part of a message at a time, and copies the pieces that come.
//!
//! ```text
//!   sender ── request to send ──► receiver (matches)
//!   sender ◄── clear to send ─── receiver          a window
//!   sender ── piece, piece, ... ─► receiver         the next window when all of them have come
//!   sender ◄── finished ──────── receiver          behind the last
//! ```

use etherweave_kernel::indices::EndpointIndex;

use super::graph_state::MessageId;

/// Step that follows a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowStep {
    /// Other pieces of the window are under way.
    Wait,
    /// A window of so many bytes is cleared.
    Clear(u64),
    /// All bytes of the message are there, so many.
    Complete(u64),
}

struct OpenMessage {
    of: (EndpointIndex, MessageId),
    bytes: u64,
    cleared: u64,
    received: u64,
}

/// Messages to a rank that come in windows.
#[derive(Default)]
pub struct WindowedMessages {
    open: Vec<OpenMessage>,
}

impl WindowedMessages {
    /// A message has matched; gives the bytes of its first window.
    pub fn begin(&mut self, of: (EndpointIndex, MessageId), bytes: u64, window: u64) -> u64 {
        let cleared = bytes.min(window);
        self.open.push(OpenMessage { of, bytes, cleared, received: 0 });
        cleared
    }

    /// A piece of so many bytes has been copied.
    pub fn take(&mut self, of: (EndpointIndex, MessageId), piece: u64, window: u64) -> WindowStep {
        let place = self.open.iter().position(|message| message.of == of).expect("pieces are of cleared messages");
        let message = &mut self.open[place];
        message.received += piece;
        assert!(message.received <= message.cleared, "a sender sends no more than what is cleared");
        if message.received < message.cleared {
            return WindowStep::Wait;
        }
        if message.received == message.bytes {
            return WindowStep::Complete(self.open.swap_remove(place).bytes);
        }
        let next = window.min(message.bytes - message.cleared);
        message.cleared += next;
        WindowStep::Clear(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 B in windows of 8 B, which come in pieces of 5 B and less: 5 + 3, 5 + 3, 4.
    #[test]
    fn the_next_window_is_cleared_when_all_pieces_of_the_one_before_have_come() {
        let of = (EndpointIndex::new(3), MessageId { tag: 7, number: 1 });
        let mut messages = WindowedMessages::default();
        assert_eq!(messages.begin(of, 20, 8), 8);
        let steps = [5, 3, 3, 5, 4].map(|piece| messages.take(of, piece, 8));
        let [wait, clear] = [WindowStep::Wait, WindowStep::Clear(8)];
        assert_eq!(steps, [wait, clear, wait, WindowStep::Clear(4), WindowStep::Complete(20)]);
        assert!(messages.open.is_empty());
    }
}
