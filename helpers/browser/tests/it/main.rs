//! The helper on a real Chrome: what selectors match, what trees say, what calls do.

mod calls;
mod selectors;
mod site;
mod spawn;
mod stage;
mod trees;
