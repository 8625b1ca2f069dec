//! Query parameters, every problem at once.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use uuid::Uuid;

use crate::http::error::ApiError;
use crate::store::place::Place;

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
            self.problem(name, &text, &format!("allowed are {}", words.join(", ")));
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
