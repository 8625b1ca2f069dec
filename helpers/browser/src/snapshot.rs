//! `snapshot`: address, title and the tree of the current tab.

use chromiumoxide::cdp::browser_protocol::page::GetNavigationHistoryParams;

use crate::files;
use crate::frame::Frame;
use crate::problem::Problem;
use crate::session::Session;
use crate::tree::{self, Part};
use serde_json::{Value, json};

const FOLDER: &str = "snapshots";
const NAME: &str = "latest.yaml";
/// A page that keeps navigating is looked at this often.
const ATTEMPTS: usize = 5;
/// Bytes of a tree that a model still reads with profit.
const MOST_BYTES: usize = 49_152;
/// Room that the reply's bound gives beyond the result's cap.
const BEYOND_CAP: usize = 65_536;

impl Session {
    /// Reads the page; `max_output_bytes` is the reply's bound.
    pub(crate) async fn snapshot(&mut self, max_output_bytes: usize) -> Result<String, Problem> {
        self.open_tab(false).await?;
        self.doing = "reading the page";
        let (frames, mut parts) = self.parts().await?;
        self.tell_targets_apart(&frames, &mut parts).await?;
        let parents: Vec<_> = frames.iter().map(|frame| frame.parent).collect();
        let lines = tree::stitch(&parts, &parents);
        let head = format!("url: {}\ntitle: {}\n", parts[0].url, parts[0].title);
        files::replace(
            &self.home,
            FOLDER,
            NAME,
            format!("{head}\n{}\n", lines.join("\n")).as_bytes(),
        )?;
        if lines.is_empty() {
            self.notes.push(nothing_to_tell(&parts[0]).to_owned());
        }
        let mut told = self.take_notes().join("\n");
        if !told.is_empty() && !lines.is_empty() {
            told.insert_str(0, "\n\n");
        }
        let room = budget(max_output_bytes).saturating_sub(head.len() + 1 + told.len());
        let tree = tree::cut(&lines, room, &format!("{FOLDER}/{NAME}"));
        let text = format!("{head}\n{tree}{told}");
        Ok(text)
    }

    async fn parts(&mut self) -> Result<(Vec<Frame>, Vec<Part>), Problem> {
        let mut attempt = 0;
        loop {
            match self.parts_once().await {
                Err(Problem::Moved) if attempt < ATTEMPTS => {
                    attempt += 1;
                    self.wire
                        .linger(std::time::Duration::from_millis(100))
                        .await?;
                }
                other => return other,
            }
        }
    }

    async fn parts_once(&mut self) -> Result<(Vec<Frame>, Vec<Part>), Problem> {
        let frames = self.frames().await?;
        let mut parts = Vec::with_capacity(frames.len());
        for frame in &frames {
            let part = self.ask(frame, "snapshot", &[]).await?;
            parts.push(serde_json::from_str(part.as_str().unwrap_or_default())?);
        }
        Ok((frames, parts))
    }

    /// A CSS target computed in one document may match in others as well.
    async fn tell_targets_apart(
        &mut self,
        frames: &[Frame],
        parts: &mut [Part],
    ) -> Result<(), Problem> {
        if frames.len() < 2 {
            return Ok(());
        }
        let targets: Vec<String> = parts
            .iter()
            .flat_map(|part| part.lines.iter().filter_map(|line| line.target.clone()))
            .collect();
        if targets.is_empty() {
            return Ok(());
        }
        let mut counts = Vec::with_capacity(frames.len());
        for frame in frames {
            let found = self.ask(frame, "countTargets", &[json!(targets)]).await?;
            counts.push(
                found
                    .as_array()
                    .map(|list| {
                        list.iter()
                            .map(|n| n.as_u64().unwrap_or_default())
                            .collect::<Vec<_>>()
                    })
                    .unwrap_or_default(),
            );
        }
        let mut index = 0;
        for (at, part) in parts.iter_mut().enumerate() {
            for target in part
                .lines
                .iter_mut()
                .filter_map(|line| line.target.as_mut())
            {
                let of = |frame: &Vec<u64>| frame.get(index).copied().unwrap_or_default();
                if counts.iter().map(of).sum::<u64>() > 1 {
                    let before: u64 = counts[..at].iter().map(of).sum();
                    target.push_str(&format!(" >> nth={before}"));
                }
                index += 1;
            }
        }
        Ok(())
    }

