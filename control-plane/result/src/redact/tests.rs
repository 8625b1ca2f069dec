//! Tests of the redactor: every form, overlaps, and parts of values at cuts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;

use super::super::Raw;
use super::*;
use crate::MachineResult;

fn redactor(secrets: &[(&str, &str)]) -> Redactor {
    let secrets = secrets
        .iter()
        .map(|&(name, value)| Secret {
            name: name.to_owned(),
            value: SecretString::from(value),
        })
        .collect();
    Redactor::new(1, secrets)
}

#[track_caller]
fn check(secrets: &[(&str, &str)], text: &str, expected: &str) {
    assert_eq!(redactor(secrets).apply(text), expected);
}

#[test]
fn every_occurrence_goes_and_the_rest_stays() {
    check(
        &[("K", "hunter22")],
        "a hunter22 b hunter22",
        "a [redacted:K] b [redacted:K]",
    );
    check(&[("K", "hunter22")], "hunter2 2", "hunter2 2");
    check(&[], "hunter22", "hunter22");
}

#[test]
fn overlapping_matches_are_replaced_as_their_union() {
    // The longer secret starts later and reaches farther.
    check(
        &[("A", "abcdef"), ("B", "defghijk")],
        "xabcdefghijky",
        "x[redacted:A]y",
    );
    check(
        &[("SHORT", "secret"), ("LONG", "secret-value")],
        "a secret-value, a secret",
        "a [redacted:LONG], a [redacted:SHORT]",
    );
    check(&[("A", "aaaaaa")], "aaaaaaaaab", "[redacted:A]b");
    // The longest starts first and ends last, over two that lie apart.
    check(
        &[("W", "ab-middle-yz"), ("X", "b-midd"), ("Y", "le-yz")],
        "1ab-middle-yz2b-midd",
        "1[redacted:W]2[redacted:X]",
    );
}

#[test]
fn derived_forms_go_too() {
    check(
        &[("K", "p\"w\né1")],
        r#"{"k":"p\"w\né1"}"#,
        r#"{"k":"[redacted:K]"}"#,
    );
    check(
        &[("K", "p\"w\né1")],
        r#"{"k":"p\"w\n\u00e91"}"#,
        r#"{"k":"[redacted:K]"}"#,
    );
    check(&[("K", "a b/c+d")], "?q=a%20b%2Fc%2Bd&", "?q=[redacted:K]&");
    check(&[("K", "a b/c+d")], "?q=a%20b%2fc%2bd&", "?q=[redacted:K]&");
    check(&[("K", "a b/c+d")], "?q=a+b%2Fc%2Bd&", "?q=[redacted:K]&");
}

#[test]
fn base64_goes_at_each_alignment() {
    // "sesame-open" alone, after one byte and after two.
    check(
        &[("K", "sesame-open")],
        "c2VzYW1lLW9wZW4=",
        "[redacted:K]4=",
    );
    check(
        &[("K", "sesame-open")],
        "OnNlc2FtZS1vcGVu",
        "On[redacted:K]",
    );
    check(
        &[("K", "sesame-open")],
        "dTpzZXNhbWUtb3Blbg==",
        "dTp[redacted:K]g==",
    );
}

#[test]
fn a_redacted_text_has_nothing_left_to_redact() {
    let redactor = redactor(&[("K", "hunter22")]);
    let once = redactor.apply("x hunter22 y");
    assert_eq!(redactor.apply(&once), once);
    assert!(redactor.finds_nothing(&once));
}

fn cut_text(text: &str, cut: bool) -> Raw {
    Raw {
        cut: cut.then_some(text.len()),
        ..Raw::text(text.to_owned())
    }
}

/// A result that its machine cut at the end when `cut`.
#[track_caller]
fn check_cut(secrets: &[(&str, &str)], text: &str, cut: bool, expected: &str) {
    let filtered = cut_text(text, cut).filter(Filter::None);
    assert_eq!(filtered.redact(&redactor(secrets)).text, expected);
}

const PEM: &str = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nq83vASNFZ4mrze8BI0VniavN7wEjRWeJ\n-----END KEY-----";

#[test]
fn a_cut_text_never_ends_in_a_part_of_a_secret() {
    let secrets = [("K", "hunter22"), ("PEM", PEM)];
    check_cut(
        &secrets,
        "the key is hunter2",
        true,
        "the key is [redacted:K]",
    );
    check_cut(&secrets, "the key is hunter2", false, "the key is hunter2");
    // Too short to tell whose it is: it goes all the same.
    check_cut(&secrets, "the key is hunt", true, "the key is ");
    check_cut(&secrets, "the key ish", true, "the key is");
    check_cut(&secrets, "the key is", true, "the key is");
    // The base64 of "hunter22" alone is aHVudGVyMjI=.
    check_cut(&secrets, "see aHVudGVyM", true, "see [redacted:K]");
    let redactor = redactor(&secrets);
    for end in 1..PEM.len() {
        let expected = if end < 6 {
            "cat: "
        } else {
            "cat: [redacted:PEM]"
        };
        let filtered = cut_text(&format!("cat: {}", &PEM[..end]), true).filter(Filter::None);
        assert_eq!(filtered.redact(&redactor).text, expected);
    }
}

