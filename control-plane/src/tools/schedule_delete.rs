//! `schedule_delete`: remove a schedule for good.

use serde::Serialize;
use uuid::Uuid;

use super::schedule_entry::{ONE_EXAMPLE, ONE_SCHEMA, One, own};
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::schedules::writing;

pub(super) struct ScheduleDelete;

#[derive(Serialize)]
struct Deleted {
    schedule_id: Uuid,
    deleted: bool,
}

impl Tool for ScheduleDelete {
    const NAME: &'static str = "schedule_delete";
    const DESCRIPTION: &'static str = "Removes one of your schedules for good: it never fires again and leaves schedule_list. To stop it for a while use schedule_pause.";
    const SCHEMA: &'static str = ONE_SCHEMA;
    const EXAMPLE: &'static str = ONE_EXAMPLE;
    const OFFERED: Offered = Offered::Binding(Family::Schedule);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = One;

    async fn run(cx: Cx<'_>, args: One) -> Result<Answer, ToolError> {
        let stored = own(cx.db, &cx.caller.agent, &args.schedule_id).await?;
        writing::delete(cx.db, stored.id).await?;
        Ok(Answer::Text(serde_json::to_string(&Deleted {
            schedule_id: stored.id,
            deleted: true,
        })?))
    }
}
