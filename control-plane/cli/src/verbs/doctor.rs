//! `guilds doctor`: is everything in order, and if not, what mends it.

mod check;

use clap::Args;
use hyper::Method;
use serde_json::{Value, json};

use self::check::{Check, Outcome};
use super::machine;
use crate::api::{Client, PATIENCE, Role as Token, text_variable, token, variable};
use crate::error::{Exit, Failure};
use crate::kind::words;
use crate::screen::Screen;
use crate::{Context, Format, moment, output, progress};

/// Clocks further apart make times in answers, and certificates, wrong.
const MAX_CLOCK_SECONDS: i64 = 30;

/// Nothing to choose.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

/// Prints a line for each check; exit 1 when one failed.
pub(super) async fn run(_: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let checks = progress::watch("looking", examine(&context.screen)).await;
    match context.format {
        Format::Json => {
            let checks: Vec<_> = checks.iter().map(Check::to_json).collect();
            output::json(&json!({ "checks": checks }))?;
        }
        Format::Table => {
            let lines: String = checks
                .iter()
                .map(|check| check.show(&context.screen))
                .collect();
            output::payload(&lines)?;
        }
    }
    let failed = checks.iter().filter(|check| check.is_failed()).count();
    match failed {
        0 => Ok(Exit::Done),
        1 => Err(Failure::local("1 check failed")),
        count => Err(Failure::local(format!("{count} checks failed"))),
    }
}

async fn examine(screen: &Screen) -> Vec<Check> {
    let mut checks = Vec::new();
    let client = match Client::nobody() {
        Ok(client) => {
            let url = variable("GUILDS_URL").unwrap_or_default();
            checks.push(Check::new("GUILDS_URL", Outcome::fine(&url)));
            Some(client)
        }
        Err(failure) => {
            let mend = if failure.message().starts_with("GUILDS_CA_FILE") {
                "export GUILDS_CA_FILE=AUTHORITY.crt"
            } else {
                "export GUILDS_URL=https://HOST:8440"
            };
            let outcome = Outcome::failed(failure.message(), mend);
            checks.push(Check::new("GUILDS_URL", outcome));
            None
        }
    };
    let operator = held(&mut checks, Token::Operator);
    let backend = held(&mut checks, Token::Backend);
    let Some(client) = client else {
        return checks;
    };
    if !reach(&mut checks, &client, screen).await {
        return checks;
    }
    let mut is_accepted = false;
    if let Some(token) = &operator {
        is_accepted = accepted(&mut checks, &client, Token::Operator, token).await;
    }
    if let Some(token) = &backend {
        accepted(&mut checks, &client, Token::Backend, token).await;
    }
    if let (true, Some(token)) = (is_accepted, &operator) {
        machines(&mut checks, &client, token, screen).await;
    }
    checks
}

/// The verb that makes a token.
const fn maker(role: Token) -> &'static str {
    match role {
        Token::Operator => "guilds-control-plane token create --role operator --organisation ID",
        Token::Backend => "guilds-control-plane token create --role backend",
    }
}

/// Whether a token is there at all. Without the backend's only two verbs don't work.
fn held(checks: &mut Vec<Check>, role: Token) -> Option<String> {
    let name = role.variable();
    let is_unset = [name, &format!("{name}_FILE")]
        .iter()
        .all(|name| matches!(text_variable(name), Ok(None)));
    if role == Token::Backend && is_unset {
        let outcome = Outcome::skipped("not set; only `guilds call` and `guilds run` need it");
        checks.push(Check::new(name, outcome));
        return None;
    }
    match token(role) {
        Ok(token) => {
            checks.push(Check::new(name, Outcome::fine("set")));
            Some(token)
        }
        Err(failure) => {
            let mend = format!("export {name}=$({})", maker(role));
            checks.push(Check::new(name, Outcome::failed(failure.message(), &mend)));
            None
        }
    }
}

/// Whether the control plane answers, is ready, and has the same time.
async fn reach(checks: &mut Vec<Check>, client: &Client, screen: &Screen) -> bool {
    let name = "control plane";
    let ready = client.ask(Method::GET, "/healthz/ready", None, PATIENCE);
    let answer = match ready.await {
        Ok(answer) => answer,
        Err(failure) => {
            let mend = "systemctl start guilds-control-plane, or set GUILDS_URL";
            checks.push(Check::new(name, refused(&failure, mend)));
            return false;
        }
    };
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let is_ready = answer.status == 200 && body["status"] == "ready";
    let outcome = match answer.status {
        _ if is_ready => Outcome::fine(&format!("ready at {}", client.authority())),
        200 => refused(
            &Failure::stranger("it answers /healthz/ready with something else than its state"),
            "set GUILDS_URL",
        ),
        status => refused(
            &Failure::answered(status, &body),
            "guilds-control-plane check-config",
        ),
    };
    checks.push(Check::new(name, outcome));
    if is_ready {
        let clock = clock(answer.date.as_deref(), screen.now);
        checks.push(Check::new("clock", clock));
    }
    is_ready
}

/// A check that failed, with the mend that its cause names, else this one.
fn refused(failure: &Failure, mend: &str) -> Outcome {
    Outcome::failed(failure.message(), failure.mend().unwrap_or(mend))
}

