//! Routines: six tools manage the agent's own schedules.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::{Run, Stack};

const TOOLS: [&str; 6] = [
    "schedule_create_cron",
    "schedule_create_window",
    "schedule_list",
    "schedule_pause",
    "schedule_resume",
    "schedule_delete",
];

async fn started(stack: &Stack, kind: &str) -> Result<Run> {
    let start = json!({ "agent": stack.ada.id, "kind": kind });
    stack.backend.start(&start).await
}

fn tool<'a>(run: &'a Run, name: &str) -> Result<&'a Value> {
    let tools = run.body["tools"].as_array().context("tools")?;
    let found = tools.iter().find(|tool| tool["name"] == name);
    found.with_context(|| name.to_owned())
}

fn keys(schema: &Value) -> Vec<&str> {
    schema["properties"]
        .as_object()
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

#[tokio::test]
async fn six_tools_with_these_parameters_are_in_direct_and_group_chat_runs_alone() -> Result<()> {
    let stack = Stack::storage().await?;
    let window = [
        "timezone",
        "start",
        "end",
        "max_wakes",
        "description",
        "instruction",
    ];
    let parameters: [&[&str]; 6] = [
        &["cron", "description", "instruction"],
        &window,
        &[],
        &["schedule_id"],
        &["schedule_id"],
        &["schedule_id"],
    ];
    for kind in ["direct", "group_chat"] {
        let run = started(&stack, kind).await?;
        for (name, parameters) in TOOLS.into_iter().zip(parameters) {
            let schema = &tool(&run, name)?["input_schema"];
            assert_eq!(keys(schema), parameters, "{name}");
            // Each of them is required.
            let required = schema["required"].as_array().map_or(0, Vec::len);
            assert_eq!(required, parameters.len(), "{name}");
        }
    }
    let run = started(&stack, "schedule").await?;
    for name in TOOLS {
        assert!(tool(&run, name).is_err(), "{name}");
        let refused = run.call(name, json!({})).await?;
        assert_eq!(
            refused.text(),
            format!("ERROR: tool {name} is not offered this run")
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_cron_has_five_fields_in_utc_and_wake_ups_are_five_minutes_apart() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = started(&stack, "direct").await?;
    let make = async |cron: &str| {
        let arguments = json!({ "cron": cron, "description": "d", "instruction": "i" });
        run.call("schedule_create_cron", arguments).await
    };
    for cron in [
        "0 9 * * *",
        "*/5 * * * *",
        "0 9 13 * FRI",
        "15 6 1-7 JAN-MAR 0,7",
    ] {
        let made = make(cron).await?.json();
        assert_eq!(made["schedule"]["cron"], cron);
        let next = made["schedule"]["next_fire"]
            .as_str()
            .context("next_fire")?;
        assert!(next.ends_with('Z'), "{next}");
    }
    for cron in [
        "0 9 * *",
        "0 0 9 * * *",
        "@daily",
        "*/4 * * * *",
        "*/7 * * * *",
        "0 0 31 2 *",
        "0 0 L * *",
    ] {
        let refused = make(cron).await?;
        assert!(
            refused.text().starts_with("ERROR: 422 "),
            "{cron}: {refused:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_window_has_a_zone_local_times_and_the_most_wake_ups() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = started(&stack, "direct").await?;
    let make = async |timezone: &str, start: &str, end: &str, max_wakes: i64| {
        let arguments = json!({ "timezone": timezone, "start": start, "end": end, "max_wakes": max_wakes,
            "description": "d", "instruction": "i" });
        run.call("schedule_create_window", arguments).await
    };
    // The second one spans midnight.
    for (start, end, most) in [
        ("09:00", "17:00", 96),
        ("22:00", "06:00", 96),
        ("23:59", "00:01", 1),
    ] {
        let made = make("America/New_York", start, end, most).await?.json();
        assert_eq!(made["schedule"]["kind"], "window", "{start}");
        let more = make("America/New_York", start, end, most + 1).await?;
        assert!(more.text().contains(&format!(" fits {most},")), "{more:?}");
    }
    for (timezone, start, end, wakes) in [
        ("Mars/Base", "09:00", "17:00", 1),
        ("UTC+2", "09:00", "17:00", 1),
        ("UTC", "9:00", "17:00", 1),
        ("UTC", "09:00", "24:00", 1),
        ("UTC", "09:00", "09:00", 1),
        ("UTC", "09:00", "17:00", 0),
    ] {
        let refused = make(timezone, start, end, wakes).await?;
        assert!(
            refused.text().starts_with("ERROR: "),
            "{timezone} {start}: {refused:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_description_is_one_line_of_400_characters_and_an_instruction_has_2000() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = started(&stack, "direct").await?;
    let make = async |description: &str, instruction: &str| {
        let arguments =
            json!({ "cron": "0 9 * * *", "description": description, "instruction": instruction });
        run.call("schedule_create_cron", arguments).await
    };
    let made = make(&"ü".repeat(400), &"ü\n".repeat(1_000)).await?;
    assert_eq!(made.metadata["error"], Value::Null, "{made:?}");
    for (description, instruction) in [
        ("d".repeat(401), "i".to_owned()),
        ("d\nd".to_owned(), "i".to_owned()),
        ("d".to_owned(), "i".repeat(2_001)),
    ] {
        let refused = make(&description, &instruction).await?;
        assert!(refused.text().starts_with("ERROR: 422 "), "{refused:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_instruction_is_stored_and_passed_on_the_wake_up_and_a_delete_ends_it() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = started(&stack, "direct").await?;
    let instruction = "# Do\n\n* this\n";
    let arguments =
        json!({ "cron": "0 9 * * *", "description": "Label", "instruction": instruction });
    let made = run.call("schedule_create_cron", arguments).await?.json();
    let mut db = stack.database().await?;
    sqlx::query("UPDATE schedules SET next_fire = now()")
        .execute(&mut db)
        .await?;
    let told = stack.backend.get("/v1/events?wait=20").await?.expect(200)?;
    let event = &told["events"][0];
    assert_eq!(
        (&event["type"], &event["description"], &event["instruction"]),
        (&json!("wakeup"), &json!("Label"), &json!(instruction))
    );
    let own = json!({ "schedule_id": made["schedule"]["schedule_id"] });
    run.call("schedule_delete", own.clone()).await?;
    let again = run.call("schedule_resume", own).await?;
    assert!(again.text().starts_with("ERROR: 404 "), "{again:?}");
    Ok(())
}
