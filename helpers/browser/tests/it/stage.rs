//! One Chrome and one site for all tests; each test has a tab and a home of its own, one at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{site, spawn};

struct Shared {
    port: u16,
    site: u16,
    turn: Mutex<()>,
    // Its stdin holds Chrome up; it ends with the process.
    _keeper: Child,
}

/// A test's turn on the browser.
pub struct Stage {
    pub port: u16,
    pub home: TempDir,
    site: u16,
    _turn: MutexGuard<'static, ()>,
}

fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| {
        let port = {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        };
        // The keeper removes the profile when Chrome is gone.
        let profile = tempfile::Builder::new()
            .prefix("guilds-browser-it-")
            .tempdir()
            .unwrap()
            .keep();
        let keeper = spawn::chrome(port, &profile);
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "Chrome did not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Shared {
            port,
            site: site::start(),
            turn: Mutex::new(()),
            _keeper: keeper,
        }
    })
}

/// Asks Chrome's HTTP side; the body of its answer.
fn ask(port: u16, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    )
    .unwrap();
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

impl Stage {
    /// A turn with one fresh tab, known to the helper as the last one used.
    pub fn new() -> Self {
        let shared = shared();
        let turn = shared
            .turn
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let port = shared.port;
        let fresh: Value =
            serde_json::from_str(&ask(port, "PUT", "/json/new?about:blank")).unwrap();
        let tabs: Value = serde_json::from_str(&ask(port, "GET", "/json/list")).unwrap();
        for tab in tabs.as_array().unwrap() {
            if tab["type"] == "page" && tab["id"] != fresh["id"] {
                ask(
                    port,
                    "GET",
                    &format!("/json/close/{}", tab["id"].as_str().unwrap()),
                );
            }
        }
        let home = tempfile::tempdir().unwrap();
        let memory = home.path().join(".cache/guilds");
        std::fs::create_dir_all(&memory).unwrap();
        let known = json!({"current": fresh["id"], "known": [fresh["id"]]});
        std::fs::write(memory.join("browser.json"), known.to_string()).unwrap();
        Self {
            port,
            home,
            site: shared.site,
            _turn: turn,
        }
    }

    /// A stage with a page opened.
    pub fn at(path: &str) -> Self {
        let stage = Self::new();
        let opened = stage.output("navigate", json!({"url": stage.url(path)}));
        assert!(opened.starts_with("url: "), "{opened}");
        stage
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.site)
    }

    pub fn site_port(&self) -> u16 {
        self.site
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn call(&self, verb: &str, request: &Value) -> Value {
        let home = self.home.path().to_str().unwrap();
        let port = self.port.to_string();
        let output = spawn::helper(
            &[verb, "--port", &port, "--home", home],
            &request.to_string(),
        );
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{verb} failed: {told}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The output of a call that is not refused.
    pub fn output(&self, verb: &str, arguments: Value) -> String {
        let reply = self.call(verb, &json!({"arguments": arguments}));
        match reply["output"].as_str() {
            Some(output) => output.to_owned(),
            None => panic!("{verb} was refused: {}", reply["error"]),
        }
    }

    /// The refusal of a call.
    pub fn refusal(&self, verb: &str, arguments: Value) -> String {
        // A short limit makes the wait for something that never comes short too.
        let reply = self.call(verb, &json!({"arguments": arguments, "limit_ms": 4000}));
        reply["error"]
            .as_str()
            .unwrap_or_else(|| panic!("not refused: {reply}"))
            .to_owned()
    }

    pub fn click(&self, target: &str) -> String {
        self.output("click", json!({"target": target}))
    }

    /// Opens a tab that is not the current one.
    pub fn open_beside(&self, path: &str) {
        let path = format!("/json/new?{}", self.url(path));
        ask(self.port, "PUT", &path);
    }

    /// Kills the renderer of the current tab.
    pub fn crash_tab(&self) {
        self.devtools("crash");
    }

    /// Keeps the current tab's page busy for ever.
    pub fn hang_tab(&self) {
        self.devtools("hang");
    }

    fn devtools(&self, what: &str) {
        use chromiumoxide::cdp::browser_protocol::page::CrashParams;
        use chromiumoxide::cdp::js_protocol::runtime::EvaluateParams;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut session = guilds_browser::Session::connect(self.port, self.home())
                .await
                .unwrap();
            session.open_tab(false).await.unwrap();
            match what {
                "crash" => session.send(CrashParams::default()).await,
                _ => {
                    session
                        .send(EvaluateParams::new("setTimeout(() => { for (;;); }, 10)"))
                        .await
                }
            }
            .unwrap();
        });
    }

    pub fn snapshot(&self) -> String {
        self.output("snapshot", json!({}))
    }
}
