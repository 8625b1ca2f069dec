//! What is wrong in a document itself, as an operator reads it.

use super::*;

/// The organisation of the tests, with a key file of its own.
fn in_acme<T>(work: impl FnOnce(&Session<'_>) -> T) -> T {
    use std::os::unix::fs::PermissionsExt as _;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{}\n", "0123456789abcdef".repeat(4))).unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
    let vault = crate::vault::Vault::read(file.path()).unwrap();
    work(&Session {
        organisation: "acme",
        actor: "operator:test",
        vault: &vault,
    })
}

#[track_caller]
fn check(format: Format, text: &str, expected: &[(&str, &str)]) {
    let document = match in_acme(|acme| read(text.as_bytes(), format, acme)) {
        Ok(document) => document,
        Err(problems) => panic!("unreadable: {problems:?}"),
    };
    let found = document.problems.into_result().err().unwrap_or_default();
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|problem| (problem.path.as_str(), problem.message.as_str()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_whole_document_reads() {
    check(
        Format::Toml,
        r#"
organisation = "acme"
[[guilds]]
id = "core"
repositories = [{ name = "site", url = "https://github.com/acme/site.git" }]
[[machines]]
id = "local"
address = "https://127.0.0.1:8443"
[[agents]]
id = "ada"
guild = "core"
machine = "local"
slot = 1
config = { browser = true, max_tool_calls = 1000 }
[[bindings]]
tool = "note_delete"
agent = "ada"
enabled = false
[[bindings]]
tool = "record"
organisation = true
enabled = true
"#,
        &[],
    );
}

#[test]
fn every_problem_is_told_with_its_path_and_line() {
    check(
        Format::Toml,
        r#"organisation = "other"
[[agents]]
id = "Ada"
slot = 100
config = { brwser = true, max_tool_calls = 0 }
[[agents]]
id = "user"
slot = "1"
"#,
        &[
            (
                "organisation",
                "the token is one of organisation acme; a document changes its own organisation only (line 1)",
            ),
            ("agents[0].slot", "is 100; 0 to 99 is allowed (line 4)"),
            (
                "agents[0].config.brwser",
                "is not a known key; allowed: browser, coding, scripting, memory, max_scripts, max_tool_calls; did you mean browser? (line 5)",
            ),
            (
                "agents[0].config.max_tool_calls",
                "is 0; 1 to 1000 is allowed (line 5)",
            ),
            (
                "agents[0].id",
                "Ada is no id; an id opens with a lower-case letter and has lower-case letters, digits and hyphens, at most 31 characters (line 3)",
            ),
            (
                "agents[1].slot",
                "is a string; an integer from 0 to 99 is expected (line 8)",
            ),
            (
                "agents[1].id",
                "user is the operator's name in the group chat; choose another id (line 7)",
            ),
        ],
    );
}

#[test]
fn json_has_paths_and_no_lines() {
    check(
        Format::Json,
        r#"{"machines":[{"id":"a","address":"http://x"},{"address":"https://x:1"}],"guilds":7}"#,
        &[
            ("guilds", "is an integer; a list is expected"),
            (
                "machines[0].address",
                "is no address of a machine; https://host:port is allowed",
            ),
            ("machines[1].id", "is missing (required)"),
        ],
    );
}

#[test]
fn a_key_that_is_no_kind_is_refused_with_what_is_known() {
    check(
        Format::Json,
        r#"{"tools":[],"agnets":[]}"#,
        &[
            (
                "tools",
                "is not a known key; allowed: organisation, guilds, machines, agents, bindings, collections, notes, connectors, logins, secrets",
            ),
            (
                "agnets",
                "is not a known key; allowed: organisation, guilds, machines, agents, bindings, collections, notes, connectors, logins, secrets; did you mean agents?",
            ),
        ],
    );
}

#[test]
fn a_binding_switches_what_bindings_switch_at_one_level() {
    check(
        Format::Json,
        r#"{"bindings":[
            {"tool":"browser_click","agent":"ada","enabled":false},
            {"tool":"report_issue","organisation":true,"enabled":false},
            {"tool":"shell_status","guild":"core","enabled":false},
            {"tool":"note_wirte","guild":"core","enabled":false},
            {"connector":"web-search","guild":"core","enabled":false},
            {"tool":"note","enabled":false},
            {"tool":"note","agent":"ada","guild":"core","enabled":1},
            {"tool":"note","organisation":false},
            {"tool":"memory_write","agent":"ada","enabled":true},
            {"tool":"memory_write","agent":"ada","enabled":false}
        ]}"#,
        &[
            (
                "bindings[0].tool",
                "browser_click is not switched by bindings; browser and code tools follow an agent's config, and report_issue is always offered",
            ),
            (
                "bindings[1].tool",
                "report_issue is not switched by bindings; browser and code tools follow an agent's config, and report_issue is always offered",
            ),
            (
                "bindings[2].tool",
                "shell_status is not switched by bindings; browser and code tools follow an agent's config, and report_issue is always offered",
            ),
            (
                "bindings[3].tool",
                "there is no tool or family of that name; allowed: a tool's name, or a family: note, record, memory, script, schedule, secret, group_post; did you mean note_write?",
            ),
            (
                "bindings[5]",
                "names none; exactly one of agent, guild and organisation = true is expected",
            ),
            (
                "bindings[6]",
                "names agent and guild; exactly one of agent, guild and organisation = true is expected",
            ),
            (
                "bindings[6].enabled",
                "is an integer; true or false is expected",
            ),
            (
                "bindings[7].organisation",
                "is false; leave it out, or say true",
            ),
            ("bindings[7].enabled", "is missing (required)"),
            (
                "bindings[9]",
                "agent:ada:memory_write stands at bindings[8] already",
            ),
        ],
    );
}

#[test]
fn a_repository_has_a_name_and_an_address_without_a_user() {
    check(
        Format::Json,
        r#"{"guilds":[{"id":"core","repositories":[
            {"name":"a/b","url":"https://github.com/x.git"},
            {"name":"a","url":"https://token@github.com/x.git"},
            {"name":"c"},
            {"name":"d","url":"https://h/d"},{"name":"d","url":"https://h/e"}
        ]},{"id":"core"}]}"#,
        &[
            (
                "guilds[0].repositories[0].name",
                "is no name of a repository; letters, digits, dots, underscores and hyphens are allowed, at most 100, the first a letter or digit",
            ),
            (
                "guilds[0].repositories[1].url",
                "is no address of a repository; https://host/path without a user is allowed",
            ),
            ("guilds[0].repositories[2].url", "is missing (required)"),
            (
                "guilds[0].repositories[4].name",
                "is the name of another repository of this guild",
            ),
            ("guilds[1].id", "core stands at guilds[0] already"),
        ],
    );
}

