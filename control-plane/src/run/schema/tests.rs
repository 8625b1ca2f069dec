//! What rewriting does, rule by rule.

mod corpus;
mod generated;

use super::*;

#[track_caller]
fn check(schema: &str, expected: &str) {
    let once = rewrite(schema);
    assert_eq!(once.get(), expected);
    assert_eq!(rewrite(once.get()).get(), expected, "a second time");
}

#[test]
fn format_leaves_optional_and_nullable_properties() {
    check(
        r#"{"type":"object","properties":{"a":{"type":"integer","format":"int32"},"b":{"type":"integer","format":"int64"}},"required":["b"]}"#,
        r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer","format":"int64"}},"required":["b"]}"#,
    );
    check(
        r#"{"type":"object","properties":{"a":{"type":["integer","null"],"format":"int32"},"b":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]},"c":{"oneOf":[{"type":"null"},{"type":"string","format":"uri"}]}},"required":["a","b","c"]}"#,
        r#"{"type":"object","properties":{"a":{"type":["integer","null"]},"b":{"anyOf":[{"type":"string"},{"type":"null"}]},"c":{"oneOf":[{"type":"null"},{"type":"string"}]}},"required":["a","b","c"]}"#,
    );
}

#[test]
fn everything_inside_an_optional_property_loses_its_format() {
    check(
        r#"{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string","format":"date"}},"required":["at"]}}}}"#,
        r#"{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}}}}"#,
    );
}

#[test]
fn objects_inside_a_required_property_go_by_their_own_required() {
    check(
        r#"{"type":"object","properties":{"o":{"type":"object","properties":{"in":{"type":"integer","format":"int32"},"out":{"type":"integer","format":"int32"}},"required":["in"]}},"required":["o"]}"#,
        r#"{"type":"object","properties":{"o":{"type":"object","properties":{"in":{"type":"integer","format":"int32"},"out":{"type":"integer"}},"required":["in"]}},"required":["o"]}"#,
    );
    check(
        r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","format":"date"}}},"required":["a"]}"#,
        r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","format":"date"}}},"required":["a"]}"#,
    );
}

#[test]
fn a_definition_goes_by_the_properties_that_refer_to_it() {
    check(
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/kept"},"b":{"$ref":"#/$defs/bare"},"c":{"$ref":"#/$defs/bare"}},"required":["a","b"],"$defs":{"kept":{"type":"integer","format":"int32"},"bare":{"type":"array","items":{"$ref":"#/$defs/deep"}},"deep":{"type":"integer","format":"int64"}}}"##,
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/kept"},"b":{"$ref":"#/$defs/bare"},"c":{"$ref":"#/$defs/bare"}},"required":["a","b"],"$defs":{"kept":{"type":"integer","format":"int32"},"bare":{"type":"array","items":{"$ref":"#/$defs/deep"}},"deep":{"type":"integer"}}}"##,
    );
}

