//! What a kind of object of the document is: one type a kind implements, and how the list drives it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sqlx::PgConnection;

use super::field::{Before, Field};
use super::node::Node;
use super::plan::{Planned, Planning, refuse_twice};
use super::reader::{Place, Problems, Table};
use super::removal::Use;
use super::{ApplyError, Change, Session};
use crate::store::audit;
use crate::store::page::Page;

/// A kind of object: one file each. Document, changes, reading, deletion and export
/// are computed from what it says here.
pub(super) trait Kind: Send + Sync + 'static {
    /// The plural word: key of the document, part of paths.
    const WORD: &'static str;
    /// One of them, as problems call it.
    const ONE: &'static str;
    /// The field of an object that is its id.
    const ID: &'static str;
    /// The key of an entry that names it, when a single one does.
    const NAMED_BY: Option<&'static str>;
    /// The keys of an entry.
    const KEYS: &'static [&'static str];
    /// What an entry says.
    type Said: Send + Sync;
    /// An object as it is stored, and as the audit shows it.
    type Object: Serialize + Send + Sync;

    /// Reads an entry: the id it names, and what it says.
    fn parse(
        table: &Table<'_>,
        session: &Session<'_>,
        problems: &mut Problems,
    ) -> (Field<String>, Self::Said);

    /// Ids of all that is stored, for a kind that entries refer to.
    fn names(
        _db: &mut PgConnection,
        _organisation: &str,
    ) -> impl Future<Output = sqlx::Result<Vec<String>>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Which ids other organisations have, for a kind whose ids are unique over all of them.
    fn taken(
        _db: &mut PgConnection,
        _organisation: &str,
        _ids: &[String],
    ) -> impl Future<Output = sqlx::Result<Vec<String>>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Stored objects by id: those named, or without names all that an export has.
    fn load(
        db: &mut PgConnection,
        organisation: &str,
        ids: Option<&[String]>,
    ) -> impl Future<Output = sqlx::Result<BTreeMap<String, Self::Object>>> + Send;

    /// The object an entry asks for. `id` is `None` when it was refused.
    fn plan(
        at: &Place,
        id: Option<&str>,
        said: Self::Said,
        before: Before<&Self::Object>,
        cx: &mut Planning<'_>,
    ) -> Option<Self::Object>;

    /// Looks at what is not in the object, such as a secret's value; answers the fields
    /// that differ and don't show.
    fn unseen(
        _db: &mut PgConnection,
        _session: &Session<'_>,
        _before: Option<&Self::Object>,
        _after: &mut Self::Object,
    ) -> impl Future<Output = sqlx::Result<Vec<&'static str>>> + Send {
        async { Ok(Vec::new()) }
    }

    /// What can be refused only with all entries and the database at hand.
    fn check(
        _planned: &[Planned<Self::Object>],
        _db: &mut PgConnection,
        _cx: &mut Planning<'_>,
    ) -> impl Future<Output = sqlx::Result<()>> + Send {
        async { Ok(()) }
    }

    /// Writes one object that changes.
    fn put(
        planned: &Planned<Self::Object>,
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> impl Future<Output = Result<(), ApplyError>> + Send;

    /// What is written of all objects, unchanged ones too.
    fn settle(
        _planned: &[Planned<Self::Object>],
        _db: &mut PgConnection,
        _session: &Session<'_>,
    ) -> impl Future<Output = sqlx::Result<()>> + Send {
        async { Ok(()) }
    }

    /// Tells the chat backend of what was written, as the last thing before the commit.
    fn announce(
        _planned: &[Planned<Self::Object>],
        _db: &mut PgConnection,
        _session: &Session<'_>,
    ) -> impl Future<Output = sqlx::Result<()>> + Send {
        async { Ok(()) }
    }

    /// A page of the reading list, or the one object it names: id and what is shown.
    fn read(
        db: &mut PgConnection,
        organisation: &str,
        page: &Page<'_>,
    ) -> impl Future<Output = sqlx::Result<Vec<(String, Value)>>> + Send;

    /// The object in a document: every field, empty lists too, since what a document leaves
    /// out says nothing.
    fn export(object: &Self::Object) -> Value;

    /// What uses an object, and what becomes of that when it is deleted.
    fn uses(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> impl Future<Output = sqlx::Result<Vec<Use>>> + Send;

    /// Deletes an object that nothing blocks, and what goes with it.
    fn remove(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;
}

/// A boxed future, as a list of unlike kinds needs it.
pub(super) type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A kind without its types.
pub(super) trait AnyKind: Sync {
    fn word(&self) -> &'static str;
    fn one(&self) -> &'static str;
    /// Reads the entries of a document.
    fn parse(
        &self,
        items: Vec<(Place, &Node)>,
        session: &Session<'_>,
        problems: &mut Problems,
    ) -> Box<dyn AnyEntries>;
    fn names<'a>(
        &'a self,
        db: &'a mut PgConnection,
        organisation: &'a str,
    ) -> Pending<'a, sqlx::Result<Vec<String>>>;
    fn read<'a>(
        &'a self,
        db: &'a mut PgConnection,
        organisation: &'a str,
        page: &'a Page<'a>,
    ) -> Pending<'a, sqlx::Result<Vec<(String, Value)>>>;
    /// Everything that a document would say.
    fn export<'a>(
        &'a self,
        db: &'a mut PgConnection,
        organisation: &'a str,
    ) -> Pending<'a, sqlx::Result<Vec<Value>>>;
    /// Stored objects as the audit shows them.
    fn load<'a>(
        &'a self,
        db: &'a mut PgConnection,
        organisation: &'a str,
        ids: &'a [String],
    ) -> Pending<'a, sqlx::Result<BTreeMap<String, Box<RawValue>>>>;
    fn uses<'a>(
        &'a self,
        db: &'a mut PgConnection,
        session: &'a Session<'a>,
        id: &'a str,
    ) -> Pending<'a, sqlx::Result<Vec<Use>>>;
    fn remove<'a>(
        &'a self,
        db: &'a mut PgConnection,
        session: &'a Session<'a>,
        id: &'a str,
    ) -> Pending<'a, sqlx::Result<()>>;
}

