//! `guilds launch`: becomes a program of the stack, in a session of its own and, as root, under another account.

use std::ffi::CString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::Args;
use nix::unistd::{
    Gid, Uid, fexecve, getresgid, getresuid, setgroups, setresgid, setresuid, setsid,
};

use crate::error::Failure;

/// What to become.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The program's file.
    #[arg(long)]
    program: PathBuf,
    /// `UID:GID` to drop to.
    #[arg(long, value_parser = account)]
    account: Option<Account>,
    /// The program's arguments.
    #[arg(last = true)]
    words: Vec<String>,
}

/// An account by its numbers.
#[derive(Debug, Clone, Copy)]
struct Account {
    uid: Uid,
    gid: Gid,
}

fn account(text: &str) -> Result<Account, String> {
    let (uid, gid) = text.split_once(':').ok_or("not UID:GID")?;
    Ok(Account {
        uid: Uid::from_raw(uid.parse().map_err(|_| "the UID is no number")?),
        gid: Gid::from_raw(gid.parse().map_err(|_| "the GID is no number")?),
    })
}

/// Becomes the program. Returns only when it can't.
///
/// The file is opened before root is dropped, so that a program in a folder
/// which only root may enter can run under another account.
pub(crate) fn run(arguments: &Arguments) -> Failure {
    match become_program(arguments) {
        Ok(never) => match never {},
        Err(problem) => Failure::local(format!("{}: {problem}", arguments.program.display())),
    }
}

fn become_program(arguments: &Arguments) -> Result<std::convert::Infallible, String> {
    let program = File::open(&arguments.program).map_err(|error| error.to_string())?;
    // It fails only for the leader of a group, which a started process isn't;
    // then it has its session already.
    let _ = setsid();
    if let Some(account) = arguments.account {
        drop_to(account).map_err(|error| format!("root could not be dropped: {error}"))?;
    }
    // The whole path: PostgreSQL's programs find their neighbours by it.
    let words: Vec<_> = std::iter::once(arguments.program.as_os_str().as_bytes())
        .chain(arguments.words.iter().map(String::as_bytes))
        .map(CString::new)
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    let environment: Vec<_> = std::env::vars_os()
        .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    fexecve(&program, &words, &environment).map_err(|error| error.to_string())
}

fn drop_to(account: Account) -> nix::Result<()> {
    let Account { uid, gid } = account;
    setgroups(&[gid])?;
    setresgid(gid, gid, gid)?;
    setresuid(uid, uid, uid)?;
    let (users, groups) = (getresuid()?, getresgid()?);
    let dropped = [users.real, users.effective, users.saved] == [uid; 3]
        && [groups.real, groups.effective, groups.saved] == [gid; 3];
    if dropped {
        Ok(())
    } else {
        Err(nix::Error::EPERM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_two_numbers() {
        assert_eq!(account("101:104").unwrap().uid, Uid::from_raw(101));
        assert_eq!(account("101:104").unwrap().gid, Gid::from_raw(104));
        assert_eq!(account("101").unwrap_err(), "not UID:GID");
        assert_eq!(account("postgres:1").unwrap_err(), "the UID is no number");
    }
}
