//! Whole-connection tests.