/// The entries of one kind, before anything stored is looked at.
pub(super) trait AnyEntries: Send + Sync {
    fn one(&self) -> &'static str;
    /// Whether there are none.
    fn is_empty(&self) -> bool;
    /// Ids that the entries bring.
    fn ids(&self) -> Vec<String>;
    /// Compares them with what is stored.
    fn plan<'a>(
        self: Box<Self>,
        db: &'a mut PgConnection,
        cx: &'a mut Planning<'_>,
    ) -> Pending<'a, sqlx::Result<Box<dyn AnyPlan>>>;
}

/// What becomes of the objects of one kind.
pub(super) trait AnyPlan: Send + Sync {
    fn changes(&self) -> Vec<Change>;
    /// Writes what changes, with its audit.
    fn write<'a>(
        &'a self,
        db: &'a mut PgConnection,
        session: &'a Session<'a>,
    ) -> Pending<'a, Result<(), ApplyError>>;
    fn announce<'a>(
        &'a self,
        db: &'a mut PgConnection,
        session: &'a Session<'a>,
    ) -> Pending<'a, sqlx::Result<()>>;
}

/// A kind in the list.
pub(super) struct Of<K>(PhantomData<fn() -> K>);

impl<K> Of<K> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

struct Entry<S> {
    at: Place,
    id: Field<String>,
    said: S,
}

struct Entries<K: Kind>(Vec<Entry<K::Said>>);

struct Plan<K: Kind>(Vec<Planned<K::Object>>);

impl<K: Kind> AnyKind for Of<K> {
    fn word(&self) -> &'static str {
        K::WORD
    }

    fn one(&self) -> &'static str {
        K::ONE
    }

    fn parse(
        &self,
        items: Vec<(Place, &Node)>,
        session: &Session<'_>,
        problems: &mut Problems,
    ) -> Box<dyn AnyEntries> {
        let mut entries = Vec::new();
        for (at, node) in items {
            if let Some(table) = Table::open(at, node, K::KEYS, problems) {
                let (id, said) = K::parse(&table, session, problems);
                let at = table.at;
                entries.push(Entry { at, id, said });
            }
        }
        refuse_twice(
            entries
                .iter()
                .filter_map(|entry| Some((&entry.at, entry.id.given()?.as_str()))),
            K::NAMED_BY,
            problems,
        );
        Box::new(Entries::<K>(entries))
    }

    fn names<'a>(
        &'a self,
        db: &'a mut PgConnection,
        organisation: &'a str,
    ) -> Pending<'a, sqlx::Result<Vec<String>>> {
        Box::pin(K::names(db, organisation))
    }

    fn read<'a>(
        &'a self,
        db: &'a mut PgConnection,
        organisation: &'a str,
        page: &'a Page<'a>,
    ) -> Pending<'a, sqlx::Result<Vec<(String, Value)>>> {
        Box::pin(K::read(db, organisation, page))
    }

    fn export<'a>(
        &'a self,
        db: &'a mut PgConnection,
        organisation: &'a str,
    ) -> Pending<'a, sqlx::Result<Vec<Value>>> {
        Box::pin(async move {
            let objects = K::load(db, organisation, None).await?;
            Ok(objects.values().map(K::export).collect())
        })
    }

    fn load<'a>(
        &'a self,
        db: &'a mut PgConnection,
        organisation: &'a str,
        ids: &'a [String],
    ) -> Pending<'a, sqlx::Result<BTreeMap<String, Box<RawValue>>>> {
        Box::pin(async move {
            let objects = K::load(db, organisation, Some(ids)).await?;
            let shown = |(id, object)| Ok((id, raw(&object)?));
            objects.into_iter().map(shown).collect()
        })
    }

    fn uses<'a>(
        &'a self,
        db: &'a mut PgConnection,
        session: &'a Session<'a>,
        id: &'a str,
    ) -> Pending<'a, sqlx::Result<Vec<Use>>> {
        Box::pin(K::uses(db, session, id))
    }

    fn remove<'a>(
        &'a self,
        db: &'a mut PgConnection,
        session: &'a Session<'a>,
        id: &'a str,
    ) -> Pending<'a, sqlx::Result<()>> {
        Box::pin(K::remove(db, session, id))
    }
}

