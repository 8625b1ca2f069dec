//! Names that tools of the product have or will have.

use super::{Family, Offered, TOOLS};

/// Tools that later versions bring, each with the family that switches it. No
/// script may stand in their way, and a binding may name one today.
const COMING: [(&str, Option<Family>); 4] = [
    ("code_search", None),
    ("code_task", None),
    ("file_read", None),
    ("shell_status", None),
];

/// Every name of a tool of the product, with the family whose binding switches it.
pub fn all() -> impl Iterator<Item = (&'static str, Option<Family>)> {
    let built = TOOLS.iter().map(|tool| {
        let family = match tool.offered {
            Offered::Binding(family) | Offered::FlagAndBinding(_, family) => Some(family),
            Offered::Always | Offered::Flag(_) => None,
        };
        (tool.name, family)
    });
    built.chain(COMING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tool_is_built_and_coming() {
        for (name, _) in COMING {
            assert!(crate::tools::find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_name_knows_its_family() {
        let family = |wanted: &str| all().find(|(name, _)| *name == wanted).map(|found| found.1);
        assert_eq!(family("note_get"), Some(Some(Family::Note)));
        assert_eq!(family("memory_write"), Some(Some(Family::Memory)));
        assert_eq!(family("shell"), Some(None));
        assert_eq!(family("nothing"), None);
    }
}
