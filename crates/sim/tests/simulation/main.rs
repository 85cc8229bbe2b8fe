//! Whole simulations against closed forms, invariants and themselves.

mod bbr;
mod bus;
mod closed_forms;
mod command_stall;
mod common;
mod credits;
mod dcqcn;
mod dctcp;
mod degraded;
mod eager;
mod graph;
mod headroom;
mod hpcc;
mod input_queued;
mod losslessness;
mod moderation;
mod one_sided;
mod per_packet;
mod rates;
mod samples;
mod send_buffer;
mod shaped;
mod shared_host;
mod stuck;
mod swift;
mod threads;
