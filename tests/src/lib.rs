//! The harness of the end-to-end tests: real daemons over a real PostgreSQL, made for one test and gone after it.
//!
//! A test asks for a [`Stack`]: a database of its own, a control plane over it
//! and, when it needs one, a machine agent with Unix accounts of its own. What a
//! test doesn't change is made once per test binary: the cluster with a migrated
//! template, the certificate authority, the tokens ([`Shared`]).

pub mod api;
pub mod certificates;
pub mod cluster;
pub mod control_plane;
pub mod document;
pub mod event_stream;
pub mod kept_connection;
pub mod machine;
pub mod machine_client;
pub mod mcp;
pub mod numbers;
pub mod processes;
pub mod shared;
pub mod site;
pub mod slots;
pub mod spawn;
pub mod stack;
pub mod statements;
pub mod texts;

pub use api::{Answer, Api, CallResult, Run};
pub use shared::Shared;
pub use stack::{Agent, Stack, StackBuilder};
