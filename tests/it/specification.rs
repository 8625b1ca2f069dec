//! The specification, a row a sentence: one file a section.

mod scripts;
mod secrets;
