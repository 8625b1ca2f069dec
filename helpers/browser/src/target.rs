//! Targets: a selector resolved over all frames of a tab at once, strict about how many it means.

use serde_json::{Value, json};

use crate::frame::Frame;
use crate::problem::Problem;
use crate::session::Session;

/// Most lines of a strict refusal.
const MOST_PREVIEWS: usize = 10;

/// What a target came to.
#[derive(Debug)]
pub enum Found {
    /// Nothing yet.
    None,
    /// One element, the only one of its frame's set.
    One(usize),
    /// Too many, with the refusal's lines.
    Many(String),
}

/// How far a frame came: its set, and the `nth=` it waits at.
struct Stand {
    count: u64,
    nth: Option<i64>,
}

impl Session {
    /// Resolves `target` in every frame; the element found stays chosen there.
    ///
    /// # Errors
    /// A refusal when the target is no selector; `Problem::Moved` when a document went away.
    pub(crate) async fn resolve(
        &mut self,
        frames: &[Frame],
        target: &str,
    ) -> Result<Found, Problem> {
        let mut stands = self.everywhere(frames, "begin", |_| json!(target)).await?;
        while let Some(nth) = stands.first().and_then(|stand| stand.nth) {
            let chosen = place(
                &stands.iter().map(|stand| stand.count).collect::<Vec<_>>(),
                nth,
            );
            stands = self
                .everywhere(frames, "pick", |frame| match chosen {
                    Some((of, local)) if of == frame => json!(local),
                    _ => json!(-1),
                })
                .await?;
        }
        let total: u64 = stands.iter().map(|stand| stand.count).sum();
        Ok(match total {
            0 => Found::None,
            1 => Found::One(
                stands
                    .iter()
                    .position(|stand| stand.count == 1)
                    .unwrap_or_default(),
            ),
            _ => Found::Many(self.strict_refusal(frames, target, &stands, total).await?),
        })
    }

    async fn everywhere(
        &mut self,
        frames: &[Frame],
        name: &str,
        argument: impl Fn(usize) -> Value,
    ) -> Result<Vec<Stand>, Problem> {
        let mut tickets = Vec::with_capacity(frames.len());
        for (index, frame) in frames.iter().enumerate() {
            tickets.push(self.asking(frame, name, &[argument(index)])?);
        }
        let mut stands = Vec::with_capacity(frames.len());
        for ticket in tickets {
            let value = self.value(ticket).await?;
            stands.push(Stand {
                count: value
                    .get("count")
                    .and_then(Value::as_u64)
                    .unwrap_or_default(),
                nth: value.get("nth").and_then(Value::as_i64),
            });
        }
        Ok(stands)
    }

    async fn strict_refusal(
        &mut self,
        frames: &[Frame],
        target: &str,
        stands: &[Stand],
        total: u64,
    ) -> Result<String, Problem> {
        let mut lines = vec![format!(
            "strict mode violation: {target} resolved to {total} elements"
        )];
        for (frame, stand) in frames.iter().zip(stands) {
            let room = MOST_PREVIEWS + 1 - lines.len().min(MOST_PREVIEWS + 1);
            if stand.count == 0 || room == 0 {
                continue;
            }
            // A target of its own means one element only where there is one document.
            let alone = frames.len() == 1;
            let shown = self
                .ask(frame, "previews", &[json!(room), json!(alone)])
                .await?;
            for preview in shown.as_array().map(Vec::as_slice).unwrap_or_default() {
                let number = lines.len();
                let markup = preview
                    .get("markup")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let own = preview.get("target").and_then(Value::as_str);
                let nth = format!("{target} >> nth={}", number - 1);
                lines.push(format!(
                    "    {number}) {markup} aka {}",
                    own.unwrap_or(&nth)
                ));
            }
        }
        if total > MOST_PREVIEWS as u64 {
            lines.push("    ...".to_owned());
        }
        Ok(lines.join("\n"))
    }
}

/// Frame and place in it of the `nth` element over all frames; negative counts from the end.
fn place(counts: &[u64], nth: i64) -> Option<(usize, u64)> {
    let total = i64::try_from(counts.iter().sum::<u64>()).ok()?;
    let index = if nth < 0 {
        total.checked_add(nth)?
    } else {
        nth
    };
    let mut left = u64::try_from(index).ok()?;
    for (frame, count) in counts.iter().enumerate() {
        if left < *count {
            return Some((frame, left));
        }
        left -= count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nth_counts_over_all_frames() {
        assert_eq!(place(&[2, 0, 3], 0), Some((0, 0)));
        assert_eq!(place(&[2, 0, 3], 2), Some((2, 0)));
        assert_eq!(place(&[2, 0, 3], -1), Some((2, 2)));
        assert_eq!(place(&[2, 0, 3], -5), Some((0, 0)));
        assert_eq!(place(&[2, 0, 3], 5), None);
        assert_eq!(place(&[2, 0, 3], -6), None);
        assert_eq!(place(&[], i64::MIN), None);
    }
}
