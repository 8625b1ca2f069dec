//! Names of secrets: they become environment variables, so names that programs obey are reserved.

/// Most characters of a name.
const MAX_NAME: usize = 64;

/// Who reads variables of these names. A `*` stands for any ending or beginning.
const RESERVED: [(&str, &[&str]); 12] = [
    (
        "the dynamic loader and the C library read",
        &[
            "LD_*",
            "GLIBC_*",
            "GCONV_PATH",
            "MALLOC_*",
            "LOCPATH",
            "NLSPATH",
            "GETCONF_DIR",
            "HOSTALIASES",
            "LOCALDOMAIN",
            "RES_OPTIONS",
            "TZ",
            "TZDIR",
            "TMPDIR",
            "LANG",
            "LANGUAGE",
            "LC_*",
            "POSIXLY_CORRECT",
        ],
    ),
    (
        "every program's surroundings are described by",
        &[
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "PWD",
            "OLDPWD",
            "TERM",
            "TERMINFO",
            "TERMINFO_DIRS",
            "TERMCAP",
            "HOSTNAME",
            "MAIL",
            "DISPLAY",
            "XAUTHORITY",
            "WAYLAND_DISPLAY",
            "COLUMNS",
            "LINES",
            "XDG_*",
            "DBUS_*",
        ],
    ),
    (
        "the shell reads or sets",
        &[
            "ENV",
            "BASH",
            "BASH_*",
            "BASHOPTS",
            "BASHPID",
            "SHELLOPTS",
            "SHLVL",
            "IFS",
            "PS0",
            "PS1",
            "PS2",
            "PS3",
            "PS4",
            "PROMPT_COMMAND",
            "PROMPT_DIRTRIM",
            "CDPATH",
            "GLOBIGNORE",
            "EXECIGNORE",
            "FIGNORE",
            "FCEDIT",
            "FUNCNAME",
            "FUNCNEST",
            "FPATH",
            "ZDOTDIR",
            "HISTCMD",
            "HISTCONTROL",
            "HISTFILE",
            "HISTFILESIZE",
            "HISTIGNORE",
            "HISTSIZE",
            "HISTTIMEFORMAT",
            "HOSTFILE",
            "HOSTTYPE",
            "MACHTYPE",
            "OSTYPE",
            "INPUTRC",
            "IGNOREEOF",
            "MAILCHECK",
            "MAILPATH",
            "MAPFILE",
            "OPTARG",
            "OPTERR",
            "OPTIND",
            "PIPESTATUS",
            "DIRSTACK",
            "PPID",
            "UID",
            "EUID",
            "GROUPS",
            "RANDOM",
            "SRANDOM",
            "SECONDS",
            "EPOCHSECONDS",
            "EPOCHREALTIME",
            "LINENO",
            "REPLY",
            "READLINE_*",
            "COMP_*",
            "COMPREPLY",
            "COPROC",
            "CHILD_MAX",
            "TIMEFORMAT",
            "TMOUT",
        ],
    ),
    ("Python reads", &["PYTHON*", "VIRTUAL_ENV", "PIP_*"]),
    ("Node and npm read", &["NODE_*", "NPM_*"]),
    (
        "Perl and Ruby read",
        &["PERL*", "RUBY*", "GEM_*", "BUNDLE_*"],
    ),
    (
        "Java reads",
        &[
            "JAVA_HOME",
            "JAVA_TOOL_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "CLASSPATH",
        ],
    ),
    (
        "other interpreters read",
        &[
            "LUA_*",
            "PHPRC",
            "PHP_INI_SCAN_DIR",
            "TCLLIBPATH",
            "AWKPATH",
            "AWKLIBPATH",
        ],
    ),
    (
        "git and ssh read",
        &[
            "GIT_*",
            "SSH_*",
            "EDITOR",
            "VISUAL",
            "PAGER",
            "LESS",
            "LESSOPEN",
            "LESSCLOSE",
        ],
    ),
    (
        "whatever speaks to the network reads",
        &[
            "*_PROXY",
            "CURL_*",
            "WGETRC",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "SSLKEYLOGFILE",
            "OPENSSL_CONF",
            "OPENSSL_MODULES",
            "OPENSSL_ENGINES",
            "REQUESTS_CA_BUNDLE",
        ],
    ),
    ("Chrome reads", &["CHROME_*", "CHROMIUM_*", "BROWSER"]),
    (
        "the product and its service manager read",
        &[
            "GUILDS_*",
            "TOOL_RESULT_MAX_BYTES",
            "CONNECTOR_LIST_AGE_S",
            "RUST_LOG",
            "RUST_BACKTRACE",
            "RUST_LIB_BACKTRACE",
            "SYSTEMD_*",
            "NOTIFY_SOCKET",
            "LISTEN_*",
            "INVOCATION_ID",
            "JOURNAL_STREAM",
            "CREDENTIALS_DIRECTORY",
        ],
    ),
];

