//! A document with mistakes of every kind: each is told with its place, and nothing is applied.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::Stack;

/// Path of the problem, its message, and a text on the line that it names.
type Expected = (&'static str, &'static str, &'static str);

const ID: &str = "an id opens with a lower-case letter and has lower-case letters, digits and hyphens, at most 31 characters";

/// Mistakes of every kind; `ADA` and `SLOT` stand for a stored agent and its slot.
const DOCUMENT: &str = r#"organisation = "other"

[[guilds]]
id = "Core"

[[guilds]]
repositories = [{ name = "site", url = "https://token@example.com/site.git" }]

[[machines]]
id = "box"
address = "http://10.0.0.1:8443"

[[agents]]
id = "eve"
guild = "cor"
machine = "locla"
slot = 100
config = { broswer = true, max_tool_calls = 0 }

[[agents]]
id = "user"

[[agents]]
id = "mallory"
guild = "core"
machine = "local"
slot = SLOT

[[bindings]]
tool = "note_wirte"
agent = "ADA"
enabled = "no"

[[bindings]]
tool = "shell"
organisation = true
enabled = false

[[bindings]]
connector = "web-serch"
guild = "core"
enabled = false

[[collections]]
name = "note"
columns = [
  { name = "email2", type = "txt" },
  { name = "vip", type = "boolean", values = ["yes"] },
  { name = "id", type = "text" },
]
access = [
  { guild = "core", agent = "ADA", access = "read" },
  { organisation = true, access = "own" },
]

[[collections]]
name = "contacts"
unique = "emial"
columns = [{ name = "email", type = "text" }]

[[notes]]
path = "org/hand book.txt"
content = "x"

[[notes]]
path = "guild/core/task.md"
content = "x"

[[notes]]
path = "org/missing.md"
access = [{ agent = "nobody", access = "read" }]

[[connectors]]
id = "script"
kind = "tavly"
url = "https://api.example.com/?api_key=abc"
filters = { search = ".results", extract = "jq: " }

[[connectors]]
id = "web-search"
kind = "tavily"
url = "https://api.example.com"

[[logins]]
connector = "web-search"
status = "on"

[[logins]]
connector = "websearch"
organisation = true
key = "short"
tools = { search = 1 }

[[secrets]]
name = "PATH"
value = "long enough"

[[secrets]]
name = "STRIPE_KEY"
value_env = "X"
grants = ["carol", "ADA", "ADA"]

[[secrets]]
name = "OTHER_KEY"
value = "12345"
grants = "ADA"
"#;

fn expected() -> Vec<(String, String, String)> {
    let read: &[Expected] = &[
        (
            "organisation",
            "the token is one of organisation acme; a document changes its own organisation only",
            "organisation = \"other\"",
        ),
        ("guilds[0].id", "Core is no id; {ID}", "\"Core\""),
        (
            "guilds[1].repositories[0].url",
            "is no address of a repository; https://host/path without a user is allowed",
            "token@",
        ),
        ("guilds[1].id", "is missing (required)", "[[guilds]]#2"),
        (
            "machines[0].address",
            "is no address of a machine; https://host:port is allowed",
            "http://10",
        ),
        ("agents[0].slot", "is 100; 0 to 99 is allowed", "slot = 100"),
        (
            "agents[0].config.broswer",
            "is not a known key; allowed: browser, coding, scripting, memory, max_scripts, max_tool_calls; did you mean browser?",
            "broswer",
        ),
        (
            "agents[0].config.max_tool_calls",
            "is 0; 1 to 1000 is allowed",
            "max_tool_calls",
        ),
        (
            "agents[1].id",
            "user is the operator's name in the group chat; choose another id",
            "\"user\"",
        ),
        (
            "bindings[0].tool",
            "there is no tool or family of that name; allowed: a tool's name, or a family: note, record, memory, script, schedule, secret, group_post; did you mean note_write?",
            "note_wirte",
        ),
        (
            "bindings[0].enabled",
            "is a string; true or false is expected",
            "enabled = \"no\"",
        ),
        (
            "bindings[1].tool",
            "shell is not switched by bindings; browser and code tools follow an agent's config, and report_issue is always offered",
            "tool = \"shell\"",
        ),
        (
            "collections[0].name",
            "note is reserved, as are id, created_at, updated_at, collection; choose another name",
            "name = \"note\"",
        ),
        (
            "collections[0].columns[0].type",
            "txt is none of the allowed words; allowed: text, number, datetime, array, boolean; did you mean text?",
            "\"txt\"",
        ),
        (
            "collections[0].columns[1].values",
            "stands on a column of type boolean; columns of type text and array may list values",
            "\"vip\"",
        ),
        (
            "collections[0].columns[2].name",
            "id is reserved, as are created_at, updated_at, collection, note; choose another name",
            "name = \"id\"",
        ),
        (
            "collections[0].access[0]",
            "names agent and guild; exactly one of agent, guild and organisation = true is expected",
            "guild = \"core\", agent",
        ),
        (
            "collections[0].access[1].access",
            "own is none of the allowed words; allowed: none, read, write",
            "\"own\"",
        ),
        (
            "notes[0].path",
            "hand book.txt is no key of a note; a key ends in .md, opens with a letter or digit, and has letters, digits, spaces, dots, underscores and hyphens, at most 122 characters",
            "hand book.txt",
        ),
        (
            "notes[1].path",
            "task.md exists at level agent only; choose another key",
            "guild/core/task.md",
        ),
        (
            "connectors[0].kind",
            "tavly is none of the allowed words; allowed: tavily, mcp, github; did you mean tavily?",
            "tavly",
        ),
        (
            "connectors[0].url",
            "has a key in its query; an address is stored in clear, and a login's key is not",
            "api_key",
        ),
        (
            "connectors[0].filters.extract",
            "has nothing after jq:; a jq expression is expected",
            "filters",
        ),
        (
            "connectors[0].filters.search",
            "is no filter; a filter opens with jq: and goes on with a jq expression, such as jq:.results",
            "filters",
        ),
        (
            "connectors[0].id",
            "script is the name of a tool or of a family of tools, which bindings switch; choose another id",
            "\"script\"",
        ),
        (
            "logins[0]",
            "names none; exactly one of agent, guild and organisation = true is expected",
            "[[logins]]#1",
        ),
        (
            "logins[0].status",
            "on is none of the allowed words; allowed: pending, connected, disconnected",
            "status = \"on\"",
        ),
        (
            "logins[1].key",
            "has 5 bytes, 6 to 8192 are allowed",
            "key = \"short\"",
        ),
        (
            "logins[1].tools.search",
            "is an integer; true or false is expected",
            "tools =",
        ),
        (
            "secrets[0].name",
            "is a reserved name: a secret reaches programs as an environment variable, and every program's surroundings are described by PATH; choose another, such as MY_PATH",
            "\"PATH\"",
        ),
        (
            "secrets[1].value_env",
            "is read by the command line, from its environment, and sent as value; here only value is allowed",
            "value_env",
        ),
        (
            "secrets[1].grants[2]",
            "ADA stands at secrets[1].grants[1] already",
            "grants = [\"carol\"",
        ),
        (
            "secrets[2].value",
            "has 5 bytes, at least 6 are needed: a shorter one would be taken out of every text by accident",
            "12345",
        ),
        (
            "secrets[2].grants",
            "is a string; a list is expected",
            "grants = \"ADA\"",
        ),
        // What only shows against what is stored.
        (
            "agents[0].guild",
            "there is no guild cor in this organisation; allowed: core; did you mean core?",
            "\"cor\"",
        ),
        (
            "agents[0].machine",
            "there is no machine locla in this organisation; allowed: box, local; did you mean local?",
            "locla",
        ),
        (
            "agents[1].guild",
            "is missing (required for a new object)",
            "[[agents]]#2",
        ),
        (
            "agents[1].machine",
            "is missing (required for a new object)",
            "[[agents]]#2",
        ),
        (
            "agents[1].slot",
            "is missing (required for a new object)",
            "[[agents]]#2",
        ),
        (
            "agents[2].slot",
            "slot SLOT of machine local is agent ADA's; a slot holds one agent",
            "[[agents]]#3",
        ),
        (
            "bindings[2].connector",
            "there is no connector web-serch in this organisation; allowed: script, web-search; did you mean web-search?",
            "web-serch",
        ),
        (
            "collections[1].unique",
            "names no column of the collection; allowed: email; did you mean email?",
            "emial",
        ),
        (
            "notes[2].access[0].agent",
            "there is no agent nobody in this organisation; allowed: ADA, BOB, eve, mallory, user",
            "nobody",
        ),
        (
            "notes[2].content",
            "is missing (required for a new object)",
            "[[notes]]#3",
        ),
        (
            "logins[1].connector",
            "there is no connector websearch in this organisation; allowed: script, web-search; did you mean web-search?",
            "\"websearch\"",
        ),
        (
            "secrets[1].grants[0]",
            "there is no agent carol in this organisation; allowed: ADA, BOB, eve, mallory, user",
            "grants = [\"carol\"",
        ),
    ];
    read.iter()
        .map(|(path, message, line)| {
            (
                (*path).to_owned(),
                message.replace("{ID}", ID),
                (*line).to_owned(),
            )
        })
        .collect()
}

/// The number of the line with a text on it; `text#n` is its n-th line.
fn line_of(document: &str, text: &str) -> Result<usize> {
    let (text, nth) = match text.split_once("]#") {
        Some((text, nth)) => (format!("{text}]"), nth.parse()?),
        None => (text.to_owned(), 1_usize),
    };
    let (at, _) = document
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains(&text))
        .nth(nth - 1)
        .with_context(|| format!("no line with {text}"))?;
    Ok(at + 1)
}

