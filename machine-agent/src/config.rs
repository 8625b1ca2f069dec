//! Settings of the front: one TOML file, every problem at once with its line, checked before anything is bound.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::cgroup::Limits;
use crate::names;

mod table;

use table::Table;

/// Where the settings lie when nobody says otherwise.
pub const DEFAULT_PATH: &str = "/etc/guilds/machine-agent.toml";

/// What a front may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// This machine's id; the certificate's URI SAN must name it.
    pub machine: String,
    /// Address of the mutual TLS server.
    pub listen: SocketAddr,
    /// PEM file of the certificate and what leads to its authority.
    pub tls_cert: PathBuf,
    /// PEM file of its key.
    pub tls_key: PathBuf,
    /// PEM file of the authority that the control plane's certificate comes from.
    pub tls_ca: PathBuf,
    /// Folder of the runners' sockets, root's alone.
    pub run_dir: PathBuf,
    /// Folder of what the front remembers.
    pub state_dir: PathBuf,
    /// Parent of the agents' homes.
    pub home_root: PathBuf,
    /// Folder of the helpers.
    pub helpers_dir: PathBuf,
    /// Name of the directory below the cgroup mounts.
    pub cgroup_root: String,
    /// First uid (and gid) of the agents' accounts.
    pub uid_min: u32,
    /// Last one.
    pub uid_max: u32,
    /// Name of the nftables table.
    pub firewall_table: String,
    /// Whether browser calls need the firewall.
    pub firewall: Firewall,
    /// Chrome's own binary.
    pub chrome: PathBuf,
    /// Whether SIGTERM ends the runners too.
    pub end_runners_on_stop: bool,
    /// What one agent may use.
    pub limits: Limits,
}

/// Whether browser calls need the firewall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firewall {
    /// Without its table, browser calls are refused.
    Required,
    /// DevTools ports are open to every local user.
    Off,
}

/// One problem, with the line it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; 0 when the problem is a line that is missing.
    pub line: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// All problems of one file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// At least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let path = self.path.display();
            match problem.line {
                0 => write!(f, "{path}: {}", problem.message)?,
                line => write!(f, "{path}:{line}: {}", problem.message)?,
            }
        }
        Ok(())
    }
}

/// Problems with files that settings name: the setting, and a sentence.
pub type More = Vec<(&'static str, String)>;

/// Reads and checks a file, and by `more` the files that its settings name.
///
/// # Errors
/// Every problem at once, an unreadable file included.
pub fn load(path: &Path, more: impl FnOnce(&Config) -> More) -> Result<Config, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError {
        path: path.to_owned(),
        problems: vec![Problem {
            line: 0,
            message: error.to_string(),
        }],
    })?;
    parse(&text, more).map_err(|problems| ConfigError {
        path: path.to_owned(),
        problems,
    })
}

