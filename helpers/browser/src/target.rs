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

/// What a selector came to, for tests that compare.
#[derive(Debug, Default)]
pub struct Matching {
    /// Frame and place of each element, places counted over all elements of a frame's document.
    pub places: Vec<(usize, u64)>,
    /// The id of each element, its tag where it has none.
    pub names: Vec<String>,
    /// The refusal, when it is more than one.
    pub strict: Option<String>,
}

impl Session {
    /// What each selector matches on the page as it is; of the first `strict`
    /// also how the refusal for more than one reads.
    ///
    /// # Errors
    /// When the page can't be asked; what is no selector has its refusal in its place.
    pub async fn matching(
        &mut self,
        selectors: &[String],
        strict: usize,
    ) -> Result<Vec<Result<Matching, String>>, Problem> {
        let frames = self.frames().await?;
        let mut all = Vec::with_capacity(selectors.len());
        for (number, selector) in selectors.iter().enumerate() {
            let found = if number < strict {
                self.resolve(&frames, selector).await
            } else {
                self.narrow(&frames, selector).await.map(|_| Found::None)
            };
            all.push(match found {
                Ok(found) => Ok(self.matched(&frames, found).await?),
                Err(Problem::Refused(why)) => Err(why),
                Err(problem) => return Err(problem),
            });
        }
        Ok(all)
    }

    /// Role and name of every element of the main frame that has a role, for tests that compare.
    ///
    /// # Errors
    /// When the page can't be asked.
    pub async fn every_role(&mut self) -> Result<Vec<Value>, Problem> {
        let frame = self.main_frame().await?;
        match self.ask(&frame, "everyRole", &[]).await? {
            Value::Array(elements) => Ok(elements),
            _ => Ok(Vec::new()),
        }
    }

    async fn matched(&mut self, frames: &[Frame], found: Found) -> Result<Matching, Problem> {
        let mut matching = Matching::default();
        if let Found::Many(why) = found {
            matching.strict = Some(why);
        }
        for (index, frame) in frames.iter().enumerate() {
            let elements = self.ask(frame, "matched", &[]).await?;
            for element in elements.as_array().map(Vec::as_slice).unwrap_or_default() {
                let place = element.get("place").and_then(Value::as_u64);
                let name = element.get("name").and_then(Value::as_str);
                matching.places.push((index, place.unwrap_or(u64::MAX)));
                matching.names.push(name.unwrap_or_default().to_owned());
            }
        }
        Ok(matching)
    }

    /// Resolves `target` in every frame; the element found stays chosen there.
    ///
    /// # Errors
    /// A refusal when the target is no selector; `Problem::Moved` when a document went away.
    pub(crate) async fn resolve(
        &mut self,
        frames: &[Frame],
        target: &str,
    ) -> Result<Found, Problem> {
        let stands = self.narrow(frames, target).await?;
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

    /// Takes every frame through all parts of the target; what is left is each frame's set.
    async fn narrow(&mut self, frames: &[Frame], target: &str) -> Result<Vec<Stand>, Problem> {
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
        Ok(stands)
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
