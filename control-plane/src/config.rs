//! `/etc/guilds/control-plane.toml`: read whole, every problem at once with its line, before anything is bound.

mod fields;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fields::Fields;

use crate::vault::Vault;

/// Where the configuration lies unless told otherwise.
pub const DEFAULT_PATH: &str = "/etc/guilds/control-plane.toml";
/// Environment variable that wins over `tool_result_max_bytes`.
pub const RESULT_MAX_VARIABLE: &str = "TOOL_RESULT_MAX_BYTES";

const RESULT_MAX_DEFAULT: usize = 65_536;
const RESULT_MAX_RANGE: std::ops::RangeInclusive<usize> = 1_024..=16 * 1024 * 1024;

/// Less than the patience of clients, so that they read a sentence and not the end of it.
const STATEMENT_TIMEOUT_DEFAULT_S: u64 = 15;
const STATEMENT_TIMEOUT_RANGE_S: std::ops::RangeInclusive<u64> = 1..=600;

/// A configuration without problems.
#[derive(Clone)]
pub struct Config {
    /// Address of the API.
    pub listen: SocketAddr,
    /// Certificate and key of the API; absent on loopback only.
    pub tls: Option<KeyPairPaths>,
    /// Where clients reach the API, when that is not where it listens.
    pub public_url: Option<String>,
    /// PostgreSQL's URL.
    pub database_url: String,
    /// Key of the digests of calls.
    pub digest_key: [u8; 32],
    /// What seals secrets and the keys of logins.
    pub vault: Vault,
    /// What speaks to machines; without it no machine is reached.
    pub machines: Option<MachinePaths>,
    /// Cap of a tool result in bytes.
    pub tool_result_max_bytes: usize,
    /// Time of one statement that a request sends to the database.
    pub statement_timeout: Duration,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold a password and the key is one.
        f.debug_struct("Config")
            .field("listen", &self.listen)
            .field("tls", &self.tls)
            .field("machines", &self.machines)
            .field("tool_result_max_bytes", &self.tool_result_max_bytes)
            .finish_non_exhaustive()
    }
}

/// PEM files of a certificate chain and its key.
#[derive(Debug, Clone)]
pub struct KeyPairPaths {
    /// The chain, leaf first.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// PEM files for mutual TLS with machines.
#[derive(Debug, Clone)]
pub struct MachinePaths {
    /// The certificate authority both sides trust.
    pub ca: PathBuf,
    /// The control plane's own certificate and key.
    pub own: KeyPairPaths,
}

/// One thing wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, where it has one.
    pub line: Option<usize>,
    /// What, and what is allowed.
    pub message: String,
}

/// A configuration that can't be used.
#[derive(Debug)]
pub struct Invalid {
    path: PathBuf,
    /// Everything that is wrong.
    pub problems: Vec<Problem>,
}

impl std::error::Error for Invalid {}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}:", self.path.display())?;
            if let Some(line) = problem.line {
                write!(f, "{line}:")?;
            }
            write!(f, " {}", problem.message)?;
        }
        Ok(())
    }
}

/// Reads and checks the file and what it names.
///
/// # Errors
/// [`Invalid`] with every problem.
pub fn load(path: &Path) -> Result<Config, Invalid> {
    let invalid = |problems| Invalid {
        path: path.to_owned(),
        problems,
    };
    let text = std::fs::read_to_string(path).map_err(|error| {
        invalid(vec![Problem {
            line: None,
            message: format!("could not be read: {error}"),
        }])
    })?;
    let variable = std::env::var(RESULT_MAX_VARIABLE).ok();
    check(&text, variable.as_deref()).map_err(invalid)
}

