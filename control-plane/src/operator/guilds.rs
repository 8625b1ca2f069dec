//! `guilds` of the document.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;

use super::Node;
use super::plan::{Planned, refuse_twice};
use super::reader::{Place, Problems, Table};
use crate::store::guilds::{self, Guild, Repository};

/// The plural word of the kind.
pub(super) const KIND: &str = "guilds";
/// Most characters of a repository's name.
const MAX_NAME: usize = 100;

/// A guild as the document has it; what it leaves out stays as it is.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) at: Place,
    pub(super) id: String,
    repositories: Option<Vec<Repository>>,
}

pub(super) fn parse(items: Vec<(Place, &Node)>, problems: &mut Problems) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (at, node) in items {
        let Some(table) = Table::open(at, node, &["id", "repositories"], problems) else {
            continue;
        };
        let repositories = table
            .list("repositories", problems)
            .map(|items| repositories(items, problems));
        if let Some(id) = table.own_id(problems) {
            entries.push(Entry {
                at: table.at,
                id,
                repositories,
            });
        }
    }
    refuse_twice(
        entries.iter().map(|entry| (&entry.at, entry.id.as_str())),
        Some("id"),
        problems,
    );
    entries
}

fn repositories(items: Vec<(Place, &Node)>, problems: &mut Problems) -> Vec<Repository> {
    let mut list: Vec<Repository> = Vec::new();
    let mut names = BTreeSet::new();
    for (at, node) in items {
        let Some(table) = Table::open(at, node, &["name", "url"], problems) else {
            continue;
        };
        for key in ["name", "url"] {
            if table.get(key).is_none() {
                problems.add(&table.at.key(key), "is missing (required)");
            }
        }
        let name = table.text("name", problems);
        let url = table.text("url", problems);
        if let Some((at, name)) = &name {
            if !is_name(name) {
                problems.add(at, "is no name of a repository; letters, digits, dots, underscores and hyphens are allowed, at most 100, the first a letter or digit");
            }
            if !names.insert(*name) {
                problems.add(at, "is the name of another repository of this guild");
            }
        }
        if let Some((at, url)) = &url
            && !is_url(url)
        {
            problems.add(
                at,
                "is no address of a repository; https://host/path without a user is allowed",
            );
        }
        if let (Some((_, name)), Some((_, url))) = (name, url) {
            list.push(Repository {
                name: name.to_owned(),
                url: url.to_owned(),
            });
        }
    }
    list
}

fn is_name(text: &str) -> bool {
    text.len() <= MAX_NAME
        && text
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// A token in an address would be stored in clear, so no user is allowed there.
fn is_url(text: &str) -> bool {
    text.parse::<hyper::Uri>().is_ok_and(|uri| {
        uri.scheme_str() == Some("https")
            && uri
                .authority()
                .is_some_and(|host| !host.as_str().contains('@'))
            && uri.path().len() > 1
    })
}

pub(super) fn plan(entries: Vec<Entry>, stored: &BTreeMap<String, Guild>) -> Vec<Planned<Guild>> {
    let planned = |entry: Entry| {
        let before = stored.get(&entry.id).cloned();
        let kept = before.as_ref().map(|guild| guild.repositories.clone());
        let after = Guild {
            id: entry.id.clone(),
            repositories: entry.repositories.or(kept).unwrap_or_default(),
        };
        Planned::new(KIND, entry.id, before, after)
    };
    entries.into_iter().map(planned).collect()
}

pub(super) async fn apply(
    db: &mut PgConnection,
    organisation: &str,
    actor: &str,
    planned: &[Planned<Guild>],
) -> sqlx::Result<()> {
    for object in planned.iter().filter(|object| object.changes()) {
        guilds::put(db, organisation, &object.after).await?;
        object.audit(db, organisation, actor).await?;
    }
    Ok(())
}
