//! The list of paths a machine answers, read once and alike by front and runner.

use hyper::Method;
use machine_agent_api::{Kind, decode};

use crate::answer::Refused;
use crate::names;

/// A request's method and path, taken apart; every part has its grammar checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// `GET /v1/health`
    Health,
    /// Anything under `/v1/agents/{agent}`
    Agent(String, AgentRoute),
}

/// What is asked of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentRoute {
    /// `PUT`
    Ensure,
    /// `POST …/{kind}/{verb}/calls/{id}`
    Start {
        /// Which helper.
        kind: Kind,
        /// The helper's verb.
        verb: String,
        /// Machine call id.
        id: String,
    },
    /// `GET …/calls/{id}?wait_s=`
    Follow {
        /// Machine call id.
        id: String,
        /// Seconds to wait, 0 to 60.
        wait_s: u32,
    },
    /// `POST …/calls/{id}/cancel`
    Cancel(String),
    /// `POST …/calls/{id}/stored`
    Stored(String),
    /// `PUT …/scripts/{name}`
    PutScript(String),
    /// `DELETE …/scripts/{name}`
    DeleteScript(String),
    /// `GET …/files?path=`; the path is decoded, and only the runner looks at it
    File(String),
}

impl Route {
    /// Reads a request line.
    ///
    /// # Errors
    /// 404 for a path that isn't in the list, 422 naming the part that breaks its grammar.
    pub fn parse(method: &Method, path: &str, query: Option<&str>) -> Result<Self, Refused> {
        let unknown = || Refused::not_found(format!("there is no {method} {}", short(path)));
        let mut segments = path.strip_prefix("/v1/").ok_or_else(unknown)?.split('/');
        match segments.next() {
            Some("health") if segments.next().is_none() && method == Method::GET => {
                return Ok(Self::Health);
            }
            Some("agents") => {}
            _ => return Err(unknown()),
        }
        let agent = segments.next().ok_or_else(unknown)?;
        check("agent", agent, names::is_id, "^[a-z][a-z0-9-]{0,30}$")?;
        if !names::is_agent(agent) {
            return Err(Refused::invalid("the agent id `user` is reserved"));
        }
        let rest: Vec<&str> = segments.collect();
        let route = agent_route(method, &rest, query)?.ok_or_else(unknown)?;
        Ok(Self::Agent(agent.to_owned(), route))
    }
}

fn agent_route(
    method: &Method,
    rest: &[&str],
    query: Option<&str>,
) -> Result<Option<AgentRoute>, Refused> {
    let route = match (method.as_str(), rest) {
        ("PUT", []) => AgentRoute::Ensure,
        ("GET", ["calls", id]) => AgentRoute::Follow {
            id: call(id)?,
            wait_s: wait_s(query)?,
        },
        ("POST", ["calls", id, "cancel"]) => AgentRoute::Cancel(call(id)?),
        ("POST", ["calls", id, "stored"]) => AgentRoute::Stored(call(id)?),
        ("POST", [kind, verb, "calls", id]) => AgentRoute::Start {
            kind: Kind::parse(kind).ok_or_else(|| {
                Refused::invalid(format!(
                    "there is no kind `{}`; allowed are browser, script-run, code",
                    short(kind)
                ))
            })?,
            verb: {
                check("verb", verb, names::is_verb, "^[a-z][a-z0-9_-]{0,30}$")?;
                (*verb).to_owned()
            },
            id: call(id)?,
        },
        ("PUT", ["scripts", name]) => AgentRoute::PutScript(script(name)?),
        ("DELETE", ["scripts", name]) => AgentRoute::DeleteScript(script(name)?),
        ("GET", ["files"]) => AgentRoute::File(file(query)?),
        _ => return Ok(None),
    };
    Ok(Some(route))
}

fn call(id: &str) -> Result<String, Refused> {
    check("call id", id, names::is_call, "^[a-z2-7]{26}$")?;
    Ok(id.to_owned())
}

fn script(name: &str) -> Result<String, Refused> {
    check(
        "script name",
        name,
        names::is_script,
        "^[a-z][a-z0-9_-]{0,62}$",
    )?;
    Ok(name.to_owned())
}

fn wait_s(query: Option<&str>) -> Result<u32, Refused> {
    let Some(query) = query.filter(|query| !query.is_empty()) else {
        return Ok(0);
    };
    query
        .strip_prefix("wait_s=")
        .and_then(|number| number.parse().ok())
        .filter(|seconds| *seconds <= 60)
        .ok_or_else(|| Refused::invalid("the query is `wait_s=` and 0 to 60 seconds"))
}

