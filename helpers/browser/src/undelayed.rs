//! Small messages go out at once, though the library that opens the stream leaves Nagle's algorithm on.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{OwnedFd, RawFd};

use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// This process opens a handful of descriptors and closes none but its last ones.
const MOST: RawFd = 64;

/// Switches the delay off on every stream of this process to 127.0.0.1:`port`. Held back, each
/// command of a batch but the first would wait for Chrome's answer to the first.
///
/// Without this all works as well, only slower, so that nothing is reported.
pub fn streams_to(port: u16) {
    let Ok(own) = pidfd_open(getpid(), PidfdFlags::empty()) else {
        return;
    };
    let there = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    for number in 0..MOST {
        // A second descriptor of the same socket, closed again at the end of the turn.
        let Ok(copy) = pidfd_getfd(&own, number, PidfdGetfdFlags::empty()) else {
            continue;
        };
        no_delay(copy, there);
    }
}

fn no_delay(descriptor: OwnedFd, there: SocketAddr) {
    let stream = TcpStream::from(descriptor);
    if stream.peer_addr().is_ok_and(|peer| peer == there) {
        let _ = stream.set_nodelay(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn streams_to_the_port_alone_lose_their_delay() {
        let (here, elsewhere) = (listener(), listener());
        let meant = TcpStream::connect(here.local_addr().unwrap()).unwrap();
        let other = TcpStream::connect(elsewhere.local_addr().unwrap()).unwrap();
        streams_to(here.local_addr().unwrap().port());
        assert!(meant.nodelay().unwrap());
        assert!(!other.nodelay().unwrap());
    }

    fn listener() -> TcpListener {
        TcpListener::bind(("127.0.0.1", 0)).unwrap()
    }
}