/// Whether a name may be a secret's.
///
/// # Errors
/// What is wrong, to be read after the name or its place: `is …`.
pub fn check(name: &str) -> Result<(), String> {
    let mut bytes = name.bytes();
    let formed = name.len() <= MAX_NAME
        && bytes.next().is_some_and(|byte| byte.is_ascii_uppercase())
        && bytes.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if !formed {
        return Err(
            "is no name of a secret; allowed is ^[A-Z][A-Z0-9_]{0,63}$, such as STRIPE_KEY"
                .to_owned(),
        );
    }
    let reserved = RESERVED.iter().find_map(|(who, patterns)| {
        let pattern = patterns.iter().find(|pattern| covers(pattern, name))?;
        Some((who, pattern))
    });
    match reserved {
        Some((who, pattern)) => Err(format!(
            "is a reserved name: a secret reaches programs as an environment variable, and {who} {pattern}; choose another, such as MY_{name}"
        )),
        None => Ok(()),
    }
}

fn covers(pattern: &str, name: &str) -> bool {
    match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(beginning), _) => name.starts_with(beginning),
        (_, Some(ending)) => name.ends_with(ending),
        _ => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_capitals_digits_and_underscores() {
        for good in ["A", "STRIPE_KEY", "A1_", &"K".repeat(64)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "1A",
            "_A",
            "a",
            "Ab",
            "A-B",
            "A B",
            "Ä",
            &"K".repeat(65),
        ] {
            assert_eq!(
                check(bad).unwrap_err(),
                "is no name of a secret; allowed is ^[A-Z][A-Z0-9_]{0,63}$, such as STRIPE_KEY",
                "{bad}"
            );
        }
    }

    #[test]
    fn what_programs_obey_is_refused_with_who_obeys_it() {
        for reserved in [
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "PWD",
            "OLDPWD",
            "TMPDIR",
            "TERM",
            "LANG",
            "LC_ALL",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "BASH_ENV",
            "ENV",
            "IFS",
            "PS1",
            "PS4",
            "PROMPT_COMMAND",
            "SHELLOPTS",
            "CDPATH",
            "GLOBIGNORE",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "NPM_CONFIG_REGISTRY",
            "PERL5LIB",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "GIT_SSH_COMMAND",
            "SSH_AUTH_SOCK",
            "GUILDS_URL",
            "XDG_RUNTIME_DIR",
            "DBUS_SESSION_BUS_ADDRESS",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "GCONV_PATH",
            "MALLOC_CHECK_",
            "UID",
            "SECONDS",
        ] {
            let told = check(reserved).unwrap_err();
            assert!(told.contains("reserved"), "{reserved}: {told}");
        }
        assert_eq!(
            check("GIT_DIR").unwrap_err(),
            "is a reserved name: a secret reaches programs as an environment variable, and git and ssh read GIT_*; choose another, such as MY_GIT_DIR"
        );
    }

    #[test]
    fn names_that_only_look_alike_are_free() {
        for free in [
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "DATABASE_URL",
            "PGPASSWORD",
            "STRIPE_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "PROXY_KEY",
            "HOMEPAGE_KEY",
            "MY_PATH",
            "GOOGLE_API_KEY",
            "ENV_KEY",
        ] {
            assert_eq!(check(free), Ok(()), "{free}");
        }
    }
}