/// The line that `guilds-code` puts where it left out the middle.
const SEAM: &str =
    "[… 9 bytes and 0 lines left out here; the whole output is in ~/.guilds/output/x …]";

#[test]
fn no_part_of_a_secret_is_at_a_seam() {
    let secrets = [("K", "hunter22"), ("PEM", PEM)];
    let between = |head: &str, tail: &str| format!("{head}\n{SEAM}\n{tail}");
    check_cut(
        &secrets,
        &between("a hunter2", "unter22 b"),
        false,
        &between("a [redacted:K]", "[redacted:K] b"),
    );
    check_cut(
        &secrets,
        &between("a hun", "r22 b"),
        false,
        &between("a ", " b"),
    );
    check_cut(
        &secrets,
        &between("(a)", "(b)"),
        false,
        &between("(a)", "(b)"),
    );
    // A part that ends in a line break of the value's own takes it along.
    let line = PEM.find("\nq83").unwrap() + 1;
    check_cut(
        &secrets,
        &format!("key: {}{SEAM}\n{} end", &PEM[..line], &PEM[line..]),
        false,
        &format!("key: [redacted:PEM]{SEAM}\n[redacted:PEM] end"),
    );
    let redactor = redactor(&secrets);
    for at in 6..PEM.len() - 6 {
        let filtered = Raw::text(between(&PEM[..at], &PEM[at..])).filter(Filter::None);
        let text = filtered.redact(&redactor).text;
        assert!(
            !text.contains("MII") && !text.contains("q83"),
            "{at}: {text}"
        );
    }
}

#[test]
fn what_an_ellipsis_cut_is_masked_where_it_is_long_enough_to_tell() {
    let secrets = [("K", "hunter22-and-more"), ("PEM", PEM)];
    check(
        &secrets,
        "title: hunter22-an… (3)",
        "title: [redacted:K]… (3)",
    );
    check(&secrets, "Loading the hunt… done", "Loading the hunt… done");
    check(
        &secrets,
        &format!("{}… and {}…", &PEM[..90], &PEM[..30]),
        "[redacted:PEM]… and [redacted:PEM]…",
    );
    check(
        &[("E", "wait…for-it…now")],
        "x wait…for-it…n",
        "x [redacted:E]…n",
    );
    check(
        &[("E", "wait…for-it…now")],
        "x wait…for-it…now",
        "x [redacted:E]",
    );
}

#[test]
fn before_the_products_own_ellipsis_no_part_is_too_short_to_go() {
    let secrets = [("K", "hunter22-and-more")];
    let redactor = redactor(&secrets);
    let text = |raw: Raw| raw.filter(Filter::TerminalFolded).redact(&redactor).text;
    for (part, left) in [
        ("h", ""),
        ("hunte", ""),
        ("hunter", "[redacted:K]"),
        ("hunter22-and-mor", "[redacted:K]"),
        ("Jim", "Jim"),
    ] {
        assert_eq!(
            text(Raw::error(&format!("\"is {part}…\" is no tool"))),
            format!("ERROR: \"is {left}…\" is no tool")
        );
        let before = "-".repeat(120 - part.len());
        assert_eq!(
            text(Raw::text(format!("[pid 12 `{before}{part}…`]"))),
            format!("[pid 12 `{before}{left}…`]")
        );
    }
}

#[test]
fn the_tail_of_a_log_may_begin_inside_a_value() {
    let redactor = redactor(&[("K", "hunter22")]);
    assert_eq!(
        redactor.apply_to_tail("unter22 failed"),
        "[redacted:K] failed"
    );
    assert_eq!(redactor.apply_to_tail("22 failed"), " failed");
    assert_eq!(redactor.apply_to_tail("failed"), "failed");
}

