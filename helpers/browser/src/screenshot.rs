//! `screenshot`: a picture of the viewport as a JPEG in the home.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chromiumoxide::cdp::browser_protocol::page::{
    BringToFrontParams, CaptureScreenshotFormat, CaptureScreenshotParams, GetLayoutMetricsParams,
    Viewport,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::files;
use crate::problem::Problem;
use crate::session::Session;
use crate::wire::Declined;

const FOLDER: &str = "screenshots";
const NAME: &str = "latest.jpg";
/// Longest side of the picture, in pixels.
const MOST_PIXELS: f64 = 1568.0;
const QUALITY: i64 = 80;
/// A page that does not paint is not waited for longer.
const CAPTURE: Duration = Duration::from_secs(15);

impl Session {
    /// Replaces `screenshots/latest.jpg`; the first line of the result is that path.
    pub(crate) async fn screenshot(&mut self) -> Result<String, Problem> {
        self.open_tab(false).await?;
        self.doing = "taking the picture";
        let session = self.tab()?;
        let picture = match timeout(CAPTURE, self.capture(&session)).await {
            Ok(picture) => picture?,
            Err(_) => {
                return Err(Problem::refused(
                    "the page did not paint within 15 s, no picture was taken; try again",
                ));
            }
        };
        let (width, height) = jpeg_size(&picture)
            .ok_or_else(|| Problem::Failed("Page.captureScreenshot answered no JPEG".to_owned()))?;
        files::replace(&self.home, FOLDER, NAME, &picture)?;
        let (url, title) = self.where_it_is().await?;
        let mut lines = vec![
            format!("{FOLDER}/{NAME}"),
            format!("size: {width} x {height} pixels, {} bytes", picture.len()),
            format!("url: {url}"),
            format!("title: {title}"),
        ];
        lines.append(&mut self.take_notes());
        Ok(lines.join("\n"))
    }

    async fn capture(&mut self, session: &str) -> Result<Vec<u8>, Problem> {
        // In the background a page does not paint.
        self.wire
            .send(Some(session), BringToFrontParams::default())?;
        let picture = self.picture(session, None).await?;
        if longest_side(&picture) <= MOST_PIXELS {
            return Ok(picture);
        }
        self.smaller(session, &picture).await
    }

    /// The same again, so small that its longest side is short enough.
    async fn smaller(&mut self, session: &str, whole: &[u8]) -> Result<Vec<u8>, Problem> {
        let metrics = self
            .wire
            .call(Some(session), GetLayoutMetricsParams::default())
            .await?;
        let number = |pointer: &str| {
            metrics
                .pointer(pointer)
                .and_then(Value::as_f64)
                .unwrap_or_default()
        };
        let (x, y) = (
            number("/cssVisualViewport/pageX"),
            number("/cssVisualViewport/pageY"),
        );
        let (width, height) = (
            number("/cssVisualViewport/clientWidth"),
            number("/cssVisualViewport/clientHeight"),
        );
        if width < 1.0 || height < 1.0 {
            return Err(Problem::refused(
                "the page has no viewport to take a picture of",
            ));
        }
        // On a screen of more than one pixel per CSS pixel the picture comes out larger.
        let mut scale = MOST_PIXELS / longest_side(whole).max(width.max(height));
        loop {
            let clip = Viewport {
                x,
                y,
                width,
                height,
                scale,
            };
            let picture = self.picture(session, Some(clip)).await?;
            let longest = longest_side(&picture);
            if longest <= MOST_PIXELS || scale < 0.05 {
                return Ok(picture);
            }
            scale *= (MOST_PIXELS - 1.0) / longest;
        }
    }

    async fn picture(&mut self, session: &str, clip: Option<Viewport>) -> Result<Vec<u8>, Problem> {
        let params = CaptureScreenshotParams {
            format: Some(CaptureScreenshotFormat::Jpeg),
            quality: Some(QUALITY),
            clip,
            ..CaptureScreenshotParams::default()
        };
        let ticket = self.wire.submit(Some(session), params)?;
        let reply = self.wire.reply(ticket).await?.map_err(|Declined(why)| {
            Problem::refused(format!(
                "the browser could not take a picture: {why}; try again"
            ))
        })?;
        let data = reply
            .get("data")
            .and_then(Value::as_str)
            .unwrap_or_default();
        STANDARD
            .decode(data)
            .map_err(|error| Problem::Failed(format!("the picture is not base64: {error}")))
    }
}

/// Of a picture, in pixels; 0 for what is no JPEG.
fn longest_side(picture: &[u8]) -> f64 {
    jpeg_size(picture).map_or(0.0, |(width, height)| f64::from(width.max(height)))
}

/// Width and height from a JPEG's frame header (ITU T.81, B.2.2).
fn jpeg_size(bytes: &[u8]) -> Option<(u16, u16)> {
    let mut at = 2;
    if bytes.get(..2)? != [0xFF, 0xD8] {
        return None;
    }
    loop {
        let segment = bytes.get(at..at + 4)?;
        let marker = segment[1];
        let is_frame = matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC);
        if segment[0] != 0xFF {
            return None;
        }
        if is_frame {
            let size = bytes.get(at + 5..at + 9)?;
            return Some((
                u16::from_be_bytes([size[2], size[3]]),
                u16::from_be_bytes([size[0], size[1]]),
            ));
        }
        at += 2 + usize::from(u16::from_be_bytes([segment[2], segment[3]]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_jpeg_is_read_from_its_frame_header() {
        let bytes = [
            0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x04, 0x00, 0x00, 0xFF, 0xC0, 0x00, 0x0B, 0x08, 0x02,
            0x58, 0x03, 0x20, 0x01, 0x01, 0x11, 0x00,
        ];
        assert_eq!(jpeg_size(&bytes), Some((800, 600)));
        assert_eq!(jpeg_size(&bytes[..12]), None);
        assert_eq!(jpeg_size(b"GIF89a"), None);
    }
}
