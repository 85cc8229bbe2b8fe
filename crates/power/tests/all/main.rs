//! All tests of the crate in one program: one link instead of 4.

mod exascale;
mod hostile_texts;
mod prices;
mod profiles;