#[test]
fn long_values_go_whole_in_every_form() {
    let long: String = (0..1_000_u32)
        .map(|n| format!("{:04x} ", n * 7_919 % 65_536))
        .collect();
    let redactor = redactor(&[("LONG", &long), ("K", "hunter22")]);
    let json = serde_json::to_string(&format!("{long}\n")).unwrap();
    assert_eq!(
        redactor.apply(&format!("a{long}b{long}hunter22")),
        "a[redacted:LONG]b[redacted:LONG][redacted:K]"
    );
    assert_eq!(redactor.apply(&json), "\"[redacted:LONG]\\n\"");
    assert_eq!(redactor.apply(&long.replace(' ', "+")), "[redacted:LONG]");
    assert_eq!(redactor.apply(&long.replace(' ', "%20")), "[redacted:LONG]");
    // One byte less is not the value.
    assert_eq!(redactor.apply(&long[1..]), &long[1..]);
}

#[test]
fn a_value_that_repeats_itself_is_no_trap() {
    let secret = "a".repeat(9_000);
    let redactor = redactor(&[("A", &secret)]);
    assert_eq!(redactor.apply(&"a".repeat(30_000)), "[redacted:A]");
    let filtered = cut_text(&format!("{}…", "a".repeat(8_000)), true).filter(Filter::None);
    assert_eq!(filtered.redact(&redactor).text, "[redacted:A]…");
}

/// Numbers that look random and are the same every time (Knuth's MMIX constants).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn text(&mut self, letters: &[char], length: usize) -> String {
        (0..length)
            .map(|_| letters[self.below(letters.len())])
            .collect()
    }
}

#[test]
fn no_value_and_no_part_at_a_cut_stays() {
    // Few letters, so that values overlap themselves and each other often.
    let letters = ['a', 'b', 'é', '"', '\n'];
    let mut numbers = Numbers(7);
    for round in 0..40 {
        let values: Vec<String> = (0..3)
            .map(|_| {
                let length = 6 + numbers.below(90);
                numbers.text(&letters, length)
            })
            .collect();
        let named: Vec<(&str, &str)> = ["A", "B", "C"]
            .into_iter()
            .zip(values.iter().map(String::as_str))
            .collect();
        let redactor = redactor(&named);
        let length = numbers.below(40);
        let mut text = numbers.text(&letters, length);
        for value in &values {
            text.push_str(value);
            let length = numbers.below(10);
            text.push_str(&numbers.text(&letters, length));
        }
        let once = redactor.apply(&text);
        for value in &values {
            assert!(!once.contains(value.as_str()), "{round}: {text:?}");
        }
        // Cut inside a value, at its end or at its beginning: no part of it is left.
        for value in &values {
            let mut at = numbers.below(value.len());
            while !value.is_char_boundary(at) {
                at += 1;
            }
            let (head, tail) = value.split_at(at);
            let filtered = cut_text(&format!("({head}"), true).filter(Filter::None);
            let left = filtered.redact(&redactor).text;
            assert!(only_a_mark(&left, "(", ""), "{round}: {left:?}");
            let left = redactor.apply_to_tail(&format!("{tail})"));
            assert!(only_a_mark(&left, "", ")"), "{round}: {left:?}");
        }
    }
}

fn only_a_mark(text: &str, before: &str, after: &str) -> bool {
    ["", "[redacted:A]", "[redacted:B]", "[redacted:C]"]
        .iter()
        .any(|mark| text == format!("{before}{mark}{after}"))
}

/// 40 bytes of which no six stand twice.
const V: &str = "q7Zp2Kx9Lm4Wd8Rt3Yb6Nf1Hc5Vg0Js-UaEeIoTw";

/// The longest part of [`V`] that stands in a text.
fn longest_part(text: &str) -> usize {
    (1..=V.len())
        .rev()
        .find(|length| (0..=V.len() - length).any(|at| text.contains(&V[at..at + length])))
        .unwrap_or(0)
}

#[test]
fn what_is_appended_to_a_cut_text_hides_no_part() {
    let result = MachineResult {
        text: format!("..{}\n[exit 3]", &V[..39]),
        original_bytes: 1_000,
        appended_bytes: "\n[exit 3]".len(),
        ..MachineResult::default()
    };
    let filtered = Raw::machine(result, 41).filter(Filter::Terminal);
    assert_eq!(
        filtered.redact(&redactor(&[("K", V)])).text,
        "..[redacted:K]\n[exit 3]"
    );
}

