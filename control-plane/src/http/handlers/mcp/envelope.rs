//! JSON-RPC messages as clients send them, read without looking into their parameters.

use std::borrow::Cow;

use rmcp::model::{ErrorCode, RequestId};
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::value::RawValue;

use super::reply::Fault;
use crate::http::fields::kind;

/// Most messages of a batch.
const MAX_MESSAGES: usize = 128;

/// What one request brings.
pub(super) enum Body<'a> {
    One(Message<'a>),
    /// Several messages, those that are none with their error (revision 2025-03-26).
    Batch(Vec<Result<Message<'a>, Fault>>),
}

/// One message.
#[derive(Debug)]
pub(super) struct Message<'a> {
    /// Absent in a notification.
    pub(super) id: Option<RequestId>,
    /// Absent in a response.
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) params: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A field that is there, `null` too.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(raw: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(raw).map(Some)
}

impl<'a> Body<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let raw: &RawValue = serde_json::from_slice(bytes).map_err(|error| {
            Fault::bad(
                ErrorCode::PARSE_ERROR,
                format!("the body is not JSON: {error}"),
            )
        })?;
        if kind(raw) != "an array" {
            return Message::read(raw).map(Self::One);
        }
        let items: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
        if items.is_empty() || items.len() > MAX_MESSAGES {
            return Err(Fault::bad(
                ErrorCode::INVALID_REQUEST,
                format!(
                    "the batch has {} messages; allowed are 1 to {MAX_MESSAGES}",
                    items.len()
                ),
            ));
        }
        Ok(Self::Batch(items.into_iter().map(Message::read).collect()))
    }

    /// The first request's id.
    pub(super) fn first_id(&self) -> Option<&RequestId> {
        match self {
            Self::One(message) => message.id.as_ref(),
            Self::Batch(messages) => messages
                .iter()
                .filter_map(|message| message.as_ref().ok())
                .find_map(|message| message.id.as_ref()),
        }
    }
}

impl<'a> Message<'a> {
    fn read(raw: &'a RawValue) -> Result<Self, Fault> {
        let bad = |message: String| Fault::bad(ErrorCode::INVALID_REQUEST, message);
        let found = kind(raw);
        if found != "an object" {
            return Err(bad(format!(
                "the message is {found}; it has to be an object"
            )));
        }
        let envelope: Envelope<'a> = serde_json::from_str(raw.get())
            .map_err(|error| bad(format!("the message can't be read: {error}")))?;
        // What answers it is found out first, so that every other fault can name it.
        let id = match envelope.id {
            None => None,
            Some(id) => Some(text_or(id, "`id`", "a string or an integer").map_err(bad)?),
        };
        let fault = |message: String| bad(message).about(id.as_ref());
        if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
            return Err(fault("`jsonrpc` has to be \"2.0\"".to_owned()));
        }
        let method = match envelope.method {
            Some(method) => Some(text_or::<String>(method, "`method`", "a string").map_err(fault)?),
            None if envelope.result.is_some() || envelope.error.is_some() => None,
            None => return Err(fault("`method` is missing".to_owned())),
        };
        let params = envelope.params.filter(|params| params.get() != "null");
        if let Some(params) = params
            && kind(params) != "an object"
        {
            let found = kind(params);
            let message = format!("`params` is {found}; it has to be an object");
            return Err(Fault::refused(ErrorCode::INVALID_PARAMS, message).about(id.as_ref()));
        }
        Ok(Self {
            id,
            method: method.map(Cow::Owned),
            params,
        })
    }

    /// The parameters, read; without any they are `{}`.
    pub(super) fn read_params<T: serde::Deserialize<'a>>(&self) -> Result<T, Fault> {
        let text = self.params.map_or("{}", RawValue::get);
        serde_json::from_str(text).map_err(|error| {
            let message = format!("the parameters can't be read: {error}");
            Fault::refused(ErrorCode::INVALID_PARAMS, message).about(self.id.as_ref())
        })
    }
}

fn text_or<T: DeserializeOwned>(raw: &RawValue, what: &str, wanted: &str) -> Result<T, String> {
    serde_json::from_str(raw.get())
        .map_err(|_| format!("{what} is {}; it has to be {wanted}", kind(raw)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fault(body: &str, code: i32, expected: &str) {
        let fault = match Body::read(body.as_bytes()) {
            Ok(_) => panic!("{body} is read"),
            Err(fault) => fault,
        };
        assert_eq!(fault.code(), code, "{body}");
        assert_eq!(fault.text(), expected, "{body}");
    }

    #[test]
    fn a_request_a_notification_and_a_response_are_told_apart() {
        let read = |body: &'static str| match Body::read(body.as_bytes()) {
            Ok(Body::One(message)) => message,
            _ => panic!("{body}"),
        };
        let request = read(r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":null}"#);
        assert_eq!(request.id, Some(RequestId::String("a".into())));
        assert!(request.params.is_none());
        let notification = read(r#"{"jsonrpc":"2.0","method":"x","params":{"n":1.50}}"#);
        assert_eq!(notification.id, None);
        assert_eq!(notification.params.unwrap().get(), r#"{"n":1.50}"#);
        assert!(
            read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
                .method
                .is_none()
        );
    }

    #[test]
    fn what_is_no_message_is_refused_with_the_id_where_there_is_one() {
        check_fault(
            "{",
            -32_700,
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"the body is not JSON: EOF while parsing an object at line 1 column 1"}}"#,
        );
        check_fault(
            "3",
            -32_600,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"the message is a number; it has to be an object"}}"#,
        );
        check_fault(
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            -32_600,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"`id` is null; it has to be a string or an integer"}}"#,
        );
        check_fault(
            r#"{"id":3,"method":"ping"}"#,
            -32_600,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"`jsonrpc` has to be \"2.0\""}}"#,
        );
        check_fault(
            r#"{"jsonrpc":"2.0","id":3}"#,
            -32_600,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"`method` is missing"}}"#,
        );
        check_fault(
            r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}"#,
            -32_602,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"`params` is an array; it has to be an object"}}"#,
        );
        check_fault(
            "[]",
            -32_600,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"the batch has 0 messages; allowed are 1 to 128"}}"#,
        );
    }

    #[test]
    fn parameters_of_any_depth_are_left_alone() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{deep}}}}}"#);
        assert!(Body::read(body.as_bytes()).is_ok());
    }
}
