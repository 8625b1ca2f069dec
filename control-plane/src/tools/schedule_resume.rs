//! `schedule_resume`: let a paused schedule fire again, from now on.

use super::schedule_entry::{ONE_EXAMPLE, ONE_SCHEMA, One, activate, answer, own};
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};

pub(super) struct ScheduleResume;

impl Tool for ScheduleResume {
    const NAME: &'static str = "schedule_resume";
    const DESCRIPTION: &'static str = "Lets one of your paused schedules fire again. Its next fire is computed from now, at least 5 minutes after its last one; what it missed while it was paused never fires. Answers the schedule.";
    const SCHEMA: &'static str = ONE_SCHEMA;
    const EXAMPLE: &'static str = ONE_EXAMPLE;
    const OFFERED: Offered = Offered::Binding(Family::Schedule);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = One;

    async fn run(cx: Cx<'_>, args: One) -> Result<Answer, ToolError> {
        let agent = &cx.caller.agent;
        let stored = own(cx.db, agent, &args.schedule_id).await?;
        // One that was not paused may be due at this moment, and that fire stays.
        if stored.paused {
            activate(cx.db, &stored).await?;
        }
        answer(cx.db, agent, stored.id).await
    }
}
