//! One field of a cron expression: lists of values, ranges and steps, as a set of bits.

/// What a field may hold.
#[derive(Debug)]
pub(super) struct Field {
    name: &'static str,
    min: u32,
    /// The largest value of `*`.
    max: u32,
    /// The largest value that may be written: 7 is Sunday too.
    most: u32,
    /// Words for values, from `min` on.
    words: &'static [&'static str],
}

pub(super) const MINUTE: Field = Field {
    name: "minute",
    min: 0,
    max: 59,
    most: 59,
    words: &[],
};
pub(super) const HOUR: Field = Field {
    name: "hour",
    min: 0,
    max: 23,
    most: 23,
    words: &[],
};
pub(super) const DAY: Field = Field {
    name: "day",
    min: 1,
    max: 31,
    most: 31,
    words: &[],
};
pub(super) const MONTH: Field = Field {
    name: "month",
    min: 1,
    max: 12,
    most: 12,
    words: &[
        "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
    ],
};
pub(super) const WEEKDAY: Field = Field {
    name: "weekday",
    min: 0,
    max: 6,
    most: 7,
    words: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

/// A short, one-line piece of what was written.
pub(super) fn shown(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(41)
        .collect();
    if line.chars().count() > 40 {
        line.pop();
        line.push('…');
    }
    line
}

impl Field {
    /// The values of a field as bits.
    ///
    /// # Errors
    /// Every item that makes no sense.
    pub(super) fn parse(&self, text: &str) -> Result<u64, Vec<String>> {
        let mut bits = 0;
        let mut problems = Vec::new();
        for item in text.split(',') {
            match self.item(item) {
                Ok((from, to, step)) => {
                    let values = (from..=to).step_by(step as usize);
                    bits |= values.fold(0, |bits, value| bits | self.bit(value));
                }
                Err(what) => {
                    problems.push(format!("{} has \"{}\": {what}", self.name, shown(item)))
                }
            }
        }
        if problems.is_empty() {
            Ok(bits)
        } else {
            Err(problems)
        }
    }

    fn bit(&self, value: u32) -> u64 {
        // Sunday has two numbers.
        1 << (if value > self.max { self.min } else { value })
    }

    /// First, last and step of an item.
    fn item(&self, item: &str) -> Result<(u32, u32, u32), String> {
        let (base, step) = match item.split_once('/') {
            Some((base, step)) => (base, Some(self.step(step)?)),
            None => (item, None),
        };
        if base == "*" {
            return Ok((self.min, self.max, step.unwrap_or(1)));
        }
        let Some((from, to)) = base.split_once('-') else {
            let value = self.value(base)?;
            return match step {
                None => Ok((value, value, 1)),
                Some(step) => Err(format!(
                    "a step needs a range, such as {value}-{}/{step}",
                    self.max.max(value)
                )),
            };
        };
        let (from, last) = (self.value(from)?, self.value(to)?);
        // `FRI-SUN` ends with the Sunday after, `SUN-MON` begins with the one before.
        let last =
            if self.most > self.max && last == self.min && from > self.min && self.is_word(to) {
                self.most
            } else {
                last
            };
        if from > last {
            return Err(format!(
                "the range runs backwards; write {from}-{},{}-{last}",
                self.max, self.min
            ));
        }
        Ok((from, last, step.unwrap_or(1)))
    }

    fn step(&self, text: &str) -> Result<u32, String> {
        // A step beyond the field hides a mistake.
        let most = self.max - self.min + u32::from(self.min > 0 || !self.words.is_empty());
        number(text)
            .filter(|step| (1..=most).contains(step))
            .ok_or_else(|| format!("a step is a number from 1 to {most}"))
    }

    fn value(&self, text: &str) -> Result<u32, String> {
        let word = self
            .words
            .iter()
            .position(|word| word.eq_ignore_ascii_case(text))
            .and_then(|place| u32::try_from(place).ok());
        word.map(|place| place + self.min)
            .or_else(|| number(text).filter(|value| (self.min..=self.most).contains(value)))
            .ok_or_else(|| self.allowed())
    }

    fn is_word(&self, text: &str) -> bool {
        self.words
            .iter()
            .any(|word| word.eq_ignore_ascii_case(text))
    }

    fn allowed(&self) -> String {
        let words = match (self.words.first(), self.words.last()) {
            (Some(first), Some(last)) => format!(", {first} to {last}"),
            _ => String::new(),
        };
        format!(
            "allowed are *, numbers from {} to {}{words}, ranges a-b, steps */n and a-b/n, and lists of these with commas",
            self.min, self.most
        )
    }
}

/// One or two digits.
fn number(text: &str) -> Option<u32> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