#[test]
fn a_long_chain_of_definitions_is_followed_to_its_end_in_no_time() {
    let chain = |last: &str| {
        let definitions: Vec<String> = (0..1_500)
            .map(|n| format!(r##""a{n}":{{"items":{{"$ref":"#/$defs/a{}"}}}}"##, n + 1))
            .collect();
        format!(
            r##"{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/a0"}}}},"$defs":{{{},"a1500":{last}}}}}"##,
            definitions.join(",")
        )
    };
    let began = std::time::Instant::now();
    check(
        &chain(r#"{"type":"integer","format":"int32"}"#),
        &chain(r#"{"type":"integer"}"#),
    );
    // One walk for each would take minutes.
    assert!(began.elapsed() < std::time::Duration::from_secs(10));
}

#[test]
fn a_definition_is_known_by_its_anchor_and_where_it_is_nested() {
    check(
        r##"{"type":"object","properties":{"a":{"$ref":"#n"},"b":{"$ref":"#/$defs/o/$defs/p"}},"$defs":{"x":{"$anchor":"n","type":"array","items":{"$ref":"#m"}},"y":{"$anchor":"m","type":"integer","format":"int32"},"o":{"type":"integer","format":"int32","$defs":{"p":{"type":"integer","format":"int64"},"q":{"type":"integer","format":"int64"}}}}}"##,
        r##"{"type":"object","properties":{"a":{"$ref":"#n"},"b":{"$ref":"#/$defs/o/$defs/p"}},"$defs":{"x":{"$anchor":"n","type":"array","items":{"$ref":"#m"}},"y":{"$anchor":"m","type":"integer"},"o":{"type":"integer","format":"int32","$defs":{"p":{"type":"integer"},"q":{"type":"integer","format":"int64"}}}}}"##,
    );
}

#[test]
fn closed_objects_open_and_dialects_leave_at_every_depth() {
    check(
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"o":{"$schema":"x","type":"object","properties":{},"additionalProperties":false},"m":{"type":"object","properties":{},"additionalProperties":{"type":"integer"}},"t":{"type":"object","properties":{},"additionalProperties":true}},"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"o":{"type":"object","properties":{}},"m":{"type":"object","properties":{},"additionalProperties":{"type":"integer"}},"t":{"type":"object","properties":{},"additionalProperties":true}}}"#,
    );
}

#[test]
fn keywords_are_found_by_position() {
    check(
        r#"{"type":"object","properties":{"format":{"type":"integer","default":{"format":"x","additionalProperties":false},"examples":[{"$schema":"y"}]},"$schema":{"type":"integer"},"additionalProperties":{"const":{"format":"z"}}}}"#,
        r#"{"type":"object","properties":{"format":{"type":"integer","default":{"format":"x","additionalProperties":false},"examples":[{"$schema":"y"}]},"$schema":{"type":"integer"},"additionalProperties":{"const":{"format":"z"}}}}"#,
    );
}

#[test]
fn an_optional_string_says_that_it_may_be_omitted() {
    check(
        r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","description":"B."},"c":{"type":"string","description":"OMIT it."},"d":{"type":"string","description":"D."}},"required":["d"]}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","description":"Optional. Omit this key when unused; do not pass an empty value."},"b":{"type":"string","description":"B.\nOptional. Omit this key when unused; do not pass an empty value."},"c":{"type":"string","description":"OMIT it."},"d":{"type":"string","description":"D."}},"required":["d"]}"#,
    );
    check(
        r#"{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"enum":["x","y"]},"c":{"anyOf":[{"type":"string"},{"type":"null"}]},"d":{"type":["string","integer"]},"e":{"type":"integer"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":["string","null"],"description":"Optional. Omit this key when unused; do not pass an empty value."},"b":{"enum":["x","y"],"description":"Optional. Omit this key when unused; do not pass an empty value."},"c":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"Optional. Omit this key when unused; do not pass an empty value."},"d":{"type":["string","integer"]},"e":{"type":"integer"}}}"#,
    );
    check(
        r#"{"type":"object","properties":{"o":{"type":"object","properties":{"in":{"type":"string"}}}},"required":["o"]}"#,
        r#"{"type":"object","properties":{"o":{"type":"object","properties":{"in":{"type":"string","description":"Optional. Omit this key when unused; do not pass an empty value."}}}},"required":["o"]}"#,
    );
}

#[test]
fn an_object_without_properties_gets_an_empty_one() {
    check(
        r#"{"type":"object"}"#,
        r#"{"type":"object","properties":{}}"#,
    );
}

#[test]
fn references_that_fan_out_are_not_all_followed() {
    let mut definitions: Vec<String> = (0..12)
        .map(|n| {
            let branches = vec![format!(r##"{{"$ref":"#/$defs/a{}"}}"##, n + 1); 50];
            format!(r#""a{n}":{{"anyOf":[{}]}}"#, branches.join(","))
        })
        .collect();
    definitions.push(r#""a12":{"type":"string"}"#.to_owned());
    let schema = format!(
        r##"{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/a0"}}}},"$defs":{{{}}}}}"##,
        definitions.join(",")
    );
    // To follow them all would take longer than anybody waits.
    check(&schema, &schema);
}

#[test]
fn a_circle_of_references_ends() {
    check(
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a","format":"x"}}}"##,
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
    );
}

#[test]
fn keys_and_numbers_stay_as_they_were_written() {
    check(
        r#"{"required":["n"],"properties":{"z":{"minimum":1.50,"type":"number"},"n":{"maximum":10,"type":"integer"}},"type":"object"}"#,
        r#"{"required":["n"],"properties":{"z":{"minimum":1.5,"type":"number"},"n":{"maximum":10,"type":"integer"}},"type":"object"}"#,
    );
}
