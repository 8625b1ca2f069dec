//! The specification, a row a sentence: one file a section.

mod calls;
mod group_chat;
mod issues;
mod metadata;
mod native;
mod offers;
mod results;
mod routines;
mod schemas;
mod scripts;
mod secrets;
