//! The control plane: an HTTP API over PostgreSQL that runs tools for agents.

pub mod ca;
pub mod config;
pub mod http;
pub mod ids;
pub mod key;
pub mod machine;
pub mod memory;
pub mod metrics;
pub mod operator;
pub mod run;
pub mod schedule;
pub mod store;
pub mod telemetry;
pub mod tools;
pub mod vault;
