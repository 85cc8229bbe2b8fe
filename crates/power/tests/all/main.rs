//! The tests of the crate as one program, which is compiled and linked once.

mod exascale;
mod hostile_texts;
mod prices;
mod profiles;
