//! When schedules fire: their rules, without a database and without a clock.
//!
//! Time is whole minutes since 1970 UTC. What a draw needs of the past is a [`Plan`],
//! which stands with the schedule: no restart, replica or listing draws again.

pub mod cron;
pub mod draw;
pub mod window;

use self::cron::Cron;
use self::window::Window;

/// Whole minutes since 1970-01-01T00:00Z.
pub type Minute = i64;

/// Consecutive wake-ups of a schedule are at least this many minutes apart.
pub const APART: Minute = 5;

/// When a schedule fires.
#[derive(Debug, Clone)]
pub enum Rule {
    /// By the clock, in UTC.
    Cron(Cron),
    /// At random inside a window of local time.
    Window(Box<Window>),
}

/// What was drawn for one day's window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The local date on which the window opens, in days since 1970-01-01.
    pub day: i32,
    /// The minutes drawn, also those that have passed, in order.
    pub minutes: Vec<Minute>,
}

/// When a schedule fires next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The minute.
    pub at: Minute,
    /// The draw it comes from; none for a cron schedule.
    pub plan: Option<Plan>,
}

/// From when on a schedule may fire.
#[derive(Debug, Clone, Copy)]
pub struct From {
    /// Only after this minute.
    pub after: Minute,
    /// And not before this one, which keeps a distance from the fire before.
    pub earliest: Minute,
}

impl From {
    fn allows(self, minute: Minute) -> bool {
        minute > self.after && minute >= self.earliest
    }
}

impl Rule {
    /// The next fire, if there ever is one. `seed` keys a window's draws, and `plan` is the
    /// draw that the fire before came from.
    #[must_use]
    pub fn next(&self, seed: &[u8], from: From, plan: Option<&Plan>) -> Option<Next> {
        match self {
            Self::Cron(cron) => {
                let at = cron.next(from.after.max(from.earliest - 1))?;
                Some(Next { at, plan: None })
            }
            Self::Window(window) => window.next(seed, from, plan),
        }
    }
}