    /// Address of the page as Chrome keeps it, asked without disturbing the page, and
    /// only when the tab has moved since it was asked last.
    pub(crate) async fn address(&mut self) -> Result<String, Problem> {
        let moves = self.wire.watch.navigation.moves;
        if let Some((url, _)) = self.place.as_ref().filter(|(_, at)| *at == moves) {
            return Ok(url.clone());
        }
        let (url, _) = self.entry().await?;
        self.place = Some((url.clone(), moves));
        Ok(url)
    }

    /// Address and title of the page, for the end of a result. A page that is still
    /// painting is not waited for.
    pub(crate) async fn where_it_is(&mut self) -> Result<(String, String), Problem> {
        let (url, title) = self.entry().await?;
        if !url.is_empty() {
            return Ok((url, title));
        }
        // A tab that nothing was ever opened in has no history.
        let frame = self.main_frame().await?;
        let place = self.ask(&frame, "place", &[]).await?;
        let text = |key: &str| place.get(key).and_then(Value::as_str);
        let text = |key: &str| text(key).unwrap_or_default().to_owned();
        Ok((text("url"), text("title")))
    }

    /// Address and title of the current entry of the tab's history.
    async fn entry(&mut self) -> Result<(String, String), Problem> {
        let session = self.tab()?;
        let mut attempt = 0;
        let history = loop {
            match self
                .wire
                .call(Some(&session), GetNavigationHistoryParams::default())
                .await
            {
                Err(Problem::Moved) if attempt < ATTEMPTS => {
                    attempt += 1;
                    self.wire
                        .linger(std::time::Duration::from_millis(100))
                        .await?;
                }
                other => break other?,
            }
        };
        Ok(current_entry(&history))
    }
}

/// Why a tree has no line.
fn nothing_to_tell(page: &Part) -> &'static str {
    if page.is_pdf() {
        "note: a PDF has no tree; browser_screenshot shows what is in view"
    } else if page.url == "about:blank" {
        "note: the page is blank; browser_navigate opens another"
    } else {
        "note: the page has nothing that a tree can tell; browser_screenshot shows what it paints"
    }
}

/// Address and title out of Chrome's answer about a tab's history.
pub(crate) fn current_entry(history: &Value) -> (String, String) {
    let index = history
        .get("currentIndex")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let text = |key: &str| {
        let value = history.pointer(&format!("/entries/{index}/{key}"));
        value.and_then(Value::as_str).unwrap_or_default()
    };
    (text("url").to_owned(), tidy(text("title")))
}

/// A title as the page script tells it: in one line, nothing in it that can't be seen.
fn tidy(title: &str) -> String {
    let seen = title.replace(['\u{200b}', '\u{ad}'], "");
    let words = seen.split(|c: char| c.is_whitespace() || c == '\u{feff}');
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn budget(max_output_bytes: usize) -> usize {
    let cap = match max_output_bytes.checked_sub(BEYOND_CAP) {
        Some(cap) if cap >= 1024 => cap,
        _ => max_output_bytes,
    };
    // What the result's stamp and the cut's own line need stays free.
    MOST_BYTES.min(cap - cap / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(
            tidy(" The\u{200b}  lamp\n\u{a0}shop\u{feff}"),
            "The lamp shop"
        );
        assert_eq!(tidy(""), "");
    }

    #[test]
    fn a_tree_fits_the_result_it_becomes() {
        assert_eq!(budget(131_072), 49_152);
        assert_eq!(budget(66_560), 896);
        assert_eq!(budget(8_192), 7_168);
    }
}
