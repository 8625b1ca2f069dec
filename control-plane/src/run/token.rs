//! A run's token: it opens that run's MCP face while the run is open, and nothing else.
//!
//! It is made from the run's id, a salt of the run and the replicas' key, so a start that is
//! sent again answers the same token, and neither the database nor the key file alone is
//! enough to make one.

use std::fmt;

use ring::hmac;
use serde::Serialize;
use uuid::Uuid;

use super::engine::Engine;
use super::error::RunError;
use super::view::not_found;
use crate::key::{hex, parse};
use crate::store::{run_tokens, runs};

/// What a token begins with, so that people and scanners know it when they see it.
const PREFIX: &str = "gr_";

/// The token's text. It is shown to whoever starts the run, and never logged.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct RunToken(String);

impl fmt::Debug for RunToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunToken")
    }
}

/// What a bearer token is to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opens {
    /// Its own.
    Run,
    /// Its own, and the run has ended.
    EndedRun,
    /// It has the form of another run's.
    OtherRun,
    /// No token of a run.
    Nothing,
}

/// The key of all that is made for runs: another one than that of the calls' digests.
pub(super) fn derived_key(digest_key: &hmac::Key) -> hmac::Key {
    let key = hmac::sign(digest_key, b"guilds: tokens and sessions of runs");
    hmac::Key::new(hmac::HMAC_SHA256, key.as_ref())
}

fn message(run: Uuid, salt: Uuid) -> Vec<u8> {
    [b"token".as_slice(), run.as_bytes(), salt.as_bytes()].concat()
}

/// The run that a token names, and its proof.
fn read(bearer: &str) -> Option<(Uuid, [u8; 32])> {
    let (run, proof) = bearer.strip_prefix(PREFIX)?.split_once('_')?;
    Some((Uuid::try_parse(run).ok()?, parse(proof)?))
}

impl Engine {
    /// The token of a run.
    ///
    /// # Errors
    /// [`RunError::NotFound`], or a failure.
    pub async fn run_token(&self, run: Uuid) -> Result<RunToken, RunError> {
        let mut db = self.pool.acquire().await?;
        let salted = run_tokens::salted(&mut db, run).await?;
        let salt = salted.ok_or_else(|| not_found(run))?.salt;
        let proof = hmac::sign(&self.run_key, &message(run, salt));
        let run = run.simple();
        Ok(RunToken(format!("{PREFIX}{run}_{}", hex(proof.as_ref()))))
    }

    /// What a bearer token is to a run; its own notes the run as used. That a run doesn't exist is not told apart.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn opens(&self, run: Uuid, bearer: &str) -> Result<Opens, RunError> {
        let Some((named, proof)) = read(bearer) else {
            return Ok(Opens::Nothing);
        };
        if named != run {
            return Ok(Opens::OtherRun);
        }
        let mut db = self.pool.acquire().await?;
        let Some(salted) = run_tokens::salted(&mut db, run).await? else {
            return Ok(Opens::Nothing);
        };
        let message = message(run, salted.salt);
        if hmac::verify(&self.run_key, &message, &proof).is_err() {
            return Ok(Opens::Nothing);
        }
        if !salted.is_open {
            return Ok(Opens::EndedRun);
        }
        // Whatever the request asks for, the run is not forgotten.
        runs::touch(&mut db, run).await?;
        Ok(Opens::Run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_run_and_is_not_shown_in_logs() {
        let run = Uuid::from_u128(7);
        let text = format!("gr_{}_{}", run.simple(), "ab".repeat(32));
        assert_eq!(read(&text), Some((run, [0xab; 32])));
        assert_eq!(format!("{:?}", RunToken(text)), "RunToken");
    }

    #[test]
    fn what_has_another_form_is_no_token() {
        let run = Uuid::from_u128(7).simple().to_string();
        for text in [
            "",
            "gr_",
            &run,
            &format!("gr_{run}"),
            &format!("gr_{run}_"),
            &format!("gr_{run}_{}", "ab".repeat(31)),
            &format!("gr_x_{}", "ab".repeat(32)),
            &format!("gr{run}_{}", "ab".repeat(32)),
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn the_derived_key_is_another_one() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[1; 32]);
        let derived = derived_key(&key);
        let sign = |key| hmac::sign(key, b"x").as_ref().to_vec();
        assert_ne!(sign(&key), sign(&derived));
    }
}
