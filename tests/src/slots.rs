//! What tests that run side by side must not share: slots, ports, uids and names.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use anyhow::{Context, Result};

/// The tests' slots; those below belong to people's own stacks.
const SLOTS: RangeInclusive<u8> = 50..=99;
/// Below the kernel's range of ephemeral ports, so that no client's port is in the way.
const FIRST_PORT: u32 = 20_000;
const FIRST_UID: u32 = 200_000;
const UIDS_A_MACHINE: u32 = 20;

static FREE: LazyLock<Mutex<BTreeSet<u8>>> = LazyLock::new(|| Mutex::new(SLOTS.collect()));
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A slot that no other test has until this one is dropped.
#[derive(Debug)]
pub struct Slot(u8);

impl Slot {
    /// The lowest free slot.
    ///
    /// # Errors
    /// When all are taken.
    pub fn take() -> Result<Self> {
        FREE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_first()
            .map(Self)
            .context("all slots from 50 to 99 are taken")
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.0
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        FREE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(self.0);
    }
}

/// A number that no other test of this binary gets.
#[must_use]
pub fn next_number() -> u32 {
    NEXT.fetch_add(1, Ordering::Relaxed) + 1
}

/// A loopback port that no other test of this binary gets, nor the three after it:
/// `guilds dev` gives its machine agent the API's port plus 3.
///
/// # Errors
/// When the range is used up.
pub fn port() -> Result<u16> {
    u16::try_from(FIRST_PORT + next_number() * 4).context("no test port is left")
}

/// A range of uids for one machine agent.
#[must_use]
pub fn uids() -> RangeInclusive<u32> {
    let first = FIRST_UID + next_number() * UIDS_A_MACHINE;
    first..=first + UIDS_A_MACHINE - 1
}