/// Path and message of each problem, in the order of the answer.
pub(crate) fn problems(answer: &Value) -> Vec<(String, String)> {
    let word = |problem: &Value, key: &str| problem[key].as_str().unwrap_or_default().to_owned();
    answer["error"]["problems"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|problem| (word(problem, "path"), word(problem, "message")))
        .collect()
}

#[tokio::test]
async fn forty_mistakes_are_told_at_once_with_their_places_and_nothing_is_applied() -> Result<()> {
    let stack = Stack::storage().await?;
    let before = stack.operator.get("/v1/operator/export").await?.text;
    let named = |text: &str| {
        text.replace("ADA", &stack.ada.id)
            .replace("BOB", &stack.bob.id)
            .replace("SLOT", &stack.ada.slot().to_string())
    };
    let document = named(DOCUMENT);

    let answer = stack
        .operator
        .post_as("/v1/operator/apply", "application/toml", &document)
        .await?;
    assert_eq!(answer.refusal(), (422, "document_rejected".to_owned()));
    let mut wanted = Vec::new();
    let mut without_lines = Vec::new();
    for (path, message, line) in expected() {
        let line = line_of(&document, &named(&line))?;
        without_lines.push((path.clone(), named(&message)));
        wanted.push((path, format!("{} (line {line})", named(&message))));
    }
    assert_eq!(problems(&answer.json()?), wanted);

    // The same in JSON, which tells no lines; its keys come in another order.
    let table: toml::Table = toml::from_str(&document)?;
    let answer = stack
        .operator
        .post("/v1/operator/apply", &serde_json::to_value(table)?)
        .await?;
    assert_eq!(answer.refusal(), (422, "document_rejected".to_owned()));
    let mut found = problems(&answer.json()?);
    found.sort();
    without_lines.sort();
    assert_eq!(found, without_lines);

    assert_eq!(
        stack.operator.get("/v1/operator/export").await?.text,
        before
    );
    let mut db = stack.database().await?;
    let audited: i64 = sqlx::query_scalar("SELECT count(*) FROM audit WHERE kind <> 'agents'")
        .fetch_one(&mut db)
        .await?;
    assert_eq!(audited, 2, "the stack's own guild and machine");
    Ok(())
}

