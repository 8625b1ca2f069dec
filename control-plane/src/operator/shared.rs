//! Who loses an artifact when it goes: the rows of its access list.

use super::removal::{Effect, Use};
use crate::store::access::Access;
use crate::store::access::list::Row;

/// One user for each row that opens something.
pub(super) fn losing(rows: &[Row]) -> impl Iterator<Item = Use> {
    rows.iter().filter_map(|row| {
        let kind = match row.level.as_str() {
            "agent" => "agents",
            "guild" => "guilds",
            _ => "organisations",
        };
        let message = format!(
            "{} {} loses {} access to it",
            row.level,
            row.owner,
            row.access.as_str()
        );
        let opens = row.access != Access::None;
        opens.then(|| Use::new(kind, row.owner.as_str(), Effect::Loses, message))
    })
}
