//! PostgreSQL by noun; knows no machine and no HTTP.

pub mod access;
pub mod agents;
pub mod audit;
pub mod bindings;
pub mod calls;
pub mod events;
pub mod guilds;
pub mod issues;
pub mod logins;
pub mod machines;
pub mod memory;
pub mod messages;
pub mod notes;
pub mod organisations;
pub mod page;
pub mod pool;
pub mod records;
pub mod runs;
pub mod schedules;
pub mod scripts;
pub mod sealing;
pub mod secrets;
pub mod time;
pub mod tokens;
pub mod words;
