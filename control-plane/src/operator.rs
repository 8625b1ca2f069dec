//! The operator's document: read whole, every problem at once, then one transaction or nothing.

mod agents;
mod bindings;
mod document;
mod guilds;
mod machines;
mod node;
mod plan;
mod reader;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sqlx::{PgConnection, PgPool};

use self::document::Document;
use self::node::Node;
use self::plan::Planned;
use self::reader::Place;
use crate::store::agents::Stored;
use crate::store::guilds::Guild;
use crate::store::machines::Machine;
use crate::store::{self, organisations};

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The API's.
    Json,
    /// For people; problems name their line.
    Toml,
}

/// What a document came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// One per object of the document, in its order.
    pub changes: Vec<Change>,
}

/// What becomes of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Made, changed, or as it was.
    pub action: Action,
    /// The plural word of its kind.
    pub kind: &'static str,
    /// Its id; a binding's is `<level>:<id>:<tool>`.
    pub id: String,
    /// Fields that differ from what is stored.
    pub fields: Vec<String>,
}

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is new.
    Create,
    /// Fields of it change.
    Update,
    /// It is already so.
    Unchanged,
}

impl Action {
    /// The word in changes and in the audit.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Unchanged => "unchanged",
        }
    }
}

/// One thing wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where: `agents[1].slot`.
    pub path: String,
    /// What, and what is allowed; for TOML it ends with the line.
    pub message: String,
}

/// Why a document was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Written for the operator.
    #[error("the document has {} problem(s)", .0.len())]
    Rejected(Vec<Problem>),
    /// The database's fault.
    #[error("the database did not apply the document")]
    Store(#[source] sqlx::Error),
}

impl From<sqlx::Error> for ApplyError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error)
    }
}

/// Applies a document of one organisation, or with `dry_run` says what it would change.
///
/// Two documents of one organisation are applied one after the other.
///
/// # Errors
/// [`ApplyError::Rejected`] with every problem, and then nothing was changed.
pub async fn apply(
    pool: &PgPool,
    organisation: &str,
    actor: &str,
    body: &[u8],
    format: Format,
    dry_run: bool,
) -> Result<Applied, ApplyError> {
    let document = document::read(body, format, organisation).map_err(ApplyError::Rejected)?;
    let mut transaction = pool.begin().await?;
    let db = &mut *transaction;
    organisations::hold(db, organisation).await?;
    let plan = Plan::make(db, organisation, document).await?;
    plan.write(db, organisation, actor)
        .await
        .map_err(taken_meanwhile)?;
    if dry_run {
        transaction.rollback().await?;
    } else {
        transaction.commit().await?;
    }
    Ok(Applied {
        changes: plan.into_changes(),
    })
}

/// Ids of machines and agents are unique over all organisations, and another one's
/// operator may have taken one since it was looked for.
fn taken_meanwhile(error: sqlx::Error) -> ApplyError {
    match error {
        sqlx::Error::RowNotFound => ApplyError::Rejected(vec![Problem {
            path: String::new(),
            message: "the id of a machine or an agent was taken by another organisation at this moment; apply the document again to see which".to_owned(),
        }]),
        other => ApplyError::Store(other),
    }
}

/// What a document comes to, in the order in which it is written.
struct Plan {
    guilds: Vec<Planned<Guild>>,
    machines: Vec<Planned<Machine>>,
    agents: Vec<(Place, Planned<Stored>)>,
    bindings: Vec<Planned<bindings::Row>>,
}

impl Plan {
    async fn make(
        db: &mut PgConnection,
        organisation: &str,
        mut document: Document,
    ) -> Result<Self, ApplyError> {
        let mut problems = document.problems.take();
        let stored_guilds = by_id(
            store::guilds::of_organisation(db, organisation).await?,
            |guild| &guild.id,
        );
        let stored_machines = by_id(
            store::machines::of_organisation(db, organisation).await?,
            |machine| &machine.id,
        );
        let stored_agents = by_id(
            store::agents::of_organisation(db, organisation).await?,
            |agent| &agent.id,
        );
        let stored_bindings = store::bindings::of_organisation(db, organisation).await?;
        let machines = document.machines.iter();
        let machine_ids: Vec<String> = machines.filter_map(|e| e.id.given().cloned()).collect();
        let guild_ids: Vec<String> = document.guilds.iter().map(|e| e.id.clone()).collect();
        let agents = document.agents.iter();
        let agent_ids: Vec<String> = agents.filter_map(|e| e.id.given().cloned()).collect();
        let taken_machines = store::machines::taken(db, organisation, &refs(&machine_ids)).await?;
        let taken_agents = store::agents::taken(db, organisation, &refs(&agent_ids)).await?;

        let guilds = guilds::plan(document.guilds, &stored_guilds);
        let machines = machines::plan(
            document.machines,
            &stored_machines,
            &taken_machines.into_iter().collect(),
            &mut problems,
        );
        let known_guilds = known(&stored_guilds, &guild_ids);
        let known_agents = known(&stored_agents, &agent_ids);
        let reach = agents::Known {
            guilds: known_guilds.clone(),
            machines: known(&stored_machines, &machine_ids),
            taken: taken_agents.into_iter().collect(),
        };
        let agents = agents::plan(document.agents, &stored_agents, &reach, &mut problems);
        let bindings = bindings::plan(
            document.bindings,
            &stored_bindings,
            &known_guilds,
            &known_agents,
            &mut problems,
        );
        agents::refuse_moves(db, &agents, &mut problems).await?;
        problems.into_result().map_err(ApplyError::Rejected)?;
        Ok(Self {
            guilds,
            machines,
            agents,
            bindings,
        })
    }

    async fn write(
        &self,
        db: &mut PgConnection,
        organisation: &str,
        actor: &str,
    ) -> sqlx::Result<()> {
        guilds::apply(db, organisation, actor, &self.guilds).await?;
        machines::apply(db, organisation, actor, &self.machines).await?;
        agents::apply(db, organisation, actor, &self.agents).await?;
        bindings::apply(db, organisation, actor, &self.bindings).await
    }

    fn into_changes(self) -> Vec<Change> {
        let guilds = self.guilds.into_iter().map(|object| object.change);
        let machines = self.machines.into_iter().map(|object| object.change);
        let agents = self.agents.into_iter().map(|(_, object)| object.change);
        let bindings = self.bindings.into_iter().map(|object| object.change);
        guilds
            .chain(machines)
            .chain(agents)
            .chain(bindings)
            .collect()
    }
}

fn by_id<T>(objects: Vec<T>, id: impl Fn(&T) -> &String) -> BTreeMap<String, T> {
    objects
        .into_iter()
        .map(|object| (id(&object).clone(), object))
        .collect()
}

fn refs(ids: &[String]) -> Vec<&str> {
    ids.iter().map(String::as_str).collect()
}

/// What is stored and what the document brings.
fn known<'a, T>(stored: &'a BTreeMap<String, T>, ids: &'a [String]) -> BTreeSet<&'a str> {
    stored.keys().chain(ids).map(String::as_str).collect()
}