#[test]
fn a_collection_has_1_to_64_columns_each_named_once() {
    let column = |n: usize| format!(r#"{{"name":"c{n}","type":"text"}}"#);
    let columns = |count: usize| (0..count).map(column).collect::<Vec<_>>().join(",");
    let document =
        |columns: String| format!(r#"{{"collections":[{{"name":"a","columns":[{columns}]}}]}}"#);
    check(Format::Json, &document(columns(64)), &[]);
    check(
        Format::Json,
        &document(columns(65)),
        &[(
            "collections[0].columns",
            "has 65 columns; at most 64 are allowed",
        )],
    );
    check(
        Format::Json,
        &document(String::new()),
        &[(
            "collections[0].columns",
            "is empty; a collection has at least one column",
        )],
    );
    let longest = "x".repeat(63);
    check(
        Format::Json,
        &document(format!(
            r#"{{"name":"{longest}","type":"text"}},{{"name":"{longest}","type":"array","values":["a","","a"]}},{{"name":"{longest}x","type":"text","values":[]}},{{"type":7}}"#
        )),
        &[
            (
                "collections[0].columns[1].name",
                &format!("{longest} is the name of another column of this collection"),
            ),
            (
                "collections[0].columns[1].values[1]",
                "is empty or too long; 1 to 200 characters are allowed",
            ),
            (
                "collections[0].columns[1].values[2]",
                "a stands in the list already",
            ),
            (
                "collections[0].columns[2].name",
                &format!(
                    "{} is no name of a column; a name opens with a lower-case letter and has lower-case letters, digits and underscores, at most 63 characters",
                    crate::tools::validation::shown(&format!("{longest}x"))
                ),
            ),
            (
                "collections[0].columns[2].values",
                "has 0 values; 1 to 200 are allowed, and without the list any value is",
            ),
            ("collections[0].columns[3].name", "is missing (required)"),
            (
                "collections[0].columns[3].type",
                "is an integer; a string is expected",
            ),
        ],
    );
}

#[test]
fn what_the_command_line_reads_is_sent_as_a_value_and_never_shown() {
    check(
        Format::Json,
        r#"{"secrets":[
            {"name":"sk_live_1234","value":"sk_live_1234"},
            {"name":"A_KEY","value":12345678},
            {"name":"B_KEY","value_env":"B"},
            {"name":"C_KEY","value":"a\u0000bcdef"},
            {"name":"D_KEY","value_env":5}
        ],"logins":[{"connector":"search","organisation":true,"key_env":"K","key":"two words"}]}"#,
        &[
            (
                "logins[0].key",
                "holds a space, a line break or another character that no header can carry; letters, digits and punctuation of ASCII are allowed",
            ),
            (
                "logins[0].key_env",
                "is read by the command line, from its environment, and sent as key; here only key is allowed",
            ),
            (
                "secrets[0].name",
                "is no name of a secret; allowed is ^[A-Z][A-Z0-9_]{0,63}$, such as STRIPE_KEY",
            ),
            ("secrets[1].value", "is an integer; a string is expected"),
            (
                "secrets[2].value_env",
                "is read by the command line, from its environment, and sent as value; here only value is allowed",
            ),
            ("secrets[3].value", "holds U+0000, which can't be stored"),
            (
                "secrets[4].value_env",
                "is an integer; a string is expected",
            ),
        ],
    );
}