fn check(text: &str, result_max: Option<&str>) -> Result<Config, Vec<Problem>> {
    let mut fields = Fields::parse(text)?;
    let listen = listen(&mut fields);
    let tls = pair(&mut fields, "tls_cert", "tls_key");
    if let Some((line, address)) = listen.filter(|(_, at)| !at.ip().is_loopback())
        && tls.is_none()
    {
        fields.problem(
            line,
            format!("`listen` {address} is not loopback: `tls_cert` and `tls_key` are needed"),
        );
    }
    let public_url = public_url(&mut fields);
    let database_url = database_url(&mut fields);
    let digest_key = digest_key(&mut fields);
    let vault = vault(&mut fields);
    let machines = machines(&mut fields);
    let from_file = fields.integer("tool_result_max_bytes");
    let cap = result_cap(&mut fields, from_file, result_max);
    let statement_timeout = statement_timeout(&mut fields);
    let problems = fields.finish();
    match (listen, database_url, digest_key, vault, cap) {
        (
            Some((_, listen)),
            Some(database_url),
            Some(digest_key),
            Some(vault),
            Some(tool_result_max_bytes),
        ) if problems.is_empty() => Ok(Config {
            listen,
            tls,
            public_url,
            database_url,
            digest_key,
            vault,
            machines,
            tool_result_max_bytes,
            statement_timeout,
        }),
        _ => Err(problems),
    }
}

fn listen(fields: &mut Fields<'_>) -> Option<(Option<usize>, SocketAddr)> {
    let (line, text) = fields
        .string("listen")
        .unwrap_or((None, "127.0.0.1:8440".to_owned()));
    match text.parse() {
        Ok(address) => Some((line, address)),
        Err(_) => {
            fields.problem(
                line,
                format!("`listen` is \"{text}\"; allowed is an address with a port, such as \"127.0.0.1:8440\""),
            );
            None
        }
    }
}

/// The address in answers: a whole URL, so that it can be put before a path.
fn public_url(fields: &mut Fields<'_>) -> Option<String> {
    let (line, text) = fields.string("public_url")?;
    let url: Option<hyper::Uri> = text.parse().ok();
    let fits = url.is_some_and(|url| {
        matches!(url.scheme_str(), Some("http" | "https"))
            && url
                .authority()
                .is_some_and(|host| !host.as_str().contains('@'))
            && url.query().is_none()
            && !text.contains('#')
    });
    if !fits {
        fields.problem(
            line,
            format!(
                "`public_url` is \"{text}\"; allowed is http or https, a host and perhaps a path, such as \"https://guilds.example.com\""
            ),
        );
        return None;
    }
    Some(text)
}

/// A certificate and its key: both or neither.
fn pair(fields: &mut Fields<'_>, cert: &'static str, key: &'static str) -> Option<KeyPairPaths> {
    let paths = (fields.file(cert), fields.file(key));
    match paths {
        (Some((_, cert)), Some((_, key))) => Some(KeyPairPaths { cert, key }),
        (None, None) => None,
        (Some((line, _)), None) => {
            fields.problem(
                line,
                format!("`{cert}` is set and `{key}` is not; set both or neither"),
            );
            None
        }
        (None, Some((line, _))) => {
            fields.problem(
                line,
                format!("`{key}` is set and `{cert}` is not; set both or neither"),
            );
            None
        }
    }
}

fn machines(fields: &mut Fields<'_>) -> Option<MachinePaths> {
    let ca = fields.file("machine_ca");
    let own = pair(fields, "machine_cert", "machine_key");
    match (ca, own) {
        (Some((_, ca)), Some(own)) => Some(MachinePaths { ca, own }),
        (None, None) => None,
        (Some((line, _)), None) => {
            fields.problem(
                line,
                "`machine_ca` needs `machine_cert` and `machine_key`".to_owned(),
            );
            None
        }
        (None, Some(_)) => {
            fields.problem(
                None,
                "`machine_cert` and `machine_key` need `machine_ca`".to_owned(),
            );
            None
        }
    }
}

