//! `connectors` of the document.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sqlx::PgConnection;

use super::field::{Before, Field};
use super::kind::Kind;
use super::node::Node;
use super::plan::{Planned, Planning};
use super::reader::{Place, Problems, Table, as_text};
use super::removal::{Effect, Use};
use super::{ApplyError, Session, logins, objects, with_ids};
use crate::store::bindings::rows;
use crate::store::connectors::{self, Connector};
use crate::store::page::Page;
use crate::tools::{Family, names};

/// Most bytes of an address.
const MAX_URL: usize = 2_000;
/// Most characters of a filter, and most bytes of a tool's name.
const MAX_FILTER: usize = 10_000;
pub(super) const MAX_TOOL_NAME: usize = 200;
/// How a filter opens.
const FILTER_PREFIX: &str = "jq:";

pub(super) struct Connectors;

/// What an entry says; what it leaves out stays as it is.
pub(super) struct Said {
    kind: Field<String>,
    url: Field<String>,
    filters: Field<BTreeMap<String, String>>,
}

impl Kind for Connectors {
    const WORD: &'static str = "connectors";
    const ONE: &'static str = "connector";
    const ID: &'static str = "id";
    const NAMED_BY: Option<&'static str> = Some("id");
    const KEYS: &'static [&'static str] = &["id", "kind", "url", "filters"];
    type Said = Said;
    type Object = Connector;

    fn parse(table: &Table<'_>, _: &Session<'_>, problems: &mut Problems) -> (Field<String>, Said) {
        let kind = table.word("kind", &["tavily", "mcp", "github"], problems);
        let url = table.text("url", problems).and_then(|(at, text)| {
            let refused = refuse_url(text);
            if let Some(what) = refused {
                problems.add(&at, what);
            }
            refused.is_none().then(|| text.to_owned())
        });
        let filters = table
            .get("filters")
            .and_then(|(at, node)| filters(at, node, problems));
        let said = Said {
            kind: Field::of(table, "kind", kind.map(str::to_owned)),
            url: Field::of(table, "url", url),
            filters: Field::of(table, "filters", filters),
        };
        let id = table.own_id(problems);
        if let Field::Given(at, id) = &id
            && is_native(id)
        {
            problems.add(
                at,
                format!("{id} is the name of a tool or of a family of tools, which bindings switch; choose another id"),
            );
        }
        (id, said)
    }

    async fn names(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Vec<String>> {
        connectors::names(db, organisation).await
    }

    async fn load(
        db: &mut PgConnection,
        organisation: &str,
        ids: Option<&[String]>,
    ) -> sqlx::Result<BTreeMap<String, Connector>> {
        let stored = connectors::load(db, organisation, ids).await?;
        Ok(objects(stored, |connector| &connector.id))
    }

    fn plan(
        at: &Place,
        id: Option<&str>,
        said: Said,
        before: Before<&Connector>,
        cx: &mut Planning<'_>,
    ) -> Option<Connector> {
        let problems = &mut cx.problems;
        let kept = before.map(|connector| connector.kind.clone());
        let kind = said.kind.or_stored(kept, at, "kind", problems);
        let kept = before.map(|connector| connector.url.clone());
        let url = said.url.or_stored(kept, at, "url", problems);
        let kept = before.map(|connector| connector.filters.clone());
        Some(Connector {
            id: id?.to_owned(),
            kind: kind?,
            url: url?,
            filters: said.filters.or_default(kept),
        })
    }

    async fn put(
        planned: &Planned<Connector>,
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> Result<(), ApplyError> {
        Ok(connectors::put(db, session.organisation, &planned.after).await?)
    }

    async fn read(
        db: &mut PgConnection,
        organisation: &str,
        page: &Page<'_>,
    ) -> sqlx::Result<Vec<(String, Value)>> {
        let listed = connectors::list(db, organisation, page).await?;
        Ok(with_ids(listed, |listed| &listed.connector.id))
    }

    fn export(connector: &Connector) -> Value {
        json!({
            "id": connector.id,
            "kind": connector.kind,
            "url": connector.url,
            "filters": connector.filters,
        })
    }

    async fn uses(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> sqlx::Result<Vec<Use>> {
        let mut uses = Vec::new();
        for login in logins::of_organisation(db, session.organisation).await? {
            if login.connector == id {
                let message = format!(
                    "the login of {} {} is one of it; delete it first",
                    login.level, login.owner
                );
                uses.push(Use::new("logins", login.id, Effect::Blocks, message));
            }
        }
        for row in rows::of_names(db, session.organisation, &[id.to_owned()]).await? {
            let message = format!("the binding at {} {} goes", row.level, row.owner);
            uses.push(Use::new("bindings", row.id, Effect::Removed, message));
        }
        Ok(uses)
    }

    async fn remove(db: &mut PgConnection, session: &Session<'_>, id: &str) -> sqlx::Result<()> {
        let bindings = rows::of_names(db, session.organisation, &[id.to_owned()]).await?;
        let ids: Vec<String> = bindings.into_iter().map(|row| row.id).collect();
        rows::delete(db, session.organisation, &ids).await?;
        connectors::delete(db, session.organisation, id).await
    }
}

/// Whether bindings switch something of that name already.
fn is_native(id: &str) -> bool {
    names::all().any(|(name, _)| name == id)
        || Family::ALL.iter().any(|family| family.as_str() == id)
}

fn filters(at: Place, node: &Node, problems: &mut Problems) -> Option<BTreeMap<String, String>> {
    let table = Table::open_free(at, node, problems)?;
    let mut filters = BTreeMap::new();
    for (at, tool, node) in table.entries() {
        if let Some(what) = refuse_tool(tool) {
            problems.add(&at, what);
        }
        let Some(text) = as_text(&at, node, problems) else {
            continue;
        };
        let Some(filter) = text.strip_prefix(FILTER_PREFIX) else {
            problems.add(
                &at,
                "is no filter; a filter opens with jq: and goes on with a jq expression, such as jq:.results",
            );
            continue;
        };
        if filter.trim().is_empty() {
            problems.add(&at, "has nothing after jq:; a jq expression is expected");
        } else if text.chars().count() > MAX_FILTER {
            problems.add(
                &at,
                format!("is too long; at most {MAX_FILTER} characters are allowed"),
            );
        } else {
            filters.insert(tool.to_owned(), text.to_owned());
        }
    }
    Some(filters)
}

/// What is wrong with the name of a connector's tool.
pub(super) fn refuse_tool(name: &str) -> Option<String> {
    let bad =
        name.trim().is_empty() || name.len() > MAX_TOOL_NAME || name.chars().any(char::is_control);
    bad.then(|| {
        format!("is no name of a tool; 1 to {MAX_TOOL_NAME} bytes without control characters are allowed")
    })
}

/// What is wrong with an address. Plain HTTP goes to this machine only, and nothing that
/// opens a service stands in an address, where it would be stored in clear.
fn refuse_url(text: &str) -> Option<&'static str> {
    const FORM: &str = "is no address of a connector; https://host/path is allowed, and http:// to a loopback address";
    if text.len() > MAX_URL {
        return Some("is longer than 2000 bytes");
    }
    let Ok(uri) = text.parse::<hyper::Uri>() else {
        return Some(FORM);
    };
    let Some(authority) = uri.authority() else {
        return Some(FORM);
    };
    if authority.as_str().contains('@') {
        return Some("has a user; an address is stored in clear, and a login's key is not");
    }
    let host = authority.host();
    let port_given = authority.as_str().len() > host.len();
    if host.is_empty()
        || text.contains('#')
        || (port_given && authority.port_u16().is_none_or(|port| port == 0))
    {
        return Some(FORM);
    }
    let named_key = uri.query().unwrap_or_default().split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        ["key", "token", "secret", "password", "auth"]
            .iter()
            .any(|word| name.contains(word))
    });
    if named_key {
        return Some(
            "has a key in its query; an address is stored in clear, and a login's key is not",
        );
    }
    match uri.scheme_str() {
        Some("https") => None,
        Some("http") if is_loopback(host) => None,
        _ => Some(FORM),
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_or_on_this_machine_and_holds_no_key() {
        for good in [
            "https://api.tavily.com",
            "https://mcp.example.com:8443/mcp?workspace=7",
            "http://127.0.0.1:9000/mcp",
            "http://[::1]:9000",
            "http://localhost/x",
        ] {
            assert_eq!(refuse_url(good), None, "{good}");
        }
        for bad in [
            "",
            "api.tavily.com",
            "http://api.tavily.com",
            "ftp://api.tavily.com",
            "https://",
            "https://u:p@api.tavily.com",
            "https://api.tavily.com/#x",
            "https://api.tavily.com:0/",
            "https://api.tavily.com:99999/",
            "https://mcp.tavily.com/mcp/?tavilyApiKey=tvly-1",
            "http://10.0.0.1/",
        ] {
            assert!(refuse_url(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_connector_is_not_called_like_a_tool_or_a_family() {
        assert!(is_native("shell") && is_native("note") && is_native("record"));
        assert!(!is_native("web-search"));
    }
}
