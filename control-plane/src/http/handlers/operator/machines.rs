//! What a look at machines adds to them: whether they answer, with what, and until when.

use serde_json::{Map, Value, json};

use crate::http::Api;
use crate::machine::Machine;
use crate::machine::look::Look;
use crate::store::time::rfc3339;

/// Adds `state` and `reason`, or `version` and `certificate_expires_at`, to each
/// machine; all of them are asked at once, within 3 s.
pub(super) async fn look(api: &Api, machines: &mut [Value]) {
    let asked: Vec<Machine> = machines
        .iter()
        .map(|machine| Machine {
            id: word(machine, "id"),
            address: word(machine, "address"),
        })
        .collect();
    let looks = api.engine.look_at(&asked).await;
    for (machine, look) in machines.iter_mut().zip(looks) {
        if let Value::Object(fields) = machine {
            add(fields, look);
        }
    }
}

/// The control plane beside its machines.
pub(super) fn control_plane(api: &Api) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "certificate_expires_at": expires(api.engine.certificate_ends_s()),
    })
}

fn add(fields: &mut Map<String, Value>, look: Look) {
    match look {
        Look::Up {
            version,
            certificate_ends_s,
        } => {
            fields.insert("state".to_owned(), json!("up"));
            fields.insert("version".to_owned(), json!(version));
            let end = expires(certificate_ends_s);
            fields.insert("certificate_expires_at".to_owned(), json!(end));
        }
        Look::Down { reason } => {
            fields.insert("state".to_owned(), json!("down"));
            fields.insert("reason".to_owned(), json!(reason));
        }
    }
}

fn expires(ends_s: Option<i64>) -> Option<String> {
    ends_s.map(|seconds| rfc3339(seconds.saturating_mul(1_000)))
}

fn word(machine: &Value, key: &str) -> String {
    machine[key].as_str().unwrap_or_default().to_owned()
}
