//! The end-to-end tests: real programs over real mutual TLS, real PostgreSQL and real Chromium.

mod agents_isolation;
mod browser_calls;
mod call_budget;
mod call_ids;
mod call_results;
mod certificates;
mod checks;
mod command_line;
mod configuration;
mod deaths;
mod development_stack;
mod document;
mod helper_world;
mod http_refusals;
mod memory_notes;
mod messages;
mod note_refusals;
mod notes;
mod offers;
mod reports;
mod repository;
mod run_start;
mod script_runs;
mod scripts;
mod shell_calls;
mod storage_races;
