//! No listed form of a secret is left in anything that is stored, answered or logged, wherever its text was cut.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use libfuzzer_sys::fuzz_target;
use secrecy::SecretString;
use tool_result::{Facts, Filter, MachineResult, Raw, Redactor, Secret, make};

/// Marks of the values. Their letters are in no value.
const NAMES: [&str; 3] = ["K0", "K1", "K2"];
/// What values are made of: letters that each way of writing escapes, and few, so that values
/// overlap themselves and each other.
const LETTERS: [char; 16] = [
    'Q', 'Z', 'x', 'y', '1', '"', '\\', '/', ' ', '+', '%', '<', '\n', '\t', 'é', '🙂',
];

/// A piece of a text.
#[derive(Arbitrary, Debug)]
enum Piece {
    Words(Vec<u8>),
    Form {
        value: u8,
        form: u8,
    },
    /// The beginning of a form, and the end of one.
    Head {
        value: u8,
        form: u8,
        length: u8,
    },
    Tail {
        value: u8,
        form: u8,
        length: u8,
    },
    Any(String),
}

#[derive(Arbitrary, Debug)]
struct Input {
    values: [Vec<u8>; 3],
    pieces: Vec<Piece>,
    filter: u8,
    cap: u16,
    cut: bool,
    name: String,
}

fn letters(bytes: &[u8]) -> String {
    let letter = |byte: &u8| LETTERS[usize::from(byte % 16)];
    bytes.iter().map(letter).collect()
}

/// The forms that the contract lists, written here once more and in another way.
fn forms(value: &str) -> Vec<String> {
    let quoted = serde_json::to_string(value).unwrap();
    let json = quoted[1..quoted.len() - 1].to_owned();
    let ascii = json
        .chars()
        .map(|c| {
            if c.is_ascii() {
                return c.to_string();
            }
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).iter();
            units.map(|unit| format!("\\u{unit:04x}")).collect()
        })
        .collect();
    let percent = |upper: bool, plus: bool| -> String {
        let encode = |byte: u8| match byte {
            b' ' if plus => "+".to_owned(),
            b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte if upper => format!("%{byte:02X}"),
            byte => format!("%{byte:02x}"),
        };
        value.bytes().map(encode).collect()
    };
    let mut forms = vec![value.to_owned(), json, ascii];
    for (upper, plus) in [(false, false), (false, true), (true, false), (true, true)] {
        forms.push(percent(upper, plus));
    }
    for shift in 0..3 {
        let bytes = [&b"..."[..shift], value.as_bytes()].concat();
        // A character is the value's alone when all of its six bits are.
        let from = (shift * 8).div_ceil(6);
        let to = bytes.len() * 8 / 6;
        for text in [
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            forms.push(text[from..to].to_owned());
        }
    }
    forms
}

fn text(pieces: &[Piece], forms: &[Vec<String>]) -> String {
    let form = |value: u8, form: u8| -> &str {
        let forms = &forms[usize::from(value) % forms.len()];
        &forms[usize::from(form) % forms.len()]
    };
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Words(bytes) => text.push_str(&letters(bytes)),
            Piece::Any(any) => text.push_str(any),
            Piece::Form { value, form: at } => text.push_str(form(*value, *at)),
            Piece::Head {
                value,
                form: at,
                length,
            } => {
                let form = form(*value, *at);
                let end = form.floor_char_boundary(usize::from(*length) % (form.len() + 1));
                text.push_str(&form[..end]);
            }
            Piece::Tail {
                value,
                form: at,
                length,
            } => {
                let form = form(*value, *at);
                let start = form.floor_char_boundary(usize::from(*length) % (form.len() + 1));
                text.push_str(&form[start..]);
            }
        }
    }
    text
}

fn check(what: &str, text: &str, forms: &[Vec<String>]) {
    for form in forms.iter().flatten() {
        assert!(
            !text.contains(form.as_str()),
            "{form:?} is in the {what}: {text:?}"
        );
    }
}

/// Visits every key and string of a JSON value.
fn strings(value: &serde_json::Value, visit: &mut impl FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => visit(text),
        serde_json::Value::Array(items) => {
            for item in items {
                strings(item, visit);
            }
        }
        serde_json::Value::Object(members) => {
            for (key, value) in members {
                visit(key);
                strings(value, visit);
            }
        }
        _ => {}
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(input) = Input::arbitrary(&mut Unstructured::new(data)) else {
        return;
    };
    let value = |bytes: &Vec<u8>| {
        let value = letters(bytes);
        // Shorter ones are refused when they are stored.
        if value.trim().len() < 6 {
            value + "QZxy1Q"
        } else {
            value
        }
    };
    let values: Vec<String> = input.values.iter().map(value).collect();
    let forms: Vec<Vec<String>> = values.iter().map(|value| forms(value)).collect();
    let secrets = NAMES.iter().zip(&values).map(|(name, value)| Secret {
        name: (*name).to_owned(),
        value: SecretString::from(value.as_str()),
    });
    let redactor = Redactor::new(1, secrets.collect());
    let text = text(&input.pieces, &forms);

    // Events, answers; the tail of a log.
    let once = redactor.apply(&text);
    check("text", &once, &forms);
    assert_eq!(redactor.apply(&once), once);
    assert!(redactor.finds_nothing(&once));
    check("tail", &redactor.apply_to_tail(&text), &forms);

    // Stored arguments: of a model that writes JSON, and of one that does not.
    let given = serde_json::json!({ "a": [&text], &text: 1.5 }).to_string();
    for given in [&given, &text] {
        let stored = redactor.apply_to_json(given);
        check("stored arguments", &stored, &forms);
        let read: serde_json::Value = serde_json::from_str(&stored).unwrap();
        strings(&read, &mut |word| {
            check("arguments as they are read", word, &forms)
        });
    }

    // Messages: a machine's result, cut where its limit was, and an error.
    let filter = match input.filter % 4 {
        0 => Filter::None,
        1 => Filter::Terminal,
        2 => Filter::TerminalFolded,
        _ => Filter::Page,
    };
    let facts = Facts {
        tool_name: &input.name,
        duration_ms: 1,
        with_exit_code: true,
    };
    let cap = 1_024 + usize::from(input.cap);
    let length = text.len() as u64;
    let machine = Raw::machine(
        MachineResult {
            original_bytes: length + u64::from(input.cut),
            text: text.clone(),
            ..MachineResult::default()
        },
        length,
    );
    for raw in [machine, Raw::error(&text)] {
        let message = make(&raw.filter(filter), &redactor, cap, 9, &facts);
        check("message", message.content(), &forms);
        let trailer = "\nremaining_tool_calls: 9".len();
        assert!(message.content().len() <= cap + trailer);
        let metadata: serde_json::Value = serde_json::from_str(message.metadata()).unwrap();
        let words = [metadata["error"].as_str(), metadata["tool_name"].as_str()];
        for word in words.into_iter().flatten() {
            check("metadata", word, &forms);
        }
    }
});