fn parse(text: &str, more: impl FnOnce(&Config) -> More) -> Result<Config, Vec<Problem>> {
    let mut table = Table::parse(text);
    let config = Config {
        machine: table.id("machine"),
        listen: table.address("listen", "127.0.0.1:8443"),
        tls_cert: table.file("tls_cert"),
        tls_key: table.file("tls_key"),
        tls_ca: table.file("tls_ca"),
        run_dir: table.folder("run_dir", "/run/guilds-runners"),
        state_dir: table.folder("state_dir", "/var/lib/guilds-machine-agent"),
        home_root: table.folder("home_root", "/home"),
        helpers_dir: table.folder("helpers_dir", "/usr/local/bin"),
        cgroup_root: table.name("cgroup_root", "guilds", |name| {
            names::is_id(name) && name != "unified"
        }),
        // Debian gives 0 to 65535 away: to its packages, to people, to
        // systemd's dynamic users from 61184. The next number a tool hands
        // out by itself is 100000, the first subordinate id.
        uid_min: table.number("uid_min", 70_000, 1_000..=4_000_000_000),
        uid_max: table.number("uid_max", 70_999, 1_000..=4_000_000_000),
        firewall_table: table.name("firewall_table", "guilds", |name| {
            names::is_script(name) && !name.contains('-')
        }),
        firewall: table.choice(
            "firewall",
            &[("required", Firewall::Required), ("off", Firewall::Off)],
        ),
        chrome: table.folder("chrome", "/usr/lib/chromium/chromium"),
        end_runners_on_stop: table.flag("end_runners_on_stop"),
        limits: Limits {
            memory_bytes: u64::from(table.number("agent_memory_mib", 4_096, 64..=16_777_216)) << 20,
            processes: u64::from(table.number("agent_processes", 2_048, 32..=4_000_000)),
        },
    };
    table.choice("runners", &[("direct", ())]);
    if config.uid_min > config.uid_max {
        table.problem("uid_max", "`uid_max` is below `uid_min`".to_owned());
    }
    // A socket's path has at most 107 bytes, unix(7); an agent id takes 31.
    let longest = config.run_dir.as_os_str().len() + "/".len() + 31 + ".sock".len();
    if longest > 107 {
        table.problem(
            "run_dir",
            format!(
                "`run_dir` is {} bytes too long for a socket below it",
                longest - 107
            ),
        );
    }
    for (name, message) in more(&config) {
        table.problem_unless_known(name, message);
    }
    table.finish()?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "machine = \"local\"\ntls_cert = \"/c/machine.crt\"\ntls_key = \"/c/machine.key\"\ntls_ca = \"/c/ca.crt\"\n";

    fn problems(text: &str) -> Vec<(usize, String)> {
        parse(text, |_| More::new())
            .unwrap_err()
            .into_iter()
            .map(|problem| (problem.line, problem.message))
            .collect()
    }

    #[test]
    fn four_lines_are_enough() {
        let config = parse(SMALL, |_| More::new()).unwrap();
        assert_eq!(config.machine, "local");
        assert_eq!(config.listen, "127.0.0.1:8443".parse().unwrap());
        assert_eq!(config.run_dir, Path::new("/run/guilds-runners"));
        assert_eq!(config.home_root, Path::new("/home"));
        assert_eq!((config.uid_min, config.uid_max), (70_000, 70_999));
        assert_eq!(config.firewall, Firewall::Required);
        assert!(!config.end_runners_on_stop);
    }

    #[test]
    fn every_problem_is_told_with_its_line() {
        let text = "machine = \"Local\"\nlisten = 5\nrunners = \"systemd\"\nshade = true\ntls_cert = \"machine.crt\"\ntls_key = \"/k\"\n";
        assert_eq!(
            problems(text),
            vec![
                (0, "`tls_ca` is missing".to_owned()),
                (
                    1,
                    "`machine` is \"Local\"; it must match ^[a-z][a-z0-9-]{0,30}$".to_owned()
                ),
                (2, "`listen` must be text, not an integer".to_owned()),
                (
                    3,
                    "`runners` is \"systemd\"; allowed is \"direct\"".to_owned()
                ),
                (4, "`shade` is no setting".to_owned()),
                (5, "`tls_cert` must be an absolute path".to_owned()),
            ]
        );
    }

    #[test]
    fn text_that_is_no_toml_is_told_with_its_line() {
        let found = problems(&format!("{SMALL}firewall = = \"off\"\n"));
        assert_eq!(found[0].0, 5);
    }

    #[test]
    fn values_that_do_not_fit_each_other_are_problems() {
        let text = format!("{SMALL}uid_min = 80000\nuid_max = 70000\nfirewall = \"maybe\"\n");
        assert_eq!(
            problems(&text),
            vec![
                (6, "`uid_max` is below `uid_min`".to_owned()),
                (
                    7,
                    "`firewall` is \"maybe\"; allowed are \"required\", \"off\"".to_owned()
                ),
            ]
        );
        let long = format!("{SMALL}run_dir = \"/{}\"\n", "x".repeat(80));
        assert_eq!(
            problems(&long),
            vec![(
                5,
                "`run_dir` is 11 bytes too long for a socket below it".to_owned()
            )]
        );
    }

    #[test]
    fn files_are_checked_beside_all_else() {
        let text = format!("{SMALL}runners = \"magic\"\n").replace("/c/ca.crt", "ca.crt");
        let found = parse(&text, |config| {
            assert_eq!(config.machine, "local");
            vec![
                ("machine", "it is another's".to_owned()),
                ("tls_ca", "unreadable".to_owned()),
            ]
        });
        let lines: Vec<(usize, String)> = found
            .unwrap_err()
            .into_iter()
            .map(|problem| (problem.line, problem.message))
            .collect();
        assert_eq!(
            lines,
            vec![
                (1, "it is another's".to_owned()),
                (4, "`tls_ca` must be an absolute path".to_owned()),
                (
                    5,
                    "`runners` is \"magic\"; allowed is \"direct\"".to_owned()
                ),
            ]
        );
    }
}
