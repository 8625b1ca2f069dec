//! A tiny site on loopback: the pages of `tests/pages` and a few answers of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

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
            ("200 OK", "", b"slow".to_vec())
        }
        "/report.csv" => (
            "200 OK",
            "Content-Type: text/csv\r\nContent-Disposition: attachment; filename=report.csv\r\n",
            b"a,b\n1,2\n".to_vec(),
        ),
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
