//! The lines of a tree: frames stitched in, doubles numbered, cut at a node where it grows too large.

use std::collections::HashMap;

use serde::Deserialize;

/// One frame's part, as the page script answers it.
#[derive(Debug, Default, Deserialize)]
pub struct Part {
    /// Address of the document.
    #[serde(default)]
    pub url: String,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// Its media type.
    #[serde(default)]
    pub kind: String,
    /// Its lines in order.
    #[serde(default)]
    pub lines: Vec<Line>,
    /// How many elements `role=` finds for a role and name.
    #[serde(default)]
    pub totals: HashMap<String, u64>,
}

/// One line before it is put together: `head [nth] states [target] end`.
#[derive(Debug, Default, Clone, Deserialize)]
pub struct Line {
    /// Levels below the frame's top.
    pub depth: usize,
    /// Dash, role and name.
    pub head: String,
    /// States.
    #[serde(default)]
    pub tail: String,
    /// Colon, with a value or for what follows.
    #[serde(default)]
    pub end: String,
    /// Place of the frame whose lines follow.
    #[serde(default)]
    pub frame: Option<usize>,
    /// Role and name that others may have too.
    #[serde(default)]
    pub key: Option<String>,
    /// Place among those of this frame.
    #[serde(default)]
    pub place: u64,
    /// A CSS target, where role and name make none.
    #[serde(default)]
    pub target: Option<String>,
}

impl Part {
    /// Chrome's own viewer shows it, in which no script can look.
    pub fn is_pdf(&self) -> bool {
        self.kind == "application/pdf"
    }
}

/// Where a frame stands: the frame around it and its place there.
pub type Parent = Option<(usize, usize)>;

/// Puts the parts together, parts in the order that `nth=` counts in.
pub fn stitch(parts: &[Part], parents: &[Parent]) -> Vec<String> {
    let mut out = Vec::new();
    if !parts.is_empty() {
        add(parts, parents, 0, 0, &mut out);
    }
    out
}

fn add(parts: &[Part], parents: &[Parent], at: usize, depth: usize, out: &mut Vec<String>) {
    for line in &parts[at].lines {
        let mut text = format!("{}{}", "  ".repeat(depth + line.depth), line.head);
        if let Some(key) = &line.key {
            let count = |part: &Part| part.totals.get(key).copied().unwrap_or_default();
            let total: u64 = parts.iter().map(count).sum();
            if total > 1 {
                let before: u64 = parts[..at].iter().map(count).sum();
                text.push_str(&format!(" [nth={}]", before + line.place));
            }
        }
        text.push_str(&line.tail);
        if let Some(target) = &line.target {
            text.push_str(&format!(" [target={target}]"));
        }
        match line.frame {
            Some(place) => {
                let inner = parents
                    .iter()
                    .position(|parent| *parent == Some((at, place)));
                text.push_str(match inner {
                    Some(inner) if parts[inner].is_pdf() => " [PDF, not readable]",
                    Some(inner) if parts[inner].lines.is_empty() => " [empty]",
                    Some(_) => ":",
                    None => " [not readable]",
                });
                out.push(text);
                if let Some(inner) = inner {
                    add(parts, parents, inner, depth + line.depth + 1, out);
                }
            }
            None => {
                text.push_str(&line.end);
                out.push(text);
            }
        }
    }
}

/// The lines that fit into `most` bytes with a last line on what was left out
/// and where the whole is; all of them when they fit.
pub fn cut(lines: &[String], most: usize, whole: &str) -> String {
    let size: usize = lines.iter().map(|line| line.len() + 1).sum();
    if size <= most {
        return lines.join("\n");
    }
    let marker = |left: usize| {
        format!(
            "[{left} of {} nodes left out; the whole tree is in {whole} in the home]",
            lines.len()
        )
    };
    let room = most.saturating_sub(marker(lines.len()).len() + 1);
    let mut used = 0;
    let kept = lines
        .iter()
        .take_while(|line| {
            used += line.len() + 1;
            used <= room
        })
        .count();
    let mut text = lines[..kept].join("\n");
    if kept > 0 {
        text.push('\n');
    }
    text.push_str(&marker(lines.len() - kept));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(depth: usize, head: &str) -> Line {
        Line {
            depth,
            head: head.to_owned(),
            ..Line::default()
        }
    }

    fn button(place: u64) -> Line {
        Line {
            key: Some("button \"OK\"".to_owned()),
            place,
            tail: " [disabled]".to_owned(),
            ..line(0, "- button \"OK\"")
        }
    }

    fn part(lines: Vec<Line>, count: u64) -> Part {
        Part {
            lines,
            totals: HashMap::from([("button \"OK\"".to_owned(), count)]),
            ..Part::default()
        }
    }

    #[test]
    fn frames_are_stitched_in_and_doubles_are_numbered_over_all_of_them() {
        let frame = Line {
            frame: Some(0),
            ..line(0, "- iframe")
        };
        let lost = Line {
            frame: Some(1),
            ..line(0, "- iframe \"ad\"")
        };
        let parts = [
            part(vec![button(0), frame, lost], 1),
            part(vec![button(1)], 2),
        ];
        assert_eq!(
            stitch(&parts, &[None, Some((0, 0))]),
            [
                "- button \"OK\" [nth=0] [disabled]",
                "- iframe:",
                "  - button \"OK\" [nth=2] [disabled]",
                "- iframe \"ad\" [not readable]"
            ]
        );
    }

    #[test]
    fn one_of_its_kind_has_no_number() {
        assert_eq!(
            stitch(&[part(vec![button(0)], 1)], &[None]),
            ["- button \"OK\" [disabled]"]
        );
    }

    #[test]
    fn what_fits_is_whole() {
        assert_eq!(
            cut(&["- a".to_owned(), "- b".to_owned()], 8, "f"),
            "- a\n- b"
        );
    }

    #[test]
    fn a_cut_falls_between_nodes_and_says_what_is_missing() {
        let lines: Vec<String> = (0..100).map(|n| format!("- text: {n:03}")).collect();
        let text = cut(&lines, 200, "snapshots/latest.yaml");
        assert!(text.len() <= 200);
        let expected = "- text: 008\n[91 of 100 nodes left out; the whole tree is in snapshots/latest.yaml in the home]";
        assert!(text.ends_with(expected), "{text}");
    }
}