#[tokio::test]
async fn of_more_than_200_problems_the_first_200_are_told() -> Result<()> {
    let stack = Stack::storage().await?;
    for (count, message) in [
        (200, "the document has 200 problems"),
        (
            201,
            "the document has more than 200 problems; the first 200 follow",
        ),
    ] {
        let guilds: Vec<Value> = (0..count).map(|_| json!({ "id": "No Id" })).collect();
        let document = json!({ "guilds": guilds });
        let answer = stack.operator.post("/v1/operator/apply", &document).await?;
        assert_eq!(answer.refusal(), (422, "document_rejected".to_owned()));
        let answer = answer.json()?;
        assert_eq!(answer["error"]["message"], message);
        let told = problems(&answer);
        assert_eq!(told.len(), 200);
        assert_eq!(told[199].0, "guilds[199].id");
    }
    Ok(())
}

#[tokio::test]
async fn an_object_that_stands_twice_is_told_so_and_misses_nothing() -> Result<()> {
    let stack = Stack::storage().await?;
    let ada = &stack.ada.id;
    let document = json!({
        "machines": [
            { "id": "new-one", "address": "https://127.0.0.1:1" },
            { "id": "new-one" },
        ],
        "agents": [
            { "id": ada, "config": { "coding": true } },
            { "id": ada, "config": { "browser": true }, "slot": 200 },
        ],
    });
    let answer = stack.operator.post("/v1/operator/apply", &document).await?;
    assert_eq!(
        problems(&answer.json()?),
        [
            (
                "machines[1].id",
                "new-one stands at machines[0] already".to_owned()
            ),
            ("agents[1].slot", "is 200; 0 to 99 is allowed".to_owned()),
            ("agents[1].id", format!("{ada} stands at agents[0] already")),
        ]
        .map(|(path, message)| (path.to_owned(), message))
    );
    Ok(())
}
