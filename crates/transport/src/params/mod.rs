//! Parameters of RoCE and of its congestion controls; those of TCP stand beside it in [`crate::tcp`].

mod dctcp;
mod hpcc;
mod range;
mod roce;
mod swift;

pub use dctcp::Dctcp;
pub use hpcc::Hpcc;
pub use range::{Checked, RATES, TIMER_MAX, check_timer, require, require_within};
pub(crate) use roce::roce_congestion_controls;
pub use roce::{
    AlphaUpdate, CONGESTION_CONTROLS, CongestionControlKey, Dcqcn, LossDetection, Reliability, RoceParams, RoceVersion,
};
pub use swift::Swift;
