//! The body of a record: columns and their values as JSON texts, no digit lost.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::store::collections::Column;

/// Columns with their values, each at most once.
#[derive(Debug, Clone, Default)]
pub struct Body(Vec<(String, Box<RawValue>)>);

impl Body {
    /// The value of a column.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&RawValue> {
        self.0
            .iter()
            .find(|(name, _)| name == column)
            .map(|(_, value)| &**value)
    }

    /// Sets a column, in place of the value it has.
    pub fn set(&mut self, column: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(name, _)| name == column) {
            Some((_, old)) => *old = value,
            None => self.0.push((column.to_owned(), value)),
        }
    }

    /// Takes a column out.
    pub fn clear(&mut self, column: &str) {
        self.0.retain(|(name, _)| name != column);
    }

    /// Columns with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// In the order of a definition, what it does not declare last, arrays without the spaces
    /// that the database writes.
    #[must_use]
    pub fn ordered(mut self, columns: &[Column]) -> Self {
        for (_, value) in &mut self.0 {
            if value.get().starts_with('[')
                && let Ok(items) = serde_json::from_str::<Vec<Box<RawValue>>>(value.get())
                && let Ok(compact) = to_raw_value(&items)
            {
                *value = compact;
            }
        }
        self.0.sort_by_key(|(name, _)| {
            columns
                .iter()
                .position(|column| column.name == *name)
                .unwrap_or(columns.len())
        });
        self
    }
}

/// A column given twice would be read as either value: both stay apart in the list.
impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Columns;
        impl<'de> Visitor<'de> for Columns {
            type Value = Body;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Body, A::Error> {
                let mut columns = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    columns.push(entry);
                }
                Ok(Body(columns))
            }
        }
        deserializer.deserialize_map(Columns)
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::collections::ColumnType;

    #[test]
    fn a_body_keeps_digits_and_takes_the_order_of_its_columns() {
        let body: Body = serde_json::from_str(r#"{"b":1.50,"a":[ "x", "y" ],"z":0}"#).unwrap();
        let columns = ["a", "b"].map(|name| Column {
            name: name.to_owned(),
            kind: ColumnType::Text,
            required: false,
            values: None,
        });
        let mut body = body.ordered(&columns);
        assert_eq!(
            serde_json::to_string(&body).unwrap(),
            r#"{"a":["x","y"],"b":1.50,"z":0}"#
        );
        body.clear("z");
        body.set("b", RawValue::from_string("2".to_owned()).unwrap());
        assert_eq!(body.get("b").map(RawValue::get), Some("2"));
        assert_eq!(body.iter().count(), 2);
    }
}
