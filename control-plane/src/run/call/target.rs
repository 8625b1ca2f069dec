//! What a name stands for in a turn.

use sqlx::PgConnection;

use super::super::offer::Source;
use super::super::snapshot::Snapshot;
use crate::store::scripts;
use crate::tools::{self, Filter, NativeTool, Place};

/// What a call's name reaches.
pub(super) enum Target {
    /// A tool in the box.
    Native(&'static NativeTool),
    /// A script under its own name.
    Script,
    /// Nothing: the sentence for the model.
    Nothing(String),
}

impl Target {
    /// Looks a name up in the turn's snapshot. A name that is out of the offer and
    /// still some tool's reads differently from one that no tool has.
    pub(super) async fn find(
        db: &mut PgConnection,
        snapshot: &Snapshot,
        name: &str,
    ) -> sqlx::Result<Self> {
        match (snapshot.offered.get(name), tools::find(name)) {
            (Some(Source::Native), Some(tool)) => Ok(Self::Native(tool)),
            (Some(Source::Script), _) => Ok(Self::Script),
            (_, Some(_)) => Ok(not_offered(name)),
            // A tool of the product whatever this version has of it.
            (_, None) if tools::names::all().any(|(known, _)| known == name) => {
                Ok(not_offered(name))
            }
            (_, None) => {
                let stored = scripts::all(db, &snapshot.agent).await?;
                let is_script = stored
                    .iter()
                    .any(|script| script.name == name && script.parameters.is_some());
                Ok(if is_script {
                    not_offered(name)
                } else {
                    Self::Nothing(format!("unknown tool {name}"))
                })
            }
        }
    }

    /// Whether a name is offered and its tool changes nothing in storage.
    pub(super) fn only_reads(snapshot: &Snapshot, name: &str) -> bool {
        matches!(snapshot.offered.get(name), Some(Source::Native))
            && tools::find(name).is_some_and(|tool| tool.place == Place::Reading)
    }

    pub(super) fn filter(&self) -> Filter {
        match self {
            Self::Native(tool) => tool.filter,
            Self::Script => Filter::Terminal,
            Self::Nothing(_) => Filter::None,
        }
    }

    pub(super) fn has_exit_code(&self) -> bool {
        match self {
            Self::Native(tool) => tool.exit_code,
            Self::Script => true,
            Self::Nothing(_) => false,
        }
    }

    pub(super) fn label(&self) -> &'static str {
        match self {
            Self::Native(tool) => tool.name,
            Self::Script => "script",
            Self::Nothing(_) => "unknown",
        }
    }
}

fn not_offered(name: &str) -> Target {
    Target::Nothing(format!("tool {name} is not offered this run"))
}
