//! Validation, problem by problem.

use super::*;

const SCHEMA: &str = r#"{"type":"object","properties":{"name":{"type":"string","maxLength":5},"limit":{"type":"integer","minimum":1,"maximum":100},"level":{"enum":["agent","guild"]},"inner":{"type":"object","properties":{"deep":{"type":"boolean"}},"required":["deep"],"additionalProperties":false}},"required":["name"],"additionalProperties":false}"#;

#[track_caller]
fn check(arguments: &str, expected: Result<(), &str>) {
    let raw = RawValue::from_string(arguments.to_owned()).unwrap();
    assert_eq!(
        validate(SCHEMA, &raw),
        expected.map_err(|line| format!("invalid arguments: {line}"))
    );
}

#[test]
fn what_the_schema_accepts_passes() {
    check(r#"{"name":"a","limit":5,"level":"guild"}"#, Ok(()));
}

#[test]
fn a_problem_names_the_key_what_was_found_and_what_is_allowed() {
    check("{}", Err("\"name\" is missing (required)"));
    check(
        r#"{"name":"a","limit":"5"}"#,
        Err("limit is a string; allowed: integer"),
    );
    check(
        r#"{"name":"a","limit":101}"#,
        Err("limit is 101; allowed: at most 100"),
    );
    check(
        r#"{"name":"a","level":"org"}"#,
        Err(r#"level is a string that is not allowed; allowed: "agent", "guild""#),
    );
    check(
        r#"{"name":"abcdef"}"#,
        Err("name is a string of 6 characters; allowed: at most 5"),
    );
    check(
        r#"{"name":"a","inner":{}}"#,
        Err("inner.deep is missing (required)"),
    );
}

#[test]
fn an_undeclared_key_gets_the_allowed_ones_and_the_nearest() {
    check(
        r#"{"name":"a","limt":3}"#,
        Err(
            "\"limt\" is not a key of this tool; allowed: name, limit, level, inner; did you mean \"limit\"?",
        ),
    );
    check(
        r#"{"name":"a","inner":{"deep":true,"zzz":1}}"#,
        Err("inner.zzz is not a key of this object; allowed: deep"),
    );
}

#[test]
fn every_problem_is_told_at_once() {
    let raw = RawValue::from_string(r#"{"limit":0,"level":7}"#.to_owned()).unwrap();
    let line = validate(SCHEMA, &raw).unwrap_err();
    for part in [
        "limit is 0; allowed: at least 1",
        "level is an integer that is not allowed",
        "\"name\" is missing (required)",
    ] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn a_key_given_twice_is_refused() {
    check(
        r#"{"name":"a","name":"b"}"#,
        Err("\"name\" is given more than once"),
    );
}

#[test]
fn undeclared_keys_are_problems_unless_the_schema_opens_itself() {
    let check = |schema: &str, expected: Result<(), &str>| {
        let raw = RawValue::from_string(r#"{"a":1,"b":2}"#.to_owned()).unwrap();
        let expected = expected.map_err(|line| format!("invalid arguments: {line}"));
        assert_eq!(validate(schema, &raw), expected, "{schema}");
    };
    check(
        r#"{"type":"object","properties":{"a":{}}}"#,
        Err("\"b\" is not a key of this tool; allowed: a"),
    );
    check(
        r#"{"type":"object","properties":{"a":{}},"allOf":[{"properties":{"b":{}}}]}"#,
        Ok(()),
    );
    check(
        r#"{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"integer"}}"#,
        Ok(()),
    );
    check(r#"{"type":"object"}"#, Ok(()));
}

#[test]
fn the_nearest_name_is_near() {
    assert_eq!(nearest("agnet", ["agent", "guild"]), Some("agent"));
    assert_eq!(nearest("xyz", ["agent", "guild"]), None);
    assert_eq!(nearest("ids", ["id"]), Some("id"));
}

#[track_caller]
fn check_with(schema: &str, arguments: &str, expected: &str) {
    let raw = RawValue::from_string(arguments.to_owned()).unwrap();
    let found = validate(schema, &raw);
    assert_eq!(found, Err(format!("invalid arguments: {expected}")));
}

#[test]
fn a_misspelt_word_of_a_list_gets_the_nearest() {
    check(
        r#"{"name":"a","level":"gild"}"#,
        Err(
            r#"level is a string that is not allowed; allowed: "agent", "guild"; did you mean "guild"?"#,
        ),
    );
}

#[test]
fn sizes_are_told_beside_what_is_allowed() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"array","maxItems":1,"uniqueItems":true},"o":{"type":"object","minProperties":1},"n":{"multipleOf":5},"e":{"exclusiveMinimum":0}}}"#;
    check_with(
        schema,
        r#"{"a":[1,1]}"#,
        "a is an array of 2 items; allowed: at most 1; a has an item twice; allowed: each once",
    );
    check_with(
        schema,
        r#"{"o":{}}"#,
        "o is an object of 0 keys; allowed: at least 1",
    );
    check_with(schema, r#"{"n":7}"#, "n is 7; allowed: multiples of 5");
    check_with(schema, r#"{"e":0}"#, "e is 0; allowed: more than 0");
}

#[test]
fn of_several_forms_the_one_that_was_meant_is_told() {
    let schema = r#"{"type":"object","properties":{"w":{"anyOf":[{"type":"string"},{"type":"object","properties":{"gte":{"type":"number"}},"required":["gte"]},{"type":"null"}]},"s":{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"]},{"type":"object","properties":{"kind":{"const":"b"},"y":{"type":"integer"}},"required":["kind","y"]}]}}}"#;
    check_with(
        schema,
        r#"{"w":7}"#,
        "w is an integer; allowed: string or object or null",
    );
    check_with(
        schema,
        r#"{"w":{"gte":"x"}}"#,
        "w.gte is a string; allowed: number",
    );
    check_with(
        schema,
        r#"{"s":{"kind":"b"}}"#,
        r"s.y is missing (required)",
    );
    check_with(
        schema,
        r#"{"s":{"x":1,"y":"2"}}"#,
        "of these one has to be mended: s.kind is missing (required), or s.kind is missing (required) and s.y is a string; allowed: integer",
    );
}

#[test]
fn a_connectors_undeclared_keys_are_what_its_schema_says() {
    let raw = RawValue::from_string(r#"{"a":1,"b":2}"#.to_owned()).unwrap();
    let open = r#"{"type":"object","properties":{"a":{}}}"#;
    assert_eq!(validate_open(open, &raw), Ok(()));
    let closed = r#"{"type":"object","properties":{"a":{}},"additionalProperties":false}"#;
    assert_eq!(
        validate_open(closed, &raw),
        Err("invalid arguments: \"b\" is not a key of this tool; allowed: a".to_owned())
    );
}

#[test]
fn a_pattern_that_never_ends_ends() {
    let schema = r#"{"type":"object","properties":{"p":{"pattern":"^(a|a)*\\1b"}}}"#;
    let arguments = format!(r#"{{"p":"{}!"}}"#, "a".repeat(40));
    check_with(
        schema,
        &arguments,
        "p is a string that can't be matched with its pattern in time; send a shorter one",
    );
}

#[test]
fn what_would_take_too_long_to_check_is_refused() {
    // A thousand subschemas for each of a hundred thousand values.
    let each: Vec<String> = (0..900).map(|n| format!(r#"{{"minimum":{n}}}"#)).collect();
    let schema = format!(
        r#"{{"type":"object","properties":{{"l":{{"items":{{"allOf":[{}]}}}}}}}}"#,
        each.join(",")
    );
    let many = |count: usize| format!(r#"{{"l":[{}0]}}"#, "0,".repeat(count));
    let raw = RawValue::from_string(many(100_000)).unwrap();
    let line = validate(&schema, &raw).unwrap_err();
    assert!(
        line.starts_with("the arguments are too large to be checked against this schema: 200009 bytes with 100003 values"),
        "{line}"
    );
    let raw = RawValue::from_string(many(10_000)).unwrap();
    let line = validate(&schema, &raw).unwrap_err();
    assert!(
        line.ends_with("which so large arguments are not searched for"),
        "{line}"
    );
}
