//! What `nft --json` lists of a table, in a form in which equal tables are equal.

use serde_json::Value;

/// Sets with sorted elements, chains and rules, without handles and counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing(Vec<Value>);

impl Listing {
    /// Reads the JSON.
    ///
    /// # Errors
    /// When it isn't what libnftables-json(5) says.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        let mut whole: Value = serde_json::from_str(text)?;
        let mut items: Vec<Value> = whole
            .get_mut("nftables")
            .and_then(Value::as_array_mut)
            .map(std::mem::take)
            .ok_or_else(|| serde::de::Error::custom("there is no `nftables`"))?;
        items.retain(|item| item.get("metainfo").is_none());
        items.iter_mut().for_each(settle);
        Ok(Self(items))
    }
}

/// Drops what differs between equal tables, at every depth.
fn settle(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("handle");
            if let Some(counter) = map.get_mut("counter") {
                *counter = Value::Null;
            }
            map.values_mut().for_each(settle);
            if let Some(Value::Array(elements)) = map.get_mut("elem") {
                elements.sort_by_key(Value::to_string);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(elements: &str, packets: u32, handle: u32, verdict: &str) -> Listing {
        Listing::parse(&format!(
            r#"{{"nftables":[{{"metainfo":{{"version":"1.0.6"}}}},
            {{"set":{{"name":"slots","handle":{handle},"elem":{elements}}}}},
            {{"rule":{{"chain":"gate","handle":9,"expr":[{{"counter":{{"packets":{packets},"bytes":0}}}},{{"{verdict}":null}}]}}}}]}}"#
        ))
        .unwrap()
    }

    #[test]
    fn counts_handles_and_order_do_not_matter() {
        assert_eq!(
            listing("[9301,9302]", 0, 1, "reject"),
            listing("[9302,9301]", 7, 2, "reject")
        );
    }

    #[test]
    fn elements_and_verdicts_do() {
        let loaded = listing("[9301]", 0, 1, "reject");
        assert_ne!(loaded, listing("[9301,9302]", 0, 1, "reject"));
        assert_ne!(loaded, listing("[9301]", 0, 1, "accept"));
    }
}
