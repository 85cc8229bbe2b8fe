//! Parameters of RoCE and of its congestion controls; those of TCP stand beside it in [`crate::tcp`].

mod range;
mod roce;

pub use range::{Checked, RATES, TIMER_MAX, check_timer, require, require_effect, require_within};
pub use roce::{
    AlphaUpdate, CONGESTION_CONTROLS, CompletionOrder, CongestionControlKey, Dcqcn, LossDetection, Reliability,
    RoceParams, RoceVersion,
};