#[test]
fn a_note_has_a_path_of_one_level_and_at_most_200_000_characters() {
    let note = |path: &str, content: &str| {
        format!(r#"{{"notes":[{{"path":"{path}","content":"{content}"}}]}}"#)
    };
    check(Format::Json, &note("org/a.md", &"é".repeat(200_000)), &[]);
    check(
        Format::Json,
        &note("org/a.md", &"é".repeat(200_001)),
        &[(
            "notes[0].content",
            "has 200001 characters; at most 200000 are allowed",
        )],
    );
    for path in ["a.md", "org/a/b.md", "record/x/1", "guild/Core/a.md"] {
        check(
            Format::Json,
            &note(path, "x"),
            &[(
                "notes[0].path",
                &format!(
                    "{path} is no path of a note; paths are agent/<agent>/<key>, guild/<guild>/<key> and org/<key>, and notes have no folders"
                ),
            )],
        );
    }
    check(Format::Json, &note("agent/ada/task.md", ""), &[]);
    check(
        Format::Json,
        &note("org/memory.md", ""),
        &[(
            "notes[0].path",
            "memory.md exists at level agent only; choose another key",
        )],
    );
}

#[test]
fn what_is_no_document_is_told() {
    let told = |format, text: &[u8]| {
        in_acme(|acme| read(text, format, acme))
            .err()
            .map(|list| list.len())
    };
    assert_eq!(told(Format::Json, b"{"), Some(1));
    assert_eq!(told(Format::Json, b"[]"), Some(1));
    assert_eq!(told(Format::Json, b""), Some(1));
    assert_eq!(told(Format::Toml, b"\xff"), Some(1));
    assert_eq!(told(Format::Toml, b""), None);
}
