//! The name that somebody meant who wrote another.

/// The name that is meant by one that is nearly it: a third of its letters may differ.
pub(crate) fn nearest<'a>(wrong: &str, names: &[&'a str]) -> Option<&'a str> {
    names
        .iter()
        .map(|name| (distance(wrong, name), *name))
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .min()
        .map(|(_, name)| name)
}

/// Letters to add, drop or replace until one word is the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<_> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut corner = index;
        row[0] = index + 1;
        for (at, wanted) in other.iter().enumerate() {
            let replaced = corner + usize::from(letter != *wanted);
            corner = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(row[at + 1] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_one_is_that_one() {
        let names = ["note_find", "note_get", "shell", "browser_click"];
        assert_eq!(nearest("note_fnd", &names), Some("note_find"));
        assert_eq!(nearest("browser-click", &names), Some("browser_click"));
        assert_eq!(nearest("sehll", &names), None);
        assert_eq!(nearest("shel", &names), Some("shell"));
        assert_eq!(nearest("everything", &names), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
