//! Logs on stderr, and what a service manager is told.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use tracing_subscriber::EnvFilter;

/// Starts logging to stderr: `GUILDS_LOG` filters (default `info`), and
/// `GUILDS_LOG_FORMAT=json` writes one object a line.
pub fn start() {
    let filter = EnvFilter::try_from_env("GUILDS_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false);
    if std::env::var("GUILDS_LOG_FORMAT").is_ok_and(|format| format == "json") {
        builder.json().init();
    } else {
        builder.init();
    }
}

/// Tells the service manager, sd_notify(3), and the log: `ready` once
/// requests are answered, then how things stand.
pub fn status(ready: bool, text: &str) {
    tracing::info!("STATUS={text}");
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let bytes = path.as_encoded_bytes();
    let address = match bytes.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&path),
    };
    let message = format!("{}STATUS={text}\n", if ready { "READY=1\n" } else { "" });
    if let (Ok(address), Ok(socket)) = (address, UnixDatagram::unbound()) {
        let _ = socket.send_to_addr(message.as_bytes(), &address);
    }
}
