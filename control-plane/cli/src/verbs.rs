//! What the command line can do: one file a verb, and the list of them.

mod agent;
mod apply;
mod audit;
mod binding;
pub(crate) mod call;
mod collection;
mod completion;
mod connector;
mod diff;
mod doctor;
mod export;
mod guild;
mod inbox;
mod login;
mod machine;
mod note;
mod record;
mod run;
mod schedule;
mod script;
mod secret;
mod status;
mod why;

use clap::Subcommand;

use crate::Context;
use crate::error::{Exit, Failure};
use crate::kind::Kind;

macro_rules! verbs {
    ($($(#[$words:meta])* $name:ident($module:ident)),* $(,)?) => {
        /// A verb with its arguments.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Verb {
            $($(#[$words])* $name($module::Arguments),)*
        }

        impl Verb {
            /// Does it.
            ///
            /// # Errors
            /// When it can't be done.
            pub(crate) async fn run(&self, context: &Context) -> Result<Exit, Failure> {
                match self {
                    $(Self::$name(arguments) => $module::run(arguments, context).await,)*
                }
            }
        }
    };
}

verbs! {
    /// Make the organisation as a document says.
    Apply(apply),
    /// Tell what a document would change; exit 2 when it would change something.
    Diff(diff),
    /// Write the organisation as a document, without secret values.
    Export(export),
    /// See machines, agents, open runs and the inbox on one screen.
    Status(status),
    /// Tell why an agent has a tool or doesn't have it.
    Why(why),
    /// Call one tool for an agent, in a run of its own.
    Call(call),
    /// Runs: list, show their calls, follow one, end one.
    Run(run),
    /// Guilds: list, show, remove.
    Guild(guild),
    /// Machines: list, show, remove.
    Machine(machine),
    /// Agents: list, show, remove.
    Agent(agent),
    /// Bindings, which switch tools and connectors on and off: list, show, remove.
    Binding(binding),
    /// Collections: list, show, remove with their records.
    Collection(collection),
    /// Records of a collection: list, show, history, restore.
    Record(record),
    /// Notes: list, show, history, restore, remove.
    Note(note),
    /// Connectors: list, show, remove.
    Connector(connector),
    /// Logins of connectors: list, show, set, remove.
    Login(login),
    /// Secrets: list, set, grant, and the requests for them.
    Secret(secret),
    /// Agents' scripts: list, show.
    Script(script),
    /// Agents' schedules: list, show, pause, resume.
    Schedule(schedule),
    /// Issues and requests that wait for an answer: list, show, resolve, reopen.
    Inbox(inbox),
    /// Who changed what and when.
    Audit(audit),
    /// Check that everything this program needs is in order.
    Doctor(doctor),
    /// Write the completion script of a shell.
    Completion(completion),
}

/// The kinds that are listed, shown or removed by their id, for completion.
pub(crate) const KINDS: [&Kind; 10] = [
    &agent::KIND,
    &binding::KIND,
    &collection::KIND,
    &connector::KIND,
    &guild::KIND,
    &login::KIND,
    &machine::KIND,
    &note::KIND,
    &script::KIND,
    &secret::KIND,
];
