//! Secret values that a document takes from the environment: `value_env` and `key_env`.

use serde_json::{Map, Value};

/// Lists whose objects have a secret value, with the value's name and the
/// name under which a document says which variable has it.
const VALUES: [(&str, &str, &str); 2] = [
    ("logins", "key", "key_env"),
    ("secrets", "value", "value_env"),
];

/// Puts the values in their places.
///
/// Gives every problem, as the path and what is wrong there.
pub(super) fn fill(body: &mut Value) -> Vec<(String, String)> {
    fill_from(body, |name| std::env::var(name))
}

fn fill_from(
    body: &mut Value,
    look: impl Fn(&str) -> Result<String, std::env::VarError>,
) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    for (list, value, variable) in VALUES {
        let objects = body.get_mut(list).and_then(Value::as_array_mut);
        for (index, object) in objects.into_iter().flatten().enumerate() {
            let Value::Object(object) = object else {
                continue;
            };
            if let Err(problem) = one(object, value, variable, &look) {
                problems.push((format!("{list}[{index}].{variable}"), problem));
            }
        }
    }
    problems
}

fn one(
    object: &mut Map<String, Value>,
    value: &str,
    variable: &str,
    look: impl Fn(&str) -> Result<String, std::env::VarError>,
) -> Result<(), String> {
    use std::env::VarError;

    let name = match object.get(variable) {
        None => return Ok(()),
        Some(Value::String(name)) => name,
        Some(_) => return Err("is not the name of a variable, in quotes".to_owned()),
    };
    if object.contains_key(value) {
        return Err(format!("stands beside `{value}`; give one of them"));
    }
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(format!(
            "\"{}\" can't be a variable's name",
            name.escape_debug()
        ));
    }
    let found = match look(name) {
        Ok(found) if found.is_empty() => Err(format!("the variable {name} is empty")),
        Ok(found) => Ok(found),
        Err(VarError::NotPresent) => Err(format!("the variable {name} is not set")),
        Err(VarError::NotUnicode(_)) => Err(format!("the variable {name} is no UTF-8 text")),
    }?;
    object.shift_remove(variable);
    object.insert(value.to_owned(), Value::String(found));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::env::VarError;

    use serde_json::json;

    use super::*;

    fn look(name: &str) -> Result<String, VarError> {
        match name {
            "STRIPE" => Ok("sk_1234".to_owned()),
            "EMPTY" => Ok(String::new()),
            _ => Err(VarError::NotPresent),
        }
    }

    #[test]
    fn values_come_from_the_environment() {
        let mut body = json!({
            "secrets": [{"name": "A", "value_env": "STRIPE"}, {"name": "B", "value": "kept-value"}],
            "logins": [{"connector": "web", "key_env": "STRIPE"}],
        });
        assert_eq!(fill_from(&mut body, look), []);
        assert_eq!(
            body,
            json!({
                "secrets": [{"name": "A", "value": "sk_1234"}, {"name": "B", "value": "kept-value"}],
                "logins": [{"connector": "web", "key": "sk_1234"}],
            })
        );
    }

    #[test]
    fn all_that_is_missing_is_told_at_once() {
        let mut body = json!({
            "secrets": [
                {"name": "A", "value_env": "NOT_THERE"},
                {"name": "B", "value_env": "EMPTY"},
                {"name": "C", "value_env": "STRIPE", "value": "x"},
                {"name": "D", "value_env": "A=B"},
                {"name": "E", "value_env": 5},
            ],
            "logins": [{"connector": "web", "key_env": "NEITHER"}],
        });
        let told: Vec<_> = fill_from(&mut body, look)
            .into_iter()
            .map(|(path, message)| format!("{path}: {message}"))
            .collect();
        assert_eq!(
            told,
            [
                "logins[0].key_env: the variable NEITHER is not set",
                "secrets[0].value_env: the variable NOT_THERE is not set",
                "secrets[1].value_env: the variable EMPTY is empty",
                "secrets[2].value_env: stands beside `value`; give one of them",
                "secrets[3].value_env: \"A=B\" can't be a variable's name",
                "secrets[4].value_env: is not the name of a variable, in quotes",
            ]
        );
    }
}
