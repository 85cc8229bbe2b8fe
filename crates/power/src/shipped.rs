//! The profiles and price books that come with Etherweave, by name.

use etherweave_primitives::{Shipped, shipped};

/// Power profiles.
pub const PROFILES: Shipped =
    shipped!("power": "exascale-2015" "ethernet-100g" "ethernet-25g" "ethernet-400g" "ethernet-800g");

/// Price books.
pub const PRICE_BOOKS: Shipped = shipped!("price": "example");
