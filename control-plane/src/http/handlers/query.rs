//! Query parameters, every problem at once.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use uuid::Uuid;

use crate::http::error::ApiError;
use crate::store::place::Place;
use crate::tools::validation::nearest;

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// The parameters of a request.
pub(in crate::http) struct Parameters {
    given: BTreeMap<String, String>,
    allowed: Vec<&'static str>,
    problems: Vec<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(pairs) = Query::<Vec<(String, String)>>::from_request_parts(parts, state)
            .await
            .map_err(|_| ApiError::invalid("the query can't be read"))?;
        let mut given = BTreeMap::new();
        let mut problems = Vec::new();
        if !parts.uri.query().is_none_or(is_utf8) {
            problems.push("the query is not UTF-8".to_owned());
        }
        for (name, value) in pairs {
            if value.contains('\0') {
                let name = &name[..name.floor_char_boundary(60)];
                problems.push(format!("`{name}` holds U+0000, which nothing stored does"));
            }
            if given.insert(name.clone(), value).is_some() {
                problems.push(format!("`{name}` is given twice"));
            }
        }
        Ok(Self {
            given,
            allowed: Vec::new(),
            problems,
        })
    }
}

impl Parameters {
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.allowed.push(name);
        self.given.remove(name)
    }

    /// One of a few words.
    pub(super) fn word(
        &mut self,
        name: &'static str,
        words: &[&'static str],
    ) -> Option<&'static str> {
        let text = self.text(name)?;
        let found = words.iter().copied().find(|word| *word == text);
        if found.is_none() {
            let mut allowed = format!("allowed are {}", words.join(", "));
            if let Some(near) = nearest(&text, words.iter().copied()) {
                allowed.push_str(&format!("; did you mean {near}?"));
            }
            self.problem(name, &text, &allowed);
        }
        found
    }

    pub(super) fn uuid(&mut self, name: &'static str) -> Option<Uuid> {
        let text = self.text(name).filter(|text| !text.is_empty())?;
        let found = Uuid::try_parse(&text).ok();
        if found.is_none() {
            self.problem(name, &text, "allowed is the `next` of a list before");
        }
        found
    }

    /// The `next` of a list that is ordered by time; `is_id` knows the list's ids.
    pub(super) fn place(
        &mut self,
        name: &'static str,
        is_id: impl Fn(&str) -> bool,
    ) -> Option<Place> {
        let text = self.text(name).filter(|text| !text.is_empty())?;
        let found = Place::parse(&text).filter(|place| is_id(&place.id));
        if found.is_none() {
            self.problem(name, &text, "allowed is the `next` of a list before");
        }
        found
    }

    /// A whole number in a range.
    pub(super) fn integer(
        &mut self,
        name: &'static str,
        range: RangeInclusive<i64>,
    ) -> Option<i64> {
        let text = self.text(name)?;
        let found = text.parse().ok().filter(|number| range.contains(number));
        if found.is_none() {
            let (least, most) = (range.start(), range.end());
            self.problem(name, &text, &format!("allowed are {least} to {most}"));
        }
        found
    }

    /// A parameter that must be there; `wanted` names it.
    pub(super) fn required(&mut self, name: &'static str, wanted: &str) -> Option<String> {
        let found = self.text(name).filter(|text| !text.is_empty());
        if found.is_none() {
            self.problems
                .push(format!("`{name}` is missing; it has to be {wanted}"));
        }
        found
    }

    /// The number at which a page ended.
    pub(super) fn number(&mut self, name: &'static str) -> Option<i64> {
        let text = self.text(name).filter(|text| !text.is_empty())?;
        let found = text.parse().ok();
        if found.is_none() {
            self.problem(name, &text, "allowed is the `next` of a list before");
        }
        found
    }

    /// The two names at which a page ended, `<one>/<other>`.
    pub(super) fn pair(&mut self, name: &'static str) -> Option<(String, String)> {
        let text = self.text(name).filter(|text| !text.is_empty())?;
        let Some((one, other)) = text.split_once('/') else {
            self.problem(name, &text, "allowed is the `next` of a list before");
            return None;
        };
        Some((one.to_owned(), other.to_owned()))
    }

    /// A time in RFC 3339, or a date, which means the beginning of that UTC day; in
    /// milliseconds of the Unix clock.
    pub(super) fn moment(&mut self, name: &'static str) -> Option<i64> {
        let text = self.text(name)?;
        let found: Option<jiff::Timestamp> = if text.len() == "2026-01-31".len() {
            format!("{text}T00:00:00Z").parse().ok()
        } else {
            text.parse().ok()
        };
        if found.is_none() {
            let allowed = "allowed is a time such as 2026-01-31T09:00:00Z, or a date";
            self.problem(name, &text, allowed);
        }
        // Nothing was stored before the epoch.
        found.map(|at| at.as_millisecond().max(0))
    }

    pub(super) fn limit(&mut self) -> usize {
        let Some(text) = self.text("limit") else {
            return DEFAULT_LIMIT;
        };
        match text.parse() {
            Ok(limit) if (1..=MAX_LIMIT).contains(&limit) => limit,
            _ => {
                self.problem("limit", &text, &format!("allowed are 1 to {MAX_LIMIT}"));
                DEFAULT_LIMIT
            }
        }
    }

    fn problem(&mut self, name: &str, value: &str, allowed: &str) {
        let value = &value[..value.floor_char_boundary(60)];
        self.problems
            .push(format!("`{name}` is \"{value}\"; {allowed}"));
    }

    /// Refuses the request when anything was wrong.
    pub(super) fn finish(mut self) -> Result<(), ApiError> {
        let allowed = match self.allowed.as_slice() {
            [] => "none is allowed".to_owned(),
            names => format!("allowed are {}", names.join(", ")),
        };
        for name in self.given.keys() {
            let name = &name[..name.floor_char_boundary(60)];
            self.problems
                .push(format!("`{name}` is no parameter; {allowed}"));
        }
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(ApiError::invalid(self.problems.join("; ")))
        }
    }
}

/// Whether the bytes that a query stands for are UTF-8.
fn is_utf8(query: &str) -> bool {
    let mut bytes = Vec::with_capacity(query.len());
    let mut rest = query.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digit = |at: usize| char::from(*tail.get(at)?).to_digit(16);
        let pair = (first == b'%').then(|| digit(0).zip(digit(1))).flatten();
        if let Some((high, low)) = pair {
            bytes.push(u8::try_from(high * 16 + low).unwrap_or(first));
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    std::str::from_utf8(&bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_is_not_utf8_is_seen() {
        for good in ["", "a=b", "path=%C3%BC", "a=%", "a=%zz", "a=100%25"] {
            assert!(is_utf8(good), "{good}");
        }
        for bad in ["path=%ff", "a=%c3&b=%bc", "a=%C3"] {
            assert!(!is_utf8(bad), "{bad}");
        }
    }
}
