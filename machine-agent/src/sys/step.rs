//! What a child does on its way to its program, so that a failed start can name the step.

/// Steps between `clone3` and `execveat`; a failed start names its step.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Step {
    Join,
    Descriptors,
    Signals,
    Session,
    Limits,
    Keyring,
    Capabilities,
    Identity,
    Verify,
    NoNewPrivileges,
    Directory,
    Execute,
}

impl Step {
    pub(super) fn name(byte: u8) -> &'static str {
        const NAMES: [&str; 12] = [
            "joining its cgroups",
            "placing its descriptors",
            "resetting its signals",
            "making its session",
            "lowering its limits",
            "making its keyring",
            "emptying its capability sets",
            "changing its user",
            "verifying its user",
            "forbidding new privileges",
            "entering its directory",
            "executing the program",
        ];
        NAMES.get(byte as usize).copied().unwrap_or("starting")
    }
}
