//! The machine agent: a root front that speaks mutual TLS, and one runner per agent that starts its helpers.

pub mod answer;
pub mod cgroup;
pub mod config;
pub mod front;
pub mod memory;
pub mod names;
pub mod process;
pub mod route;
pub mod runner;
pub mod spawn;
pub mod sys;
pub mod telemetry;
