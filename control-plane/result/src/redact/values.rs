//! The values that are looked for, and their forms made again when they are needed.

use std::collections::HashMap;

use secrecy::{ExposeSecret as _, SecretString};

use super::{Secret, forms};

/// One form of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FormId {
    /// Place in [`Values`].
    pub(super) value: u32,
    /// Place in [`forms::of`].
    form: u32,
}

/// Values and their names. They are wiped when dropped.
#[derive(Default)]
pub(super) struct Values {
    values: Vec<(String, SecretString)>,
}

impl Values {
    pub(super) fn new(secrets: Vec<Secret>) -> Self {
        Self {
            values: secrets
                .into_iter()
                .filter(|secret| !secret.value.expose_secret().is_empty())
                .map(|secret| (secret.name, secret.value))
                .collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn name(&self, value: u32) -> &str {
        self.values
            .get(value as usize)
            .map_or("", |(name, _)| name.as_str())
    }

    /// Visits every form of every value.
    pub(super) fn each_form(&self, mut visit: impl FnMut(FormId, &str)) {
        for (value, (_, text)) in (0..).zip(&self.values) {
            for (form, text) in (0..).zip(forms::of(text.expose_secret())) {
                visit(FormId { value, form }, &text);
            }
        }
    }
}

/// Forms that were needed while one text is looked at: all forms of all values at once would
/// be many times the values.
pub(super) struct Opened<'a> {
    values: &'a Values,
    forms: HashMap<u32, Vec<String>>,
}

impl<'a> Opened<'a> {
    pub(super) fn new(values: &'a Values) -> Self {
        Self {
            values,
            forms: HashMap::new(),
        }
    }

    /// The text of a form.
    pub(super) fn form(&mut self, id: FormId) -> &str {
        let values = &self.values.values;
        let forms = self.forms.entry(id.value).or_insert_with(|| {
            values
                .get(id.value as usize)
                .map_or_else(Vec::new, |(_, value)| forms::of(value.expose_secret()))
        });
        forms.get(id.form as usize).map_or("", String::as_str)
    }
}
