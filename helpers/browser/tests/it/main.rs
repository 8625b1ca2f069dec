//! The helper on a real Chrome: what selectors match, what trees say, what calls do.
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

mod calls;
mod corpus;
mod fields;
mod oracle;
mod selectors;
mod site;
mod spawn;
mod stage;
mod trees;
mod troubles;
