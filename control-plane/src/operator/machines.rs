//! `machines` of the document.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sqlx::PgConnection;

use super::field::{Before, Field};
use super::kind::Kind;
use super::plan::{Planned, Planning};
use super::reader::{Place, Problems, Table};
use super::removal::{Effect, Use};
use super::{ApplyError, Session, objects, with_ids};
use crate::store::agents::roster;
use crate::store::machines::{self, Machine};
use crate::store::page::Page;

pub(super) struct Machines;

impl Kind for Machines {
    const WORD: &'static str = "machines";
    const ONE: &'static str = "machine";
    const ID: &'static str = "id";
    const NAMED_BY: Option<&'static str> = Some("id");
    const KEYS: &'static [&'static str] = &["id", "address"];
    type Said = Field<String>;
    type Object = Machine;

    fn parse(
        table: &Table<'_>,
        _: &Session<'_>,
        problems: &mut Problems,
    ) -> (Field<String>, Self::Said) {
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
        let said = Field::of(table, "address", address);
        (table.own_id(problems), said)
    }

    async fn names(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Vec<String>> {
        machines::names(db, organisation).await
    }

    async fn taken(
        db: &mut PgConnection,
        organisation: &str,
        ids: &[String],
    ) -> sqlx::Result<Vec<String>> {
        machines::taken(db, organisation, ids).await
    }

    async fn load(
        db: &mut PgConnection,
        organisation: &str,
        ids: Option<&[String]>,
    ) -> sqlx::Result<BTreeMap<String, Machine>> {
        let stored = machines::load(db, organisation, ids).await?;
        Ok(objects(stored, |machine| &machine.id))
    }

    fn plan(
        at: &Place,
        id: Option<&str>,
        said: Self::Said,
        before: Before<&Machine>,
        cx: &mut Planning<'_>,
    ) -> Option<Machine> {
        let kept = before.map(|machine| machine.address.clone());
        let address = said.or_stored(kept, at, "address", &mut cx.problems)?;
        Some(Machine {
            id: id?.to_owned(),
            address,
        })
    }

    async fn put(
        planned: &Planned<Machine>,
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> Result<(), ApplyError> {
        let written = machines::put(db, session.organisation, &planned.after).await;
        written.map_err(|error| ApplyError::taken_meanwhile(error, &planned.at))
    }

    async fn read(
        db: &mut PgConnection,
        organisation: &str,
        page: &Page<'_>,
    ) -> sqlx::Result<Vec<(String, Value)>> {
        let listed = machines::list(db, organisation, page).await?;
        Ok(with_ids(listed, |machine| &machine.id))
    }

    fn export(machine: &Machine) -> Value {
        json!(machine)
    }

    async fn uses(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> sqlx::Result<Vec<Use>> {
        let seats = roster::seats(db, session.organisation).await?;
        let on_it = seats.into_iter().filter(|(_, _, machine, _)| machine == id);
        let used = |(agent, _, _, slot)| {
            let message = format!(
                "agent {agent} lives in slot {slot} of it; delete it or move it to another machine first"
            );
            Use::new("agents", agent, Effect::Blocks, message)
        };
        Ok(on_it.map(used).collect())
    }

    async fn remove(db: &mut PgConnection, session: &Session<'_>, id: &str) -> sqlx::Result<()> {
        machines::delete(db, session.organisation, id).await
    }
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
