//! Units, typed ids, random streams and the values for a user's mistake and for a panic: what every other crate uses.
//!
//! - [`Time`] is an instant and [`Duration`] a span, both in integer picoseconds;
//!   [`Bytes`], [`BitRate`], [`Length`], [`Power`], [`Energy`] and [`Money`] are what their names say.
//! - In configuration every quantity is a string with its unit (`"200ns"`); a bare
//!   number is an error that names the units that would do.
//! - [`Stream`] is a random stream: one per purpose and entity, so that one more draw
//!   in one place does not change the draws elsewhere. [`Stream::exponential`], [`Geometric`] and [`Pareto`] draw from
//!   it in integers, the same on every platform.
//! - [`InputError`] is what a user got wrong: the key, what was found there and what was expected. [`Fault`] is what we
//!   got wrong, a panic: [`caught`] keeps it from taking along what there is already.
//!
//! ```
//! use etherweave_primitives::{BitRate, Bytes, Duration};
//! let rate: BitRate = "100Gb/s".parse().unwrap();
//! assert_eq!(rate.serialization_time(Bytes::new(4096)), Duration::from_ps(327_680));
//! ```

mod brought;
mod data;
mod distribution;
mod fault;
mod file_name;
mod fixed;
mod id;
mod input_error;
mod money;
mod nearest;
mod params;
mod power;
mod random;
mod shipped;
mod text_form;
mod time;
mod unit;

pub use brought::Brought;
pub use data::{BitRate, ByteTime, Bytes, Length};
pub use distribution::{Geometric, Pareto};
pub use fault::{Fault, caught, record_panics, take_fault};
pub use file_name::check_file_name;
pub use id::{ChannelId, HostId, Port, Priority, Rank, SwitchId};
pub use input_error::{InputError, InputErrors, TextPlace};
pub use money::{Currency, Money};
pub use nearest::{nearest_of, no_such};
pub use power::{Energy, Power};
pub use random::{Purpose, Stream, mix};
pub use shipped::Shipped;
pub use time::{Duration, Time};
