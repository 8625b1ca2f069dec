//! `guilds` of the document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sqlx::PgConnection;

use super::field::{Before, Field};
use super::kind::Kind;
use super::node::Node;
use super::plan::{Planned, Planning};
use super::reader::{Place, Problems, Table};
use super::removal::{Effect, Use};
use super::{ApplyError, Session, attached, objects, with_ids};
use crate::store::agents::roster;
use crate::store::guilds::{self, Guild, Repository};
use crate::store::page::Page;

/// Most characters of a repository's name.
const MAX_NAME: usize = 100;

pub(super) struct Guilds;

impl Kind for Guilds {
    const WORD: &'static str = "guilds";
    const ONE: &'static str = "guild";
    const ID: &'static str = "id";
    const NAMED_BY: Option<&'static str> = Some("id");
    const KEYS: &'static [&'static str] = &["id", "repositories"];
    type Said = Field<Vec<Repository>>;
    type Object = Guild;

    fn parse(
        table: &Table<'_>,
        _: &Session<'_>,
        problems: &mut Problems,
    ) -> (Field<String>, Self::Said) {
        let given = table
            .list("repositories", problems)
            .map(|items| repositories(items, problems));
        let said = Field::of(table, "repositories", given);
        (table.own_id(problems), said)
    }

    async fn names(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Vec<String>> {
        guilds::names(db, organisation).await
    }

    async fn load(
        db: &mut PgConnection,
        organisation: &str,
        ids: Option<&[String]>,
    ) -> sqlx::Result<BTreeMap<String, Guild>> {
        let stored = guilds::load(db, organisation, ids).await?;
        Ok(objects(stored, |guild| &guild.id))
    }

    fn plan(
        _: &Place,
        id: Option<&str>,
        said: Self::Said,
        before: Before<&Guild>,
        _: &mut Planning<'_>,
    ) -> Option<Guild> {
        Some(Guild {
            id: id?.to_owned(),
            repositories: said.or_default(before.map(|guild| guild.repositories.clone())),
        })
    }

    async fn put(
        planned: &Planned<Guild>,
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> Result<(), ApplyError> {
        Ok(guilds::put(db, session.organisation, &planned.after).await?)
    }

    async fn read(
        db: &mut PgConnection,
        organisation: &str,
        page: &Page<'_>,
    ) -> sqlx::Result<Vec<(String, Value)>> {
        let listed = guilds::list(db, organisation, page).await?;
        Ok(with_ids(listed, |guild| &guild.id))
    }

    fn export(guild: &Guild) -> Value {
        json!({ "id": guild.id, "repositories": guild.repositories })
    }

    async fn uses(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> sqlx::Result<Vec<Use>> {
        let seats = roster::seats(db, session.organisation).await?;
        let mut uses: Vec<Use> = seats
            .into_iter()
            .filter(|(_, guild, ..)| guild == id)
            .map(|(agent, ..)| {
                let message =
                    format!("agent {agent} is in it; delete it or move it to another guild first");
                Use::new("agents", agent, Effect::Blocks, message)
            })
            .collect();
        uses.extend(attached::uses(db, session, "guild", id).await?);
        let belongings = guilds::belongings(db, session.organisation, id).await?;
        for (kind, one, count) in [
            ("notes", "note", belongings.notes),
            ("issues", "issue", belongings.issues),
        ] {
            if count > 0 {
                let message = match count {
                    1 => format!("1 {one} of the guild goes for good"),
                    count => format!("{count} {kind} of the guild go for good"),
                };
                uses.push(Use::new(
                    kind,
                    format!("guild/{id}/"),
                    Effect::Removed,
                    message,
                ));
            }
        }
        Ok(uses)
    }

    async fn remove(db: &mut PgConnection, session: &Session<'_>, id: &str) -> sqlx::Result<()> {
        attached::remove(db, session, "guild", id).await?;
        guilds::delete(db, session.organisation, id).await
    }
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