fn database_url(fields: &mut Fields<'_>) -> Option<String> {
    let inline = fields.string("database_url");
    let file = fields.file("database_url_file");
    let (line, url) = match (inline, file) {
        (Some(inline), None) => inline,
        (None, Some((line, path))) => (
            line,
            fields
                .read(line, "database_url_file", &path)?
                .trim()
                .to_owned(),
        ),
        (Some((line, _)), Some(_)) => {
            fields.problem(
                line,
                "`database_url` and `database_url_file` are both set; set one".to_owned(),
            );
            return None;
        }
        (None, None) => {
            fields.problem(
                None,
                "`database_url` or `database_url_file` is needed".to_owned(),
            );
            return None;
        }
    };
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        Some(url)
    } else {
        // The value is not shown: it may hold a password.
        fields.problem(
            line,
            "the database URL does not start with postgres://".to_owned(),
        );
        None
    }
}

fn digest_key(fields: &mut Fields<'_>) -> Option<[u8; 32]> {
    let Some((line, path)) = fields.file("key_file") else {
        if !fields.has("key_file") {
            fields.problem(
                None,
                "`key_file` is needed; `guilds-control-plane key create --out FILE` makes one"
                    .to_owned(),
            );
        }
        return None;
    };
    let text = fields.read(line, "key_file", &path)?;
    let key = crate::key::parse(&text);
    if key.is_none() {
        fields.problem(
            line,
            format!(
                "{} of `key_file` does not hold 64 hexadecimal characters",
                path.display()
            ),
        );
    }
    key
}

/// The keys of what is sealed at rest, each problem of their file by itself.
fn vault(fields: &mut Fields<'_>) -> Option<Vault> {
    let Some((line, text)) = fields.string("secrets_key_file") else {
        if !fields.has("secrets_key_file") {
            fields.problem(
                None,
                "`secrets_key_file` is needed; `guilds-control-plane key create --out FILE` makes one".to_owned(),
            );
        }
        return None;
    };
    match Vault::read(Path::new(&text)) {
        Ok(vault) => Some(vault),
        Err(bad) => {
            for problem in bad.problems {
                fields.problem(line, format!("{text} of `secrets_key_file` {problem}"));
            }
            None
        }
    }
}

/// The environment variable wins over the file.
fn result_cap(
    fields: &mut Fields<'_>,
    from_file: Option<(Option<usize>, i64)>,
    variable: Option<&str>,
) -> Option<usize> {
    let (line, name, text) = match (variable, from_file) {
        (Some(text), _) => (None, RESULT_MAX_VARIABLE, text.trim().to_owned()),
        (None, Some((line, number))) => (line, "tool_result_max_bytes", number.to_string()),
        (None, None) => {
            return (!fields.has("tool_result_max_bytes")).then_some(RESULT_MAX_DEFAULT);
        }
    };
    match text.parse() {
        Ok(bytes) if RESULT_MAX_RANGE.contains(&bytes) => Some(bytes),
        _ => {
            fields.problem(
                line,
                format!(
                    "`{name}` is {text}; allowed are {} to {} bytes",
                    RESULT_MAX_RANGE.start(),
                    RESULT_MAX_RANGE.end()
                ),
            );
            None
        }
    }
}

