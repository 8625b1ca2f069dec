//! What goes wrong around a call: the connection is cut, the renderer dies, tabs are many or hang, the call is cancelled.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::spawn;
use crate::stage::Stage;

/// Passes DevTools on to Chrome until it is cut.
struct Cable {
    port: u16,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cable {
    fn to(chrome: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let streams = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&streams);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let far = TcpStream::connect(("127.0.0.1", chrome)).unwrap();
                let ends = [near.try_clone().unwrap(), far.try_clone().unwrap()];
                kept.lock().unwrap().extend(ends);
                let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                thread::spawn(move || pass(near, far));
                thread::spawn(move || pass(far_too, near_too));
            }
        });
        Self { port, streams }
    }

    fn cut(&self) {
        for stream in self.streams.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// The reply of a call and how long it took, while `meanwhile` happens 800 ms into it.
fn disturbed(
    stage: &Stage,
    port: u16,
    verb: &str,
    arguments: Value,
    meanwhile: impl FnOnce(u32),
) -> (Value, Duration) {
    let begun = Instant::now();
    let request = json!({ "arguments": arguments }).to_string();
    let home = stage.home().to_str().unwrap();
    let port = port.to_string();
    let child = spawn::helper_begun(&[verb, "--port", &port, "--home", home], &request);
    thread::sleep(Duration::from_millis(800));
    meanwhile(child.id());
    let output = child.wait_with_output().unwrap();
    let reply = serde_json::from_slice(&output.stdout).unwrap();
    (reply, begun.elapsed())
}

#[test]
fn a_connection_that_is_cut_is_told_at_once() {
    let stage = Stage::at("/second.html");
    let waits = json!({"expression": "await new Promise(() => {})"});
    let cable = Cable::to(stage.port);
    let (reply, took) = disturbed(&stage, cable.port, "eval", waits, |_| cable.cut());
    assert_eq!(
        reply["error"],
        "the connection to the browser ended during the call; the next browser call connects again, and starts the browser when it is gone"
    );
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert!(stage.snapshot().contains("\ntitle: Second\n"));
}

#[test]
fn a_renderer_that_dies_during_a_call_is_told_at_once() {
    let stage = Stage::at("/second.html");
    let absent = json!({"target": "#absent"});
    let crash = |_| stage.crash_tab();
    let (reply, took) = disturbed(&stage, stage.port, "click", absent, crash);
    assert_eq!(
        reply["error"],
        "the page crashed; open it again with browser_navigate"
    );
    assert!(took < Duration::from_secs(5), "{took:?}");
    let url = stage.url("/second.html");
    let opened = stage.output("navigate", json!({"url": url}));
    assert!(opened.contains("title: Second"), "{opened}");
}

#[test]
fn fifty_tabs_and_one_that_never_rests_are_in_nobodys_way() {
    let stage = Stage::at("/second.html");
    stage.hang_tab();
    let url = stage.url("/second.html");
    let opened = stage.output("navigate", json!({"url": url}));
    assert!(
        opened.contains(&format!(
            "tab: the one at {url} did not answer, a new tab took its place"
        )),
        "{opened}"
    );
    for _ in 0..50 {
        stage.open_beside("/second.html");
    }
    let begun = Instant::now();
    assert!(
        stage
            .snapshot()
            .contains("- heading \"Second page\" [level=1]")
    );
    assert_eq!(stage.output("eval", json!({"expression": "return 1"})), "1");
    let text = stage.click("text=Second page");
    assert_eq!(text, "clicked heading \"Second page\"");
    let text = stage.output("screenshot", json!({}));
    assert!(text.starts_with("screenshots/latest.jpg\n"), "{text}");
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_cancelled_call_leaves_no_button_down_and_no_script_running() {
    let stage = Stage::at("/busy.html");
    let press = json!({"target": "#slow"});
    let cancel = |pid| spawn::terminate(pid);
    let (reply, took) = disturbed(&stage, stage.port, "click", press, cancel);
    assert_eq!(reply["error"], "the call was cancelled");
    assert!(took < Duration::from_secs(3), "{took:?}");
    let seen = stage.output("eval", json!({"expression": "return seen"}));
    assert_eq!(seen, r#"["mousedown","mouseup"]"#);
    let loops = json!({"expression": "for (;;);"});
    let (reply, _) = disturbed(&stage, stage.port, "eval", loops, cancel);
    assert_eq!(reply["error"], "the call was cancelled");
    assert_eq!(stage.output("eval", json!({"expression": "return 2"})), "2");
}
