//! A tiny site on loopback: the pages of `tests/pages` and a few answers of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::corpus;

/// Starts the site on all of 127.0.0.1 and ::1 that `localhost` means; its port.
pub fn start() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    port
}

fn answer(stream: TcpStream) {
    let mut lines = BufReader::new(&stream).lines();
    let Some(Ok(first)) = lines.next() else {
        return;
    };
    for line in lines.by_ref() {
        match line {
            Ok(line) if !line.is_empty() => {}
            _ => break,
        }
    }
    let path = first.split(' ').nth(1).unwrap_or("/").to_owned();
    let path = path.split('?').next().unwrap_or("/");
    let (status, extra, body) = page(path);
    let head = format!(
        "HTTP/1.1 {status}\r\n{extra}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = &stream;
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&body));
}

fn page(path: &str) -> (&'static str, &'static str, Vec<u8>) {
    const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";
    match path {
        "/204" => ("204 No Content", "", Vec::new()),
        "/slow" => {
            thread::sleep(Duration::from_millis(400));
            ("200 OK", "Content-Type: text/plain\r\n", b"slow".to_vec())
        }
        "/report.csv" => (
            "200 OK",
            "Content-Type: text/csv\r\nContent-Disposition: attachment; filename=report.csv\r\n",
            b"a,b\n1,2\n".to_vec(),
        ),
        "/paper.pdf" => {
            let body = "%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF";
            (
                "200 OK",
                "Content-Type: application/pdf\r\n",
                body.as_bytes().to_vec(),
            )
        }
        "/redirect" => ("302 Found", "Location: /second.html\r\n", Vec::new()),
        "/hanging-image" => {
            let body = "<!doctype html><title>Hanging</title><h1>Text</h1><img src=/never>";
            ("200 OK", HTML, body.as_bytes().to_vec())
        }
        "/never" => {
            thread::sleep(Duration::from_secs(20));
            ("200 OK", "", Vec::new())
        }
        "/nameless" => {
            let cells = "<i style=cursor:pointer></i>".repeat(20);
            let rows = format!("<p style=cursor:auto>{cells}</p>").repeat(1000);
            let style = "<style>i{display:inline-block;width:9px;height:9px}</style>";
            let body = format!("<!doctype html><title>Nameless</title>{style}{rows}");
            ("200 OK", HTML, body.into_bytes())
        }
        "/big" => {
            let rows: String = (0..5000)
                .map(|n| format!("<li><a href=/{n}>Row {n}</a></li>"))
                .collect();
            (
                "200 OK",
                HTML,
                format!("<!doctype html><title>Big</title><ul>{rows}</ul>").into_bytes(),
            )
        }
        _ if path.starts_with("/case/") => match corpus::document(&path["/case/".len()..]) {
            Some(html) => ("200 OK", HTML, html.into_bytes()),
            None => ("404 Not Found", HTML, Vec::new()),
        },
        _ if path.starts_with("/npm/") => from_npm(&path["/npm/".len()..]),
        _ => {
            let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join("tests/pages")
                .join(path.trim_start_matches('/'));
            match std::fs::read(file) {
                Ok(body) => ("200 OK", HTML, body),
                Err(_) => (
                    "404 Not Found",
                    HTML,
                    b"<!doctype html><title>Lost</title><h1>Nothing here</h1>".to_vec(),
                ),
            }
        }
    }
}

/// Files of the packages that `tests/clients` locks.
fn from_npm(name: &str) -> (&'static str, &'static str, Vec<u8>) {
    const SCRIPT: &str = "Content-Type: text/javascript; charset=utf-8\r\n";
    let (file, kind) = match name {
        "react.js" => ("react/umd/react.production.min.js", SCRIPT),
        "react-dom.js" => ("react-dom/umd/react-dom.production.min.js", SCRIPT),
        "vue.js" => ("vue/dist/vue.global.prod.js", SCRIPT),
        "quill.js" => ("quill/dist/quill.js", SCRIPT),
        "codemirror.js" => ("codemirror/lib/codemirror.js", SCRIPT),
        _ => (
            "codemirror/lib/codemirror.css",
            "Content-Type: text/css\r\n",
        ),
    };
    let modules =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/node_modules");
    let body = std::fs::read(modules.join(file)).unwrap_or_else(|error| {
        panic!("{file}: {error}; scripts/set-up.sh test installs the packages of tests/clients")
    });
    ("200 OK", kind, body)
}
