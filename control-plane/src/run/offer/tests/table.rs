//! Every combination of flags, kinds of run and bindings against the specification's table.

use super::super::*;
use super::{agent, script};
use crate::store::agents::AgentConfig;
use crate::store::bindings::Level;
use crate::tools::{Family, TOOLS};

/// Flags of an agent, as the table names them.
const BROWSER: usize = 0;
const CODING: usize = 1;
const SCRIPTING: usize = 2;
const MEMORY: usize = 3;

/// Direct, group chat, schedule.
const ANY: [bool; 3] = [true, true, true];
const CHATS: [bool; 3] = [true, true, false];
const DIRECT: [bool; 3] = [true, false, false];

/// A row of "What a run offers": tool, flag that has to be on, family that a binding
/// switches, kinds of run that offer it.
type Row = (&'static str, Option<usize>, Option<&'static str>, [bool; 3]);

/// The specification's table, tool by tool.
const TABLE: [Row; 38] = [
    ("browser_click", Some(BROWSER), None, ANY),
    ("browser_eval", Some(BROWSER), None, ANY),
    ("browser_fill", Some(BROWSER), None, ANY),
    ("browser_navigate", Some(BROWSER), None, ANY),
    ("browser_screenshot", Some(BROWSER), None, ANY),
    ("browser_scroll", Some(BROWSER), None, ANY),
    ("browser_snapshot", Some(BROWSER), None, ANY),
    ("browser_type", Some(BROWSER), None, ANY),
    ("code_search", Some(CODING), None, ANY),
    ("code_task", Some(CODING), None, ANY),
    ("file_read", Some(CODING), None, ANY),
    ("group_post", None, Some("group_post"), ANY),
    ("memory_write", Some(MEMORY), Some("memory"), ANY),
    ("note_delete", None, Some("note"), ANY),
    ("note_find", None, Some("note"), ANY),
    ("note_get", None, Some("note"), ANY),
    ("note_write", None, Some("note"), ANY),
    ("record_add", None, Some("record"), ANY),
    ("record_list", None, Some("record"), ANY),
    ("record_remove", None, Some("record"), ANY),
    ("record_search", None, Some("record"), ANY),
    ("record_update", None, Some("record"), ANY),
    ("report_issue", None, None, ANY),
    ("schedule_create_cron", None, Some("schedule"), CHATS),
    ("schedule_create_window", None, Some("schedule"), CHATS),
    ("schedule_delete", None, Some("schedule"), CHATS),
    ("schedule_list", None, Some("schedule"), CHATS),
    ("schedule_pause", None, Some("schedule"), CHATS),
    ("schedule_resume", None, Some("schedule"), CHATS),
    ("script_create", Some(SCRIPTING), Some("script"), ANY),
    ("script_delete", Some(SCRIPTING), Some("script"), ANY),
    ("script_list", Some(SCRIPTING), Some("script"), ANY),
    ("script_read", Some(SCRIPTING), Some("script"), ANY),
    ("script_run", Some(SCRIPTING), Some("script"), ANY),
    ("secret_request", None, Some("secret"), DIRECT),
    ("secret_store", None, Some("secret"), ANY),
    ("shell", Some(CODING), None, ANY),
    ("shell_status", Some(CODING), None, ANY),
];

/// What the rows of one tool say, nearest level first: of each level the tool's own
/// and its family's; none, on or off.
type Rows = [[Option<bool>; 2]; 3];

/// The specification in words of its own: the nearest level with a row decides, the
/// tool's own row before its family's, and no row means enabled.
fn is_enabled(rows: &Rows) -> bool {
    for [own, family] in rows {
        if let Some(word) = own.or(*family) {
            return word;
        }
    }
    true
}

fn is_offered(row: &Row, flags: [bool; 4], kind: usize, rows: &Rows) -> bool {
    let (_, flag, family, kinds) = row;
    flag.is_none_or(|flag| flags[flag]) && kinds[kind] && (family.is_none() || is_enabled(rows))
}

fn config(flags: [bool; 4]) -> AgentConfig {
    AgentConfig {
        browser: flags[BROWSER],
        coding: flags[CODING],
        scripting: flags[SCRIPTING],
        memory: flags[MEMORY],
        ..AgentConfig::default()
    }
}

fn all_flags() -> impl Iterator<Item = [bool; 4]> {
    (0..16).map(|bits| std::array::from_fn(|flag| bits >> flag & 1 == 1))
}

/// All 729 states of two rows on three levels.
fn all_rows() -> impl Iterator<Item = Rows> {
    (0..729_usize).map(|number| {
        let digit = |place: u32| match number / 3_usize.pow(place) % 3 {
            0 => None,
            1 => Some(false),
            _ => Some(true),
        };
        [
            [digit(0), digit(1)],
            [digit(2), digit(3)],
            [digit(4), digit(5)],
        ]
    })
}

