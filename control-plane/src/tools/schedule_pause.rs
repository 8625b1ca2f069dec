//! `schedule_pause`: stop a schedule firing.

use super::schedule_entry::{ONE_EXAMPLE, ONE_SCHEMA, One, answer, own};
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::schedules::writing;

pub(super) struct SchedulePause;

impl Tool for SchedulePause {
    const NAME: &'static str = "schedule_pause";
    const DESCRIPTION: &'static str = "Stops one of your schedules from firing until schedule_resume. What it misses meanwhile never fires. Answers the schedule.";
    const SCHEMA: &'static str = ONE_SCHEMA;
    const EXAMPLE: &'static str = ONE_EXAMPLE;
    const OFFERED: Offered = Offered::Binding(Family::Schedule);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = One;

    async fn run(cx: Cx<'_>, args: One) -> Result<Answer, ToolError> {
        let agent = &cx.caller.agent;
        let stored = own(cx.db, agent, &args.schedule_id).await?;
        writing::pause(cx.db, stored.id).await?;
        answer(cx.db, agent, stored.id).await
    }
}