#[test]
fn a_filter_moves_no_part_away_from_its_cut() {
    let redactor = redactor(&[("K", V)]);
    let redact = |raw: Raw| {
        let filtered = raw.filter(Filter::TerminalFolded);
        filtered.redact(&redactor).text
    };
    let dots = ".".repeat(60);
    assert_eq!(
        redact(cut_text(&format!("{dots}\r{}", &V[..39]), true)),
        // As many cells as the mark has are written over, not as many as the part.
        format!("[redacted:K]{}", ".".repeat(48))
    );
    // A whole value, too.
    assert!(longest_part(&redact(Raw::text(format!("{V}\r.")))) < 6);
    // Colours inside the part, and a tail whose first cells are written over.
    assert_eq!(
        redact(cut_text(
            &format!("{}\u{1b}[1m{}", &V[..20], &V[20..39]),
            true
        )),
        "[redacted:K]"
    );
    let seam = |head: &str, tail: &str| Raw::text(format!("{head}\n{SEAM}\n{tail}"));
    assert!(longest_part(&redact(seam("head", &format!("{}\r..", &V[4..])))) < 6);
    // One line of progress, left out in the middle at any place.
    let line = format!("\r{}\r{V}", ".".repeat(100)).repeat(6);
    for (from, to) in (200..350).zip(400..550) {
        let text = redact(seam(&line[..from], &line[to..]));
        assert!(longest_part(&text) < 6, "{from}: {text}");
    }
}

#[test]
fn a_value_of_several_lines_goes_when_its_white_space_is_joined() {
    let pem = [("PEM", PEM)];
    let spaced = PEM.replace('\n', " ");
    check(&pem, &format!("x {spaced} y"), "x [redacted:PEM] y");
    check(
        &[("K", "one\r\n\ttwo  three")],
        "<one two three>",
        "<[redacted:K]>",
    );
    check(
        &[("K", "one\r\n\ttwo  three")],
        "<one   two  three>",
        "<[redacted:K]>",
    );
    check(&pem, &format!("x {}…", &spaced[..40]), "x [redacted:PEM]…");
}

#[test]
fn every_encoder_of_percent_and_json_is_undone() {
    let value = [("K", "a~b*c/d e+f&g<h'i\"j")];
    for text in [
        // A form, as browsers and Java write it; encodeURI; both in lower case, mixed.
        "a%7Eb*c%2Fd+e%2Bf%26g%3Ch%27i%22j",
        "a%7eb*c%2fd+e%2bf%26g%3ch%27i%22j",
        "a~b*c/d%20e+f&g%3Ch'i%22j",
        "%61~b*c%2Fd%20e%2bf%26g%3ch%27i%22j",
        // .NET, PHP, Gson.
        r"a~b*c/d e\u002Bf\u0026g\u003Ch\u0027i\u0022j",
        r"a~b*c\/d e+f\u0026g\u003ch\u0027i\u0022j",
        r#"a~b*c/d e+f\x26g<h\'i\"j"#,
        r"a~b*c/d e\\u002Bf\\u0026g\\u003Ch\\u0027i\\u0022j",
    ] {
        check(&value, &format!("({text})"), "([redacted:K])");
    }
    // Cut inside an escape.
    check_cut(&value, "see a%7Eb*c%2Fd+e%2", true, "see [redacted:K]%2");
    check_cut(
        &value,
        r"see a~b*c/d e\u002",
        true,
        r"see [redacted:K]\u002",
    );
}

#[test]
fn wrapped_base64_is_read_on_one_line() {
    // 76 characters a line, as MIME has it; the value begins on the first line and ends on the third.
    let text = STANDARD.encode(format!("{}{PEM}{}", "x".repeat(30), "y".repeat(30)));
    for (width, end) in [(76, "\n"), (64, "\r\n"), (76, "\n  "), (76, "\\n")] {
        let lines: Vec<_> = text
            .as_bytes()
            .chunks(width)
            .map(String::from_utf8_lossy)
            .collect();
        let wrapped = lines.join(end);
        let left = redactor(&[("PEM", PEM)]).apply(&wrapped);
        let (head, tail) = left.split_once("[redacted:PEM]").unwrap();
        assert_eq!(head, "eHh4".repeat(10));
        assert!(tail.len() < 50 && tail.contains("l5eXl5eXl5eX"), "{tail}");
    }
}

#[test]
fn a_json_text_stays_json_and_what_is_none_becomes_a_string() {
    let redactor = redactor(&[("K", "hunter22"), ("Q", "a\\\"bcde"), ("S", "\"object")]);
    for (text, expected) in [
        (
            r#"{"b":1.50,"a":["hunter22"]}"#,
            r#"{"b":1.50,"a":["[redacted:K]"]}"#,
        ),
        (r#"{"\u0068unter22":1}"#, r#"{"[redacted:K]":1}"#),
        ("no hunter22\n\0", r#""no [redacted:K]\n\ufffd""#),
        // Redaction takes a quote of the text along.
        (r#"{"type":"object"}"#, r#""{\"type\":[redacted:S]\"}""#),
        // Only its escapes make it the value.
        (r#"see a"bcde"#, r#""see [redacted:Q]""#),
        ("object", r#""[redacted]""#),
    ] {
        let expected = expected.replace(r"\ufffd", "\u{fffd}");
        assert_eq!(redactor.apply_to_json(text), expected, "{text}");
    }
}
