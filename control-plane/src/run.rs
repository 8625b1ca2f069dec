//! What a run is: its offer, its turns and the one path of a call.

pub mod arguments;
pub mod call;
mod cancel;
mod digest;
pub mod engine;
pub mod error;
mod inflight;
pub mod mcp;
pub mod messages;
pub mod offer;
pub mod reading;
mod redaction;
pub mod result;
pub mod schema;
mod scripts;
mod snapshot;
pub mod start;
mod sweep;
mod tasks;
pub mod token;
pub mod turn;
pub mod view;
mod wakeups;
pub mod why;
mod words;
