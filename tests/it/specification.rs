//! The specification, a row a sentence: one file a section.

mod group_chat;
mod issues;
mod routines;
mod scripts;
mod secrets;
