//! Drives the agent's own Chrome over its DevTools port, one process for each tool call.

mod address;
mod after;
mod call;
mod click;
mod command_line;
mod downloads;
mod endpoint;
mod eval;
mod event;
mod field;
mod files;
mod frame;
mod keys;
mod memory;
mod navigate;
mod problem;
mod ready;
mod screenshot;
mod scroll;
mod session;
mod settle;
mod snapshot;
mod tab;
mod target;
mod tree;
mod undelayed;
mod watch;
mod wellformed;
mod wire;
mod worlds;

pub use call::answer;
pub use command_line::{CommandLine, Verb};
pub use problem::Problem;
pub use session::Session;
pub use target::Matching;
