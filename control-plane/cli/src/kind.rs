//! One kind of object: its words, its table, and listing, showing and removing any of them.

mod describe;
mod read;
mod removal;

use clap::{Args, Subcommand};
use serde_json::Value;

pub(crate) use self::describe::describe;
pub(crate) use self::read::{ago, count, number, on_or_off, text, words};
pub(crate) use self::removal::Removal;
use crate::api::{Client, List, Query, Role as Token, segment};
use crate::error::{Exit, Failure};
use crate::nearest::nearest;
use crate::screen::Screen;
use crate::table::{Cell, Heading, Role, Table};
use crate::{Context, Format, output, progress};

/// A kind of the API's objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// In paths and answers.
    pub(crate) plural: &'static str,
    /// For people.
    pub(crate) noun: &'static str,
    pub(crate) columns: &'static [Column],
}

/// One column of a kind's table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    role: Role,
    read: fn(&Value, &Screen) -> Cell,
}

impl Column {
    pub(crate) const fn new(
        title: &'static str,
        role: Role,
        read: fn(&Value, &Screen) -> Cell,
    ) -> Self {
        Self { title, role, read }
    }
}

/// How much of a list.
#[derive(Debug, Args)]
pub(crate) struct Limit {
    /// Most objects that are listed.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    limit: u64,
}

/// Names among which a wrong one's nearest is looked for.
const MOST_NAMES: usize = 1_000;
/// What is listed where nothing is said of it.
const DEFAULT_LIMIT: u64 = 100;

impl Default for Limit {
    fn default() -> Self {
        Self {
            limit: DEFAULT_LIMIT,
        }
    }
}

impl Limit {
    /// As a number of objects.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX)
    }
}

/// What can be done with every kind.
#[derive(Debug, Subcommand)]
pub(crate) enum Usual {
    /// List them.
    List(Limit),
    /// Show one.
    Show {
        /// Its id, as `list` names it.
        id: String,
    },
    /// Remove one; what uses it is told first.
    Rm(Removal),
}

impl Usual {
    /// Does it for a kind.
    ///
    /// # Errors
    /// As the API answers.
    pub(crate) async fn run(&self, kind: &Kind, context: &Context) -> Result<Exit, Failure> {
        let client = Client::from_environment(Token::Operator)?;
        match self {
            Self::List(limit) => kind.list(&client, &[], limit, context).await,
            Self::Show { id } => kind.show(&client, id, context).await,
            Self::Rm(removal) => removal.run(&client, kind, context).await,
        }
    }
}

impl Kind {
    /// Several of them, for people.
    fn many(&self) -> String {
        match self.plural {
            "inbox" => "inbox items".to_owned(),
            "audit" => "changes".to_owned(),
            plural => plural.replace('-', " "),
        }
    }

    /// The list's key in answers.
    pub(crate) fn key(&self) -> String {
        self.plural.replace('-', "_")
    }

    /// The list's path.
    pub(crate) fn path(&self) -> String {
        format!("/v1/operator/{}", self.plural)
    }

    /// One object's path.
    pub(crate) fn path_of(&self, id: &str) -> String {
        format!("/v1/operator/{}/{}", self.plural, segment(id))
    }

    /// Prints the list.
    ///
    /// # Errors
    /// As the API answers.
    pub(crate) async fn list(
        &self,
        client: &Client,
        query: Query<'_>,
        limit: &Limit,
        context: &Context,
    ) -> Result<Exit, Failure> {
        self.list_at(client, &self.path(), query, limit, context)
            .await
    }

    /// Prints a list of this kind that is found elsewhere.
    ///
    /// # Errors
    /// As the API answers.
    pub(crate) async fn list_at(
        &self,
        client: &Client,
        path: &str,
        query: Query<'_>,
        limit: &Limit,
        context: &Context,
    ) -> Result<Exit, Failure> {
        let what = format!("reading {}", self.plural);
        let key = self.key();
        let read = client.list(path, &key, query, limit.count());
        let list = progress::watch(&what, read).await?;
        self.print(list, context)?;
        Ok(Exit::Done)
    }

    /// Prints what was read of a list; whether it is empty or goes on is told on stderr.
    ///
    /// # Errors
    /// When stdout can't be written.
    pub(crate) fn print(&self, list: List, context: &Context) -> Result<(), Failure> {
        if context.format == Format::Json {
            return output::json(&list.into_json(&self.key()));
        }
        if list.items.is_empty() {
            output::note(&format!("no {}", self.many()));
            return Ok(());
        }
        output::payload(
            &self
                .table(&list.items, &context.screen)
                .show(&context.screen),
        )?;
        if list.has_more() {
            let shown = match list.items.len() {
                1 => "this one".to_owned(),
                count => format!("these {count}"),
            };
            output::note(&format!("there are more than {shown}; --limit shows more"));
        }
        Ok(())
    }

    /// The table of some objects.
    pub(crate) fn table(&self, items: &[Value], screen: &Screen) -> Table {
        let headings = self
            .columns
            .iter()
            .map(|column| Heading::new(column.title, column.role))
            .collect();
        let mut table = Table::new(headings);
        for item in items {
            let row = self
                .columns
                .iter()
                .map(|column| (column.read)(item, screen));
            table.push(row.collect());
        }
        table
    }

    /// Prints one object.
    ///
    /// # Errors
    /// As the API answers.
    pub(crate) async fn show(
        &self,
        client: &Client,
        id: &str,
        context: &Context,
    ) -> Result<Exit, Failure> {
        match client.get(&self.path_of(id)).await {
            Ok(object) => print_one(&object, context)?,
            Err(failure) => return Err(self.with_nearest(failure, id, client).await),
        }
        Ok(Exit::Done)
    }

    /// The field that an object of this kind is named by.
    pub(crate) fn id_field(&self) -> &'static str {
        match self.plural {
            "collections" | "secrets" => "name",
            "notes" => "path",
            _ => "id",
        }
    }

    /// A failure to find something, with the name that may have been meant.
    pub(crate) async fn with_nearest(
        &self,
        failure: Failure,
        id: &str,
        client: &Client,
    ) -> Failure {
        if failure.exit != Exit::NotFound || failure.message().contains("did you mean") {
            return failure;
        }
        let (path, key) = (self.path(), self.key());
        let Ok(list) = client.list(&path, &key, &[], MOST_NAMES).await else {
            return failure;
        };
        let names = list.items.iter();
        let names: Vec<_> = names
            .filter_map(|item| item.get(self.id_field())?.as_str())
            .collect();
        match nearest(id, &names) {
            Some(name) => failure.and(format!("did you mean {name}?")),
            None => failure,
        }
    }
}

/// Prints one object, its fields below each other.
///
/// # Errors
/// When stdout can't be written.
pub(crate) fn print_one(object: &Value, context: &Context) -> Result<(), Failure> {
    match context.format {
        Format::Json => output::json(object),
        Format::Table => output::payload(&describe(object, &context.screen)),
    }
}