/// The rows as bindings, those of each level in the order that a database gives.
fn bindings(tool: &str, family: &str, rows: &Rows) -> Vec<Binding> {
    let mut all = Vec::new();
    for (level, [own, familys]) in Level::ALL.into_iter().zip(rows) {
        let mut add = |tool: &str, word: Option<bool>| {
            all.extend(word.map(|enabled| Binding {
                level,
                tool: tool.to_owned(),
                enabled,
            }));
        };
        add(family, *familys);
        add(tool, *own);
    }
    all
}

fn row(tool: &str) -> &'static Row {
    TABLE
        .iter()
        .find(|row| row.0 == tool)
        .unwrap_or_else(|| panic!("{tool} is no tool of the specification"))
}

#[test]
fn every_tool_in_every_combination_is_offered_as_the_specification_says() {
    for tool in TOOLS {
        let row = row(tool.name);
        for rows in all_rows() {
            if row.2 == Some(tool.name) && rows.iter().any(|[_, family]| family.is_some()) {
                // Its own row is its family's.
                continue;
            }
            let bindings = bindings(tool.name, row.2.unwrap_or("none"), &rows);
            for flags in all_flags() {
                let config = config(flags);
                for (number, kind) in RunKind::ALL.into_iter().enumerate() {
                    assert_eq!(
                        judge(tool, &config, &bindings, kind).offers(),
                        is_offered(row, flags, number, &rows),
                        "{} {flags:?} {} {rows:?}",
                        tool.name,
                        kind.as_str()
                    );
                }
            }
        }
    }
}

#[test]
fn the_whole_offer_is_the_specifications_in_every_combination_of_flags_kinds_and_families() {
    let families: Vec<&str> = Family::ALL.map(Family::as_str).to_vec();
    for flags in all_flags() {
        let agent = agent(config(flags));
        for (number, kind) in RunKind::ALL.into_iter().enumerate() {
            // Each set of families that the organisation switches off.
            for off in 0..1_usize << families.len() {
                let is_off = |family: &str| {
                    let at = families.iter().position(|known| *known == family);
                    at.is_some_and(|at| off >> at & 1 == 1)
                };
                let bindings: Vec<Binding> = families
                    .iter()
                    .filter(|family| is_off(family))
                    .map(|family| Binding {
                        level: Level::Organisation,
                        tool: (*family).to_owned(),
                        enabled: false,
                    })
                    .collect();
                let found: Vec<String> = offer(&agent, &bindings, kind, &[], &[])
                    .into_iter()
                    .map(|tool| tool.name)
                    .collect();
                let expected: Vec<&str> = TABLE
                    .iter()
                    .filter(|row| TOOLS.iter().any(|tool| tool.name == row.0))
                    .filter(|row| {
                        let state = Some(false).filter(|_| row.2.is_some_and(is_off));
                        let rows = [[None, None], [None, None], [None, state]];
                        is_offered(row, flags, number, &rows)
                    })
                    .map(|row| row.0)
                    .collect();
                assert_eq!(found, expected, "{flags:?} {} {off:b}", kind.as_str());
            }
        }
    }
}

#[test]
fn a_scripts_own_tool_is_offered_exactly_while_script_run_is() {
    let held = [
        script("alpha", Some(r#"{"type":"object"}"#), true),
        script("bare", None, true),
        script("fresh", Some(r#"{"type":"object"}"#), false),
    ];
    for rows in all_rows() {
        let bindings = bindings("script_run", "script", &rows);
        for flags in [[false; 4], [false, false, true, false]] {
            for kind in RunKind::ALL {
                let offered = offer(&agent(config(flags)), &bindings, kind, &[], &held);
                let of_scripts: Vec<&str> = offered
                    .iter()
                    .filter(|tool| tool.source == Source::Script)
                    .map(|tool| tool.name.as_str())
                    .collect();
                let expected: &[&str] = if flags[SCRIPTING] && is_enabled(&rows) {
                    &["alpha"]
                } else {
                    &[]
                };
                assert_eq!(of_scripts, expected, "{flags:?} {rows:?}");
            }
        }
    }
}

#[test]
fn a_name_of_the_specification_is_known_whether_its_tool_is_built_or_not() {
    let mut known: Vec<&str> = crate::tools::names::all().map(|(name, _)| name).collect();
    known.sort_unstable();
    assert_eq!(known, TABLE.map(|row| row.0));
    for (name, family) in crate::tools::names::all() {
        let expected = row(name).2;
        assert_eq!(family.map(Family::as_str), expected, "{name}");
    }
}