fn clock(date: Option<&str>, now: jiff::Timestamp) -> Outcome {
    let Some(date) = date else {
        return Outcome::skipped("the control plane tells no time");
    };
    let Ok(theirs) = jiff::fmt::rfc2822::parse(date) else {
        return Outcome::skipped("the control plane's time can't be read");
    };
    let seconds = theirs.timestamp().duration_since(now).as_secs();
    if seconds.abs() <= MAX_CLOCK_SECONDS {
        return Outcome::fine("as the control plane's");
    }
    let side = if seconds > 0 { "behind" } else { "ahead of" };
    Outcome::failed(
        &format!(
            "this machine is {} {side} the control plane",
            moment::duration(seconds.abs() * 1_000)
        ),
        "timedatectl set-ntp true, on the one that is wrong",
    )
}

/// Whether the control plane takes a token for its role.
async fn accepted(checks: &mut Vec<Check>, client: &Client, role: Token, token: &str) -> bool {
    let (name, path) = match role {
        Token::Operator => ("operator token", "/v1/operator/guilds?limit=1"),
        Token::Backend => ("backend token", "/v1/runs?limit=1"),
    };
    let asked = match client.with(Some(token)) {
        Ok(client) => client.get(path).await,
        Err(failure) => Err(failure),
    };
    let is_accepted = asked.is_ok();
    let outcome = match asked {
        Ok(_) => Outcome::fine("accepted"),
        // Only then it is the token.
        Err(failure) if matches!(failure.exit, Exit::Denied | Exit::Usage) => {
            let mend = format!("export {}=$({})", role.variable(), maker(role));
            Outcome::failed(failure.message(), &mend)
        }
        Err(failure) => refused(&failure, "guilds-control-plane check-config"),
    };
    checks.push(Check::new(name, outcome));
    is_accepted
}

/// Every machine, and the control plane's own certificate.
async fn machines(checks: &mut Vec<Check>, client: &Client, token: &str, screen: &Screen) {
    let kind = machine::KIND;
    let list = match client.with(Some(token)) {
        Ok(client) => client.list(&kind.path(), kind.plural, &[], 1_000).await,
        Err(failure) => Err(failure),
    };
    let list = match list {
        Ok(list) => list,
        Err(failure) => {
            checks.push(Check::new(
                "machines",
                refused(&failure, "guilds machine list"),
            ));
            return;
        }
    };
    if let Some(own) = list.rest.get("control_plane") {
        let end = words(own, "certificate_expires_at");
        let left = moment::remaining(&end, screen.now);
        let outcome = if machine::ends_soon(&end, screen) {
            let mend = "guilds-control-plane ca control-plane --dir CA --out DIR";
            Outcome::failed(&format!("for machines: {left}"), mend)
        } else {
            Outcome::fine(&format!("for machines: {left}"))
        };
        checks.push(Check::new("certificate", outcome));
    }
    for machine in &list.items {
        let name = format!("machine {}", words(machine, "id"));
        checks.push(Check::new(&name, one(machine, screen)));
    }
    if list.items.is_empty() {
        let outcome = Outcome::skipped("none yet; `guilds apply` with [[machines]] adds one");
        checks.push(Check::new("machines", outcome));
    }
}

fn one(machine: &Value, screen: &Screen) -> Outcome {
    let id = words(machine, "id");
    if words(machine, "state") != "up" {
        return Outcome::failed(
            &format!("down: {}", words(machine, "reason")),
            &format!("systemctl start guilds-machine-agent, on {id}"),
        );
    }
    let end = words(machine, "certificate_expires_at");
    let left = moment::remaining(&end, screen.now);
    let told = format!(
        "up, version {}, certificate {left}",
        words(machine, "version")
    );
    if machine::ends_soon(&end, screen) {
        let mend = format!("guilds-control-plane ca machine {id} --dir CA --out DIR");
        return Outcome::failed(&told, &mend);
    }
    let offset = machine.get("clock_offset_ms").and_then(Value::as_i64);
    match offset {
        Some(offset) if offset.abs() > MAX_CLOCK_SECONDS * 1_000 => Outcome::failed(
            &format!(
                "{told}, its clock is {} off",
                moment::duration(offset.abs())
            ),
            &format!("timedatectl set-ntp true, on {id}"),
        ),
        _ => Outcome::fine(&told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_are_told() {
        let now = "2026-03-01T12:00:00Z".parse().unwrap();
        let check = |date| clock(Some(date), now).to_line();
        assert_eq!(
            check("Sun, 01 Mar 2026 12:00:10 GMT"),
            "as the control plane's"
        );
        assert_eq!(
            check("Sun, 01 Mar 2026 12:02:05 GMT"),
            "this machine is 2m 05s behind the control plane; mend: timedatectl set-ntp true, on the one that is wrong"
        );
        assert_eq!(
            check("Sun, 01 Mar 2026 11:00:00 GMT"),
            "this machine is 1h 00m ahead of the control plane; mend: timedatectl set-ntp true, on the one that is wrong"
        );
    }

    #[test]
    fn a_machine_is_up_or_its_mend_is_named() {
        let screen = Screen::of(80);
        let check = |machine: Value| one(&machine, &screen).to_line();
        assert_eq!(
            check(
                json!({"id": "m1", "state": "up", "version": "0.1.0", "certificate_expires_at": "2026-03-31T12:00:00Z"})
            ),
            "up, version 0.1.0, certificate 30 days"
        );
        assert_eq!(
            check(
                json!({"id": "m1", "state": "up", "version": "0.1.0", "certificate_expires_at": "2026-03-04T12:00:00Z"})
            ),
            "up, version 0.1.0, certificate 3 days; mend: guilds-control-plane ca machine m1 --dir CA --out DIR"
        );
        assert_eq!(
            check(json!({"id": "m1", "state": "down", "reason": "connection refused"})),
            "down: connection refused; mend: systemctl start guilds-machine-agent, on m1"
        );
    }
}
