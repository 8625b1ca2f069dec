//! `machines` of the document.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;

use super::Node;
use super::plan::{Planned, refuse_twice};
use super::reader::{Place, Problems, Table};
use crate::store::machines::{self, Machine};

/// The plural word of the kind.
pub(super) const KIND: &str = "machines";

/// A machine as the document has it; what it leaves out stays as it is.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) at: Place,
    pub(super) id: Field<String>,
    /// Absent and refused are told apart, so that one fault is told once.
    address: Field<String>,
}

/// A field of the document.
#[derive(Debug, Clone)]
pub(super) enum Field<T> {
    /// It is left out.
    Absent,
    /// It was refused already.
    Refused,
    /// It reads so.
    Given(Place, T),
}

impl<T> Field<T> {
    /// A field that was read from a key of a table.
    pub(super) fn of(table: &Table<'_>, key: &str, value: Option<T>) -> Self {
        match (table.get(key), value) {
            (None, _) => Self::Absent,
            (Some(_), None) => Self::Refused,
            (Some((at, _)), Some(value)) => Self::Given(at, value),
        }
    }

    /// The value, when there is one.
    pub(super) const fn given(&self) -> Option<&T> {
        match self {
            Self::Given(_, value) => Some(value),
            Self::Absent | Self::Refused => None,
        }
    }

    /// The value, else what is stored; a new object without either is told to need it.
    pub(super) fn or_stored(
        self,
        stored: Option<T>,
        at: &Place,
        key: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        match (self, stored) {
            (Self::Given(_, value), _) | (Self::Absent, Some(value)) => Some(value),
            (Self::Refused, _) => None,
            (Self::Absent, None) => {
                problems.add(&at.key(key), "is missing (required for a new object)");
                None
            }
        }
    }
}

pub(super) fn parse(items: Vec<(Place, &Node)>, problems: &mut Problems) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (at, node) in items {
        let Some(table) = Table::open(at, node, &["id", "address"], problems) else {
            continue;
        };
        let address = table.text("address", problems).and_then(|(at, text)| {
            if is_address(text) {
                return Some(text.to_owned());
            }
            problems.add(
                &at,
                "is no address of a machine; https://host:port is allowed",
            );
            None
        });
        let address = Field::of(&table, "address", address);
        let id = table.own_id(problems);
        entries.push(Entry {
            id: Field::of(&table, "id", id),
            at: table.at,
            address,
        });
    }
    refuse_twice(
        entries
            .iter()
            .filter_map(|entry| Some((&entry.at, entry.id.given()?.as_str()))),
        Some("id"),
        problems,
    );
    entries
}

/// Scheme, host and port; the machine client adds the path.
fn is_address(text: &str) -> bool {
    let Ok(uri) = text.parse::<hyper::Uri>() else {
        return false;
    };
    let Some(authority) = uri.authority() else {
        return false;
    };
    let port_given = authority
        .as_str()
        .rsplit_once(':')
        .is_some_and(|(_, port)| {
            !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
        });
    uri.scheme_str() == Some("https")
        && !authority.as_str().contains('@')
        && !authority.host().is_empty()
        && (!port_given || authority.port_u16().is_some_and(|port| port != 0))
        && text.len() == "https://".len() + authority.as_str().len()
}

pub(super) fn plan(
    entries: Vec<Entry>,
    stored: &BTreeMap<String, Machine>,
    taken: &BTreeSet<String>,
    problems: &mut Problems,
) -> Vec<Planned<Machine>> {
    let mut planned = Vec::new();
    for entry in entries {
        let id = match entry.id {
            Field::Given(_, id) => id,
            // Whatever it is called, it is new.
            Field::Refused => {
                entry
                    .address
                    .or_stored(None, &entry.at, "address", problems);
                continue;
            }
            Field::Absent => continue,
        };
        if taken.contains(&id) {
            problems.add(
                &entry.at.key("id"),
                format!("{id} is a machine of another organisation"),
            );
            continue;
        }
        let before = stored.get(&id).cloned();
        let kept = before.as_ref().map(|machine| machine.address.clone());
        let address = entry
            .address
            .or_stored(kept, &entry.at, "address", problems);
        if let Some(address) = address {
            let after = Machine {
                id: id.clone(),
                address,
            };
            planned.push(Planned::new(KIND, id, before, after));
        }
    }
    planned
}

pub(super) async fn apply(
    db: &mut PgConnection,
    organisation: &str,
    actor: &str,
    planned: &[Planned<Machine>],
) -> sqlx::Result<()> {
    for object in planned.iter().filter(|object| object.changes()) {
        machines::put(db, organisation, &object.after).await?;
        object.audit(db, organisation, actor).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_host_and_port() {
        for good in [
            "https://127.0.0.1:8443",
            "https://machine.example",
            "https://[::1]:8443",
        ] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "http://127.0.0.1:8443",
            "https://127.0.0.1:8443/",
            "https://127.0.0.1:8443/v1",
            "https://u@host:1",
            "https://host:0",
            "https://host:99999",
            "https://",
            "https://host?x",
            "127.0.0.1:8443",
        ] {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
