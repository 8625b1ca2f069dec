//! What arguments are checked against, and what has an end.

use super::*;

#[track_caller]
fn check_validates(published: &str, expected: &str) {
    assert_eq!(fit(published).unwrap().validates.get(), expected);
}

#[test]
fn what_was_published_goes_on_validating_when_it_can() {
    let union = r#"{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"additionalProperties":false,"properties":{"a":{"type":"string","format":"uri"},"b":{}}}"#;
    check_validates(union, union);
}

#[test]
fn what_was_mended_validates_when_that_is_no_schema() {
    check_validates(
        r#"{"type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true}},"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"n":{"type":"number","exclusiveMinimum":0}},"additionalProperties":false}"#,
    );
    check_validates(
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/A"}}}"##,
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{}}}"##,
    );
    check_validates("null", "{}");
}

#[test]
fn a_schema_out_of_all_proportion_is_left_out() {
    let long = format!(
        r#"{{"type":"object","description":"{}"}}"#,
        "x".repeat(MAX_BYTES)
    );
    assert_eq!(fit(&long).unwrap_err(), Unfit::TooLarge);
    let deep = format!("{}{}", r#"{"items":"#.repeat(500), "}".repeat(500));
    assert_eq!(fit(&deep).unwrap_err(), Unfit::Unreadable);
    let fan: Vec<String> = (0..30)
        .map(|n| {
            let next = format!(r##"{{"$ref":"#/$defs/a{}"}}"##, n + 1);
            format!(r#""a{n}":{{"anyOf":[{next},{next}]}}"#)
        })
        .collect();
    let fan = format!(
        r##"{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/a0"}}}},"$defs":{{{},"a30":{{}}}}}}"##,
        fan.join(",")
    );
    assert_eq!(
        fit(&fan).unwrap_err().to_string(),
        "its schema can't be used: its parameters refer to more than 1000 subschemas for one value; say less with $ref in anyOf, oneOf and allOf"
    );
}

#[test]
fn a_chain_of_references_longer_than_a_stack_has_an_end() {
    let chain: Vec<String> = (0..5_000)
        .map(|n| format!(r##""a{n}":{{"$ref":"#/$defs/a{}"}}"##, (n + 1) % 5_000))
        .collect();
    let schema = format!(
        r##"{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/a0"}}}},"$defs":{{{}}}}}"##,
        chain.join(",")
    );
    // One link is opened, and what is left is deeper than anybody means.
    assert_eq!(
        fit(&schema).unwrap_err().to_string(),
        "its schema can't be used: its parameters refer to themselves without an end"
    );
}

#[test]
fn unions_inside_unions_have_an_end() {
    let deep = format!(
        "{}{}{}",
        r#"{"anyOf":["#.repeat(40),
        r#"{"properties":{"a":{}}}"#,
        "]}".repeat(40)
    );
    assert_eq!(
        fit(&deep).unwrap_err().to_string(),
        "its schema can't be used: its unions are too deep"
    );
}
