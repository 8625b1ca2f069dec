//! Agents' Unix accounts: made one at a time in a uid range of their own, with a mark that names their organisation.

use std::path::Path;
use std::time::Duration;

use nix::unistd::{Gid, Group, Uid, User};
use tokio::sync::Semaphore;

use crate::config::Config;
use crate::spawn;
use crate::sys::Identity;

/// The queue of all account work: shadow's tools lock whole files, and two at
/// once leave half an account behind.
#[derive(Debug)]
pub struct Queue(Semaphore);

impl Default for Queue {
    fn default() -> Self {
        Self(Semaphore::new(1))
    }
}

/// Why an agent has no account.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The name is taken: a sentence for whoever called.
    #[error("{0}")]
    Taken(String),
    /// It could not be made: for the log.
    #[error("{0}")]
    System(String),
}

/// How often a locked account file is tried again, a fifth of a second apart.
const LOCK_TRIES: u32 = 25;

/// The mark in the comment field. A colon would end the field.
fn mark(organisation: &str) -> String {
    format!("Guilds agent of {organisation}")
}

/// Makes the account of `agent`, or finds the one an earlier front made for the same organisation.
///
/// # Errors
/// When the name belongs to anything else.
pub async fn ensure(
    queue: &Queue,
    config: &Config,
    agent: &str,
    organisation: &str,
) -> Result<Identity, AccountError> {
    let _turn = queue.0.acquire().await.map_err(system)?;
    let home = config.home_root.join(agent);
    if let Some(user) = look_up(agent).await? {
        return adopt(&user, &home, organisation).await;
    }
    let record = config.state_dir.join("next-uid");
    let mut from = first_number(&record, config.uid_min, config.uid_max);
    loop {
        let number = free_number(from, config.uid_max).await?;
        // Before the account is there: a number is rather lost than used twice.
        std::fs::write(&record, (number + 1).to_string()).map_err(system)?;
        match make(agent, organisation, &home, number).await? {
            Made::Yes => break,
            Made::NumberTaken => from = number + 1,
        }
    }
    match look_up(agent).await? {
        Some(user) => adopt(&user, &home, organisation).await,
        None => Err(AccountError::System(format!(
            "the account {agent} was made and isn't there"
        ))),
    }
}

fn system(error: impl std::fmt::Display) -> AccountError {
    AccountError::System(error.to_string())
}

/// The name service may ask the network, so not on a thread that serves.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> nix::Result<T> + Send + 'static,
) -> Result<T, AccountError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(system)?
        .map_err(system)
}

async fn look_up(agent: &str) -> Result<Option<User>, AccountError> {
    let name = agent.to_owned();
    blocking(move || User::from_name(&name)).await
}

async fn adopt(user: &User, home: &Path, organisation: &str) -> Result<Identity, AccountError> {
    let gid = user.gid;
    let group = blocking(move || Group::from_gid(gid)).await?;
    judge(user, group.as_ref(), home, organisation).map_err(AccountError::Taken)?;
    Ok(Identity {
        uid: user.uid.as_raw(),
        gid: gid.as_raw(),
    })
}

/// Whether an existing account is this agent's; a sentence when it isn't.
fn judge(
    user: &User,
    group: Option<&Group>,
    home: &Path,
    organisation: &str,
) -> Result<(), String> {
    let name = &user.name;
    let comment = user.gecos.to_string_lossy();
    if comment != mark(organisation) {
        return Err(match comment.strip_prefix(&mark("")) {
            Some(other) => format!(
                "the account {name} on this machine is organisation {other}'s; `userdel {name}` removes it"
            ),
            None => format!(
                "the account {name} on this machine was not made for an agent; choose another agent id"
            ),
        });
    }
    if user.uid.is_root() || user.gid.as_raw() == 0 {
        return Err(format!("the account {name} is root"));
    }
    if group.is_none_or(|group| group.name != *name) {
        return Err(format!(
            "the account {name} has no primary group of its own; `userdel {name}` removes it"
        ));
    }
    if user.dir != home {
        return Err(format!(
            "the account {name} has the home {}, not {}; `userdel {name}` removes it",
            user.dir.display(),
            home.display()
        ));
    }
    Ok(())
}

/// Where to look for a number: after the last one given, so that a new agent
/// doesn't inherit the files of a removed one; from the start again once the
/// range is used up.
fn first_number(record: &Path, min: u32, max: u32) -> u32 {
    std::fs::read_to_string(record)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .filter(|next| (min..=max).contains(next))
        .unwrap_or(min)
}

/// The first number from `from` that is neither a user's nor a group's.
async fn free_number(from: u32, to: u32) -> Result<u32, AccountError> {
    blocking(move || {
        for number in from..=to {
            let user = User::from_uid(Uid::from_raw(number))?;
            let group = Group::from_gid(Gid::from_raw(number))?;
            if user.is_none() && group.is_none() {
                return Ok(Some(number));
            }
        }
        Ok(None)
    })
    .await?
    .ok_or_else(|| AccountError::System(format!("no uid is free up to {to}")))
}

