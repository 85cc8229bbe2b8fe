//! What a fabric amounts to.

mod bisection;

pub use bisection::{Basis, Bisection};
