//! The keys of a US keyboard: which key types a character, as Chrome's input wants to know it.

use chromiumoxide::cdp::browser_protocol::input::{DispatchKeyEventParams, DispatchKeyEventType};

/// Shifted characters of the digit keys, from 0 to 9.
const ABOVE_DIGITS: &str = ")!@#$%^&*(";
/// The other printing keys: plain, shifted, `KeyboardEvent.code` and Windows key code.
const SIGNS: [(char, char, &str, i64); 11] = [
    (';', ':', "Semicolon", 186),
    ('=', '+', "Equal", 187),
    (',', '<', "Comma", 188),
    ('-', '_', "Minus", 189),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
    ('`', '~', "Backquote", 192),
    ('[', '{', "BracketLeft", 219),
    ('\\', '|', "Backslash", 220),
    (']', '}', "BracketRight", 221),
    ('\'', '"', "Quote", 222),
];

/// One key, as `Input.dispatchKeyEvent` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    key: String,
    code: String,
    number: i64,
    /// What it inserts; nothing for Tab and Delete.
    text: Option<String>,
}

impl Key {
    fn printing(character: char, code: String, number: i64) -> Self {
        Self {
            key: character.to_string(),
            code,
            number,
            text: Some(character.to_string()),
        }
    }

    fn named(name: &str, number: i64, text: Option<&str>) -> Self {
        Self {
            key: name.to_owned(),
            code: name.to_owned(),
            number,
            text: text.map(str::to_owned),
        }
    }

    /// The key that empties a selection.
    pub(crate) fn delete() -> Self {
        Self::named("Delete", 46, None)
    }

    /// The Enter key.
    pub(crate) fn enter() -> Self {
        Self::named("Enter", 13, Some("\r"))
    }

    /// The key that types `character`; none when the keyboard has none.
    pub(crate) fn of(character: char) -> Option<Self> {
        match character {
            '\n' => return Some(Self::enter()),
            '\t' => return Some(Self::named("Tab", 9, None)),
            ' ' => return Some(Self::printing(' ', "Space".to_owned(), 32)),
            'a'..='z' | 'A'..='Z' => {
                let upper = character.to_ascii_uppercase();
                let code = format!("Key{upper}");
                return Some(Self::printing(character, code, i64::from(u32::from(upper))));
            }
            _ => {}
        }
        let digit = if character.is_ascii_digit() {
            character.to_digit(10)
        } else {
            ABOVE_DIGITS
                .chars()
                .position(|above| above == character)
                .and_then(|place| u32::try_from(place).ok())
        };
        if let Some(digit) = digit {
            let number = 48 + i64::from(digit);
            return Some(Self::printing(character, format!("Digit{digit}"), number));
        }
        SIGNS
            .iter()
            .find(|(plain, shifted, ..)| *plain == character || *shifted == character)
            .map(|(_, _, code, number)| Self::printing(character, (*code).to_owned(), *number))
    }

    /// The event of the key going down; it inserts what the key types.
    pub(crate) fn down(&self) -> DispatchKeyEventParams {
        // Without text the key only goes down: such a one edits by what it is called.
        let kind = match self.text {
            Some(_) => DispatchKeyEventType::KeyDown,
            None => DispatchKeyEventType::RawKeyDown,
        };
        let mut params = self.event(kind);
        params.text.clone_from(&self.text);
        params.unmodified_text.clone_from(&self.text);
        params
    }

    /// The event of the key coming up.
    pub(crate) fn up(&self) -> DispatchKeyEventParams {
        self.event(DispatchKeyEventType::KeyUp)
    }

    fn event(&self, kind: DispatchKeyEventType) -> DispatchKeyEventParams {
        let mut params = DispatchKeyEventParams::new(kind);
        params.key = Some(self.key.clone());
        params.code = Some(self.code.clone());
        params.windows_virtual_key_code = Some(self.number);
        params
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(character: char, code: &str, number: i64) {
        let key = Key::of(character).unwrap();
        assert_eq!(
            (key.code.as_str(), key.number),
            (code, number),
            "{character}"
        );
    }

    // Codes: UI Events KeyboardEvent code values; numbers: Windows virtual key codes.
    #[test]
    fn characters_have_the_keys_of_a_us_keyboard() {
        check('a', "KeyA", 65);
        check('Z', "KeyZ", 90);
        check('0', "Digit0", 48);
        check(')', "Digit0", 48);
        check('(', "Digit9", 57);
        check('@', "Digit2", 50);
        check(' ', "Space", 32);
        check('?', "Slash", 191);
        check('"', "Quote", 222);
        check('\n', "Enter", 13);
        check('\t', "Tab", 9);
    }

    #[test]
    fn every_printing_character_of_ascii_has_a_key_and_no_other_has() {
        for character in ' '..='~' {
            let key = Key::of(character).unwrap();
            assert_eq!(key.text, Some(character.to_string()));
        }
        for character in ['é', 'ß', '中', '🙂', '\u{8}', '\r'] {
            assert_eq!(Key::of(character), None);
        }
    }
}