impl<K: Kind> AnyEntries for Entries<K> {
    fn one(&self) -> &'static str {
        K::ONE
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn ids(&self) -> Vec<String> {
        self.0
            .iter()
            .filter_map(|entry| entry.id.given().cloned())
            .collect()
    }

    fn plan<'a>(
        self: Box<Self>,
        db: &'a mut PgConnection,
        cx: &'a mut Planning<'_>,
    ) -> Pending<'a, sqlx::Result<Box<dyn AnyPlan>>> {
        Box::pin(async move {
            let plan: Plan<K> = self.compare(db, cx).await?;
            Ok(Box::new(plan) as Box<dyn AnyPlan>)
        })
    }
}

impl<K: Kind> Entries<K> {
    async fn compare(self, db: &mut PgConnection, cx: &mut Planning<'_>) -> sqlx::Result<Plan<K>> {
        let ids = self.ids();
        if self.0.is_empty() {
            return Ok(Plan(Vec::new()));
        }
        let organisation = cx.session.organisation;
        let taken = K::taken(db, organisation, &ids).await?;
        let mut stored = K::load(db, organisation, Some(&ids)).await?;
        let mut planned = Vec::new();
        let mut seen = BTreeSet::new();
        for Entry { at, id, said } in self.0 {
            let is_repeat = id.given().is_some_and(|id| !seen.insert(id.clone()));
            let before = match &id {
                // Told already; what it leaves out may stand at the first.
                Field::Given(..) if is_repeat => Before::Unknown,
                Field::Given(_, id) => stored.get(id).map_or(Before::New, Before::Stored),
                // Whatever one is called whose id was refused, it is new; one that
                // names none may be any.
                Field::Refused => Before::New,
                Field::Absent => Before::Unknown,
            };
            let after = K::plan(&at, id.given().map(String::as_str), said, before, cx);
            let Field::Given(named, id) = id else {
                continue;
            };
            if is_repeat {
                continue;
            }
            if taken.contains(&id) {
                let what = format!("{id} is another organisation's {}", K::ONE);
                cx.problems.add(&named, what);
            } else if let Some(mut after) = after {
                let before = stored.remove(&id);
                let unseen = K::unseen(db, cx.session, before.as_ref(), &mut after).await?;
                let object = Planned::new(at, K::WORD, K::ID, id, before, after, &unseen);
                planned.push(object);
            }
        }
        K::check(&planned, db, cx).await?;
        Ok(Plan(planned))
    }
}

impl<K: Kind> AnyPlan for Plan<K> {
    fn changes(&self) -> Vec<Change> {
        self.0.iter().map(|object| object.change.clone()).collect()
    }

    fn write<'a>(
        &'a self,
        db: &'a mut PgConnection,
        session: &'a Session<'a>,
    ) -> Pending<'a, Result<(), ApplyError>> {
        Box::pin(async move {
            let mut entries = Vec::new();
            for object in self.0.iter().filter(|object| object.changes()) {
                K::put(object, db, session).await?;
                entries.push(audit::Owned {
                    action: object.change.action.as_str(),
                    kind: K::WORD,
                    object: object.change.id.clone(),
                    before: object.before.as_ref().map(raw).transpose()?,
                    after: Some(raw(&object.after)?),
                });
            }
            K::settle(&self.0, db, session).await?;
            audit::record_all(db, session.organisation, session.actor, &entries).await?;
            Ok(())
        })
    }

    fn announce<'a>(
        &'a self,
        db: &'a mut PgConnection,
        session: &'a Session<'a>,
    ) -> Pending<'a, sqlx::Result<()>> {
        Box::pin(K::announce(&self.0, db, session))
    }
}

fn raw(object: &impl Serialize) -> sqlx::Result<Box<RawValue>> {
    to_raw_value(object).map_err(|error| sqlx::Error::Encode(error.into()))
}