enum Made {
    Yes,
    NumberTaken,
}

async fn make(
    agent: &str,
    organisation: &str,
    home: &Path,
    number: u32,
) -> Result<Made, AccountError> {
    let id = number.to_string();
    let home = home.display().to_string();
    let name = agent.to_owned();
    let group = blocking(move || Group::from_name(&name)).await?;
    match group {
        // What a broken-off attempt left. `useradd` would refuse a number
        // that is only the group's, so the pair starts anew.
        Some(left) if left.mem.is_empty() && primary_of(left.gid).await?.is_none() => {
            shadow("groupdel", &[agent]).await?;
        }
        Some(_) => {
            return Err(AccountError::Taken(format!(
                "the group {agent} exists on this machine; choose another agent id"
            )));
        }
        None => {}
    }
    // groupadd(8) exit 4: the number was taken meanwhile.
    if shadow("groupadd", &["--gid", &id, agent]).await? == 4 {
        return Ok(Made::NumberTaken);
    }
    let comment = mark(organisation);
    let arguments = [
        "--uid",
        &id,
        "--gid",
        &id,
        "--no-create-home",
        "--home-dir",
        &home,
        "--shell",
        "/bin/bash",
        "--comment",
        &comment,
        "--key",
        "SUB_UID_COUNT=0",
        "--key",
        "SUB_GID_COUNT=0",
        agent,
    ];
    if shadow("useradd", &arguments).await? == 4 {
        shadow("groupdel", &[agent]).await?;
        return Ok(Made::NumberTaken);
    }
    tracing::info!(agent, uid = number, organisation, "an account was made");
    Ok(Made::Yes)
}

/// A user whose primary group this is.
async fn primary_of(gid: Gid) -> Result<Option<User>, AccountError> {
    blocking(move || User::from_uid(Uid::from_raw(gid.as_raw())))
        .await
        .map(|user| user.filter(|user| user.gid == gid))
}

/// Runs one of shadow's tools, again while another holds its lock; answers 0 or 4.
async fn shadow(program: &str, arguments: &[&str]) -> Result<i32, AccountError> {
    let mut tries = 0;
    loop {
        let outcome = spawn::system(program, arguments, "")
            .await
            .map_err(system)?;
        tries += 1;
        match outcome.code {
            Some(code @ (0 | 4)) => return Ok(code),
            // useradd(8): 1 and 10 when a file can't be locked or written.
            Some(1 | 10) if outcome.stderr.contains("lock") && tries < LOCK_TRIES => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            code => {
                return Err(AccountError::System(format!(
                    "{program} ended with {code:?}: {}",
                    outcome.stderr.trim()
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    fn user(comment: &str) -> User {
        User {
            name: "ada".to_owned(),
            passwd: CString::default(),
            uid: Uid::from_raw(70_000),
            gid: Gid::from_raw(70_000),
            gecos: CString::new(comment).unwrap(),
            dir: "/home/ada".into(),
            shell: "/bin/bash".into(),
        }
    }

    fn group(name: &str) -> Group {
        Group {
            name: name.to_owned(),
            passwd: CString::default(),
            gid: Gid::from_raw(70_000),
            mem: Vec::new(),
        }
    }

    fn check(comment: &str, group_name: &str, home: &str) -> String {
        judge(
            &user(comment),
            Some(&group(group_name)),
            Path::new(home),
            "acme",
        )
        .map_or_else(|sentence| sentence, |()| "adopted".to_owned())
    }

    #[test]
    fn only_an_account_of_the_same_organisation_is_adopted() {
        assert_eq!(check("Guilds agent of acme", "ada", "/home/ada"), "adopted");
        assert_eq!(
            check("Guilds agent of other", "ada", "/home/ada"),
            "the account ada on this machine is organisation other's; `userdel ada` removes it"
        );
        assert_eq!(
            check("Ada Lovelace,,,", "ada", "/home/ada"),
            "the account ada on this machine was not made for an agent; choose another agent id"
        );
    }

    #[test]
    fn an_account_that_was_changed_is_not_adopted() {
        assert_eq!(
            check("Guilds agent of acme", "staff", "/home/ada"),
            "the account ada has no primary group of its own; `userdel ada` removes it"
        );
        assert_eq!(
            check("Guilds agent of acme", "ada", "/srv/ada"),
            "the account ada has the home /home/ada, not /srv/ada; `userdel ada` removes it"
        );
    }

    #[test]
    fn a_number_is_not_given_twice_until_all_were() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("next-uid");
        assert_eq!(first_number(&record, 70_000, 70_002), 70_000);
        std::fs::write(&record, "70002").unwrap();
        assert_eq!(first_number(&record, 70_000, 70_002), 70_002);
        std::fs::write(&record, "70003").unwrap();
        assert_eq!(first_number(&record, 70_000, 70_002), 70_000);
        std::fs::write(&record, "x").unwrap();
        assert_eq!(first_number(&record, 70_000, 70_002), 70_000);
    }
}