fn file(query: Option<&str>) -> Result<String, Refused> {
    query
        .and_then(|query| query.strip_prefix("path="))
        .and_then(decode)
        .ok_or_else(|| Refused::invalid("the query is `path=` and a path, its bytes UTF-8"))
}

fn check(what: &str, text: &str, is: fn(&str) -> bool, grammar: &str) -> Result<(), Refused> {
    if is(text) {
        Ok(())
    } else {
        Err(Refused::invalid(format!(
            "the {what} `{}` doesn't match {grammar}",
            short(text)
        )))
    }
}

/// A name from outside, short enough for a sentence.
fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(100)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "abcdefghijklmnopqrstuvwxyz";

    fn parse(method: Method, path: &str) -> Result<Route, u16> {
        let (path, query) = path
            .split_once('?')
            .map_or((path, None), |(p, q)| (p, Some(q)));
        Route::parse(&method, path, query).map_err(|refused| refused.status.as_u16())
    }

    #[test]
    fn every_operation_has_its_path() {
        let ada = |route| Ok(Route::Agent("ada".to_owned(), route));
        assert_eq!(parse(Method::GET, "/v1/health"), Ok(Route::Health));
        assert_eq!(
            parse(Method::PUT, "/v1/agents/ada"),
            ada(AgentRoute::Ensure)
        );
        assert_eq!(
            parse(
                Method::POST,
                &format!("/v1/agents/ada/script-run/run/calls/{ID}")
            ),
            ada(AgentRoute::Start {
                kind: Kind::ScriptRun,
                verb: "run".to_owned(),
                id: ID.to_owned()
            })
        );
        assert_eq!(
            parse(Method::GET, &format!("/v1/agents/ada/calls/{ID}?wait_s=60")),
            ada(AgentRoute::Follow {
                id: ID.to_owned(),
                wait_s: 60
            })
        );
        assert_eq!(
            parse(Method::POST, &format!("/v1/agents/ada/calls/{ID}/cancel")),
            ada(AgentRoute::Cancel(ID.to_owned()))
        );
        assert_eq!(
            parse(Method::POST, &format!("/v1/agents/ada/calls/{ID}/stored")),
            ada(AgentRoute::Stored(ID.to_owned()))
        );
        assert_eq!(
            parse(Method::PUT, "/v1/agents/ada/scripts/report"),
            ada(AgentRoute::PutScript("report".to_owned()))
        );
        assert_eq!(
            parse(Method::DELETE, "/v1/agents/ada/scripts/report"),
            ada(AgentRoute::DeleteScript("report".to_owned()))
        );
        assert_eq!(
            parse(Method::GET, "/v1/agents/ada/files?path=a%20b/c.txt"),
            ada(AgentRoute::File("a b/c.txt".to_owned()))
        );
    }

    #[test]
    fn anything_else_is_not_found() {
        for (method, path) in [
            (Method::GET, "/"),
            (Method::POST, "/v1/health"),
            (Method::GET, "/v1/health/x"),
            (Method::GET, "/v1/agents"),
            (Method::DELETE, "/v1/agents/ada"),
            (Method::GET, "/v1/agents/ada/scripts/report"),
        ] {
            assert_eq!(parse(method, path), Err(404), "{path}");
        }
    }

    #[test]
    fn names_that_break_their_grammar_are_invalid() {
        for path in [
            "/v1/agents/../calls/x".to_owned(),
            "/v1/agents/Ada".to_owned(),
            "/v1/agents/user".to_owned(),
            "/v1/agents/ada/scripts/..".to_owned(),
        ] {
            assert_eq!(parse(Method::PUT, &path), Err(422), "{path}");
        }
        for path in [
            format!("/v1/agents/ada/calls/{ID}?wait_s=61"),
            format!("/v1/agents/ada/calls/{ID}?later=1"),
            "/v1/agents/ada/calls/short".to_owned(),
            "/v1/agents/ada/files".to_owned(),
            "/v1/agents/ada/files?path=%ff".to_owned(),
            "/v1/agents/ada/files?name=a".to_owned(),
        ] {
            assert_eq!(parse(Method::GET, &path), Err(422), "{path}");
        }
        assert_eq!(
            parse(Method::POST, &format!("/v1/agents/ada/cron/run/calls/{ID}")),
            Err(422)
        );
    }
}
