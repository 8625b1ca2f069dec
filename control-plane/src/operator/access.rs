//! Access lists of notes and collections: who reaches them, each named once, and who loses something when they go.

use std::collections::BTreeMap;

use super::Session;
use super::field::Field;
use super::plan::Planning;
use super::reader::{Place, Problems, Table};
use super::removal::{Effect, Use};
use super::target::{self, Target};
use crate::store::access::Access;
use crate::store::access::list::Row;

/// A list as an entry has it.
pub(super) type Given = Field<Vec<(Target, Access)>>;

/// Reads `access` of an entry.
pub(super) fn parse(table: &Table<'_>, session: &Session<'_>, problems: &mut Problems) -> Given {
    let given = table.list("access", problems).map(|items| {
        let mut rows = Vec::new();
        for (at, node) in items {
            let [agent, guild, organisation] = target::KEYS;
            let keys = [agent, guild, organisation, "access"];
            let Some(table) = Table::open(at, node, &keys, problems) else {
                continue;
            };
            let target = Target::read(&table, session, problems);
            if table.get("access").is_none() {
                problems.add(&table.at.key("access"), "is missing (required)");
            }
            let word = table.word("access", &["none", "read", "write"], problems);
            if let Some(target) = target {
                rows.push((table.at, target, word));
            }
        }
        refuse_twice(&rows, problems);
        rows.into_iter()
            .filter_map(|(_, target, word)| Some((target, Access::parse(word?))))
            .collect()
    });
    Field::of(table, "access", given)
}

fn refuse_twice(rows: &[(Place, Target, Option<&str>)], problems: &mut Problems) {
    let mut seen: BTreeMap<(&str, &str), &Place> = BTreeMap::new();
    for (at, target, _) in rows {
        let key = (target.level.as_str(), target.owner.as_str());
        match seen.get(&key) {
            Some(earlier) => problems.add(
                at,
                format!("{} {} stands at {} already", key.0, key.1, earlier.path),
            ),
            None => {
                seen.insert(key, at);
            }
        }
    }
}

/// Refuses rows for whom there is not, and answers the list in its stored order.
pub(super) fn check(given: Given, cx: &mut Planning<'_>) -> Field<Vec<Row>> {
    let (at, rows) = match given {
        Field::Given(at, rows) => (at, rows),
        Field::Absent => return Field::Absent,
        Field::Refused => return Field::Refused,
    };
    for (target, _) in &rows {
        target.check(cx);
    }
    let row = |(target, access): (Target, Access)| Row {
        level: target.level.as_str().to_owned(),
        owner: target.owner,
        access,
    };
    let mut rows: Vec<Row> = rows.into_iter().map(row).collect();
    rows.sort();
    Field::Given(at, rows)
}

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