/// Answers the default where there is a problem: it is reported.
fn statement_timeout(fields: &mut Fields<'_>) -> Duration {
    let default = Duration::from_secs(STATEMENT_TIMEOUT_DEFAULT_S);
    let Some((line, number)) = fields.integer("statement_timeout_s") else {
        return default;
    };
    match u64::try_from(number) {
        Ok(seconds) if STATEMENT_TIMEOUT_RANGE_S.contains(&seconds) => Duration::from_secs(seconds),
        _ => {
            fields.problem(
                line,
                format!(
                    "`statement_timeout_s` is {number}; allowed are {} to {} seconds",
                    STATEMENT_TIMEOUT_RANGE_S.start(),
                    STATEMENT_TIMEOUT_RANGE_S.end()
                ),
            );
            default
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn problems(text: &str, variable: Option<&str>, expected: &[(Option<usize>, &str)]) {
        let found = check(text, variable).unwrap_err();
        let found: Vec<_> = found.iter().map(|p| (p.line, p.message.as_str())).collect();
        assert_eq!(found, expected);
    }

    fn key() -> tempfile::NamedTempFile {
        key_with(&"ab".repeat(32), 0o600)
    }

    fn key_with(text: &str, mode: u32) -> tempfile::NamedTempFile {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        std::fs::set_permissions(file.path(), PermissionsExt::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let (key, secrets) = (key(), key());
        let text = format!(
            "database_url = \"postgres:///x\"\nkey_file = \"{}\"\nsecrets_key_file = \"{}\"\n",
            key.path().display(),
            secrets.path().display()
        );
        let config = check(&text, None).unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:8440");
        assert_eq!(config.tool_result_max_bytes, 65_536);
        assert_eq!(config.statement_timeout, Duration::from_secs(15));
        assert_eq!(config.digest_key, [0xab; 32]);
        assert!(config.tls.is_none() && config.machines.is_none());
        assert_eq!(
            check(&text, Some("2048")).unwrap().tool_result_max_bytes,
            2_048
        );
    }

    #[test]
    fn the_time_of_a_statement_is_1_to_600_seconds() {
        let (key, secrets) = (key(), key());
        let with = |seconds: &str| {
            format!(
                "database_url = \"postgres:///x\"\nkey_file = \"{}\"\nsecrets_key_file = \"{}\"\nstatement_timeout_s = {seconds}\n",
                key.path().display(),
                secrets.path().display()
            )
        };
        let config = check(&with("600"), None).unwrap();
        assert_eq!(config.statement_timeout, Duration::from_secs(600));
        for (seconds, found) in [("0", "is 0"), ("601", "is 601"), ("-1", "is -1")] {
            let told = format!("`statement_timeout_s` {found}; allowed are 1 to 600 seconds");
            problems(&with(seconds), None, &[(Some(4), &told)]);
        }
    }

    #[test]
    fn every_problem_is_reported_with_its_line() {
        let key = key();
        let bad = key_with("abcd\n", 0o644);
        let text = format!(
            "listen = \"0.0.0.0:8440\"\nlisten_on = 3\ndatabase_url = \"mysql://x\"\ntls_key = 5\nkey_file = \"{}\"\ntool_result_max_bytes = 10\nsecrets_key_file = \"{}\"\n",
            key.path().display(),
            bad.path().display()
        );
        let told =
            |problem: &str| format!("{} of `secrets_key_file` {problem}", bad.path().display());
        problems(
            &text,
            None,
            &[
                (
                    Some(1),
                    "`listen` 0.0.0.0:8440 is not loopback: `tls_cert` and `tls_key` are needed",
                ),
                (Some(2), "`listen_on` is no setting; did you mean `listen`?"),
                (Some(3), "the database URL does not start with postgres://"),
                (Some(4), "`tls_key` is an integer; allowed is a string"),
                (
                    Some(6),
                    "`tool_result_max_bytes` is 10; allowed are 1024 to 16777216 bytes",
                ),
                (
                    Some(7),
                    &told(
                        "has mode 0644, so that others reach it; 0600 is allowed, for a file of root's also 0640",
                    ),
                ),
                (
                    Some(7),
                    &told("line 1 is not 64 hexadecimal characters, the form of a key"),
                ),
            ],
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        problems(
            "",
            Some("many"),
            &[
                (None, "`database_url` or `database_url_file` is needed"),
                (
                    None,
                    "`key_file` is needed; `guilds-control-plane key create --out FILE` makes one",
                ),
                (
                    None,
                    "`secrets_key_file` is needed; `guilds-control-plane key create --out FILE` makes one",
                ),
                (
                    None,
                    "`TOOL_RESULT_MAX_BYTES` is many; allowed are 1024 to 16777216 bytes",
                ),
            ],
        );
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        let found = check("listen = \"127.0.0.1:1\"\nkey_file = \n", None).unwrap_err();
        assert_eq!(found[0].line, Some(2));
    }
}
