//! Who listens on the DevTools port: nothing is sent there before its socket is known to be this agent's Chrome's.

use std::collections::BTreeSet;
use std::fs;

use crate::runner::room::Room;

/// Inodes of sockets that were found to be Chrome's.
pub type Sockets = BTreeSet<u64>;

/// One listening socket, proc(5) `/proc/net/tcp`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listener {
    uid: u32,
    inode: u64,
    /// Whether 127.0.0.1 reaches it.
    v4: bool,
}

/// What listens on a port, IPv4 and IPv6.
#[derive(Debug)]
pub struct Found {
    listeners: Vec<Listener>,
}

/// Whose the port is.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing listens on the IPv4 port yet.
    Nobody,
    /// All sockets are this Chrome's.
    Own(Sockets),
    /// A sentence naming the other.
    Foreign(String),
}

/// Reads the kernel's tables.
pub fn on_port(port: u16) -> Found {
    let mut listeners = Vec::new();
    for (table, v4) in [("/proc/net/tcp", true), ("/proc/net/tcp6", false)] {
        let text = fs::read_to_string(table).unwrap_or_default();
        listeners.extend(parse(&text, port, v4));
    }
    Found { listeners }
}

fn parse(table: &str, port: u16, v4: bool) -> Vec<Listener> {
    /// `TCP_LISTEN` in hexadecimal.
    const LISTEN: &str = "0A";
    let any6 = "0".repeat(32);
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let (address, number) = fields.get(1)?.split_once(':')?;
            if u16::from_str_radix(number, 16).ok()? != port || *fields.get(3)? != LISTEN {
                return None;
            }
            Some(Listener {
                uid: fields.get(7)?.parse().ok()?,
                inode: fields.get(9)?.parse().ok()?,
                v4: v4 || address == any6,
            })
        })
        .collect()
}

impl Found {
    /// Judges every socket: each must belong to a process in `room`. `known`
    /// are sockets judged before, which needs no second look.
    pub fn check(&self, port: u16, room: &Room, leader: i32, known: Option<&Sockets>) -> Verdict {
        let own_uid = nix::unistd::geteuid().as_raw();
        let mut sockets = Sockets::new();
        for listener in &self.listeners {
            let inode = listener.inode;
            if !known.is_some_and(|known| known.contains(&inode)) {
                if listener.uid != own_uid {
                    return Verdict::Foreign(format!(
                        "port {port} of this agent's Chrome is taken by a process of user {}; nothing was sent to it",
                        listener.uid
                    ));
                }
                match holder(inode, leader) {
                    Some(pid) if room.holds(pid, leader) => {}
                    Some(pid) => {
                        return Verdict::Foreign(format!(
                            "port {port} of this agent's Chrome is taken by the agent's own process {pid}, which is not that Chrome; end it first"
                        ));
                    }
                    None => {
                        return Verdict::Foreign(format!(
                            "port {port} of this agent's Chrome is taken by a process of the agent's user that can't be seen; nothing was sent to it"
                        ));
                    }
                }
            }
            sockets.insert(inode);
        }
        if self.listeners.iter().any(|listener| listener.v4) {
            Verdict::Own(sockets)
        } else {
            Verdict::Nobody
        }
    }
}

/// The process that has the socket open: `first` when it does, else any of this user.
fn holder(inode: u64, first: i32) -> Option<i32> {
    if first > 0 && holds(first, inode) {
        return Some(first);
    }
    fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|pid| holds(*pid, inode))
}

fn holds(pid: i32, inode: u64) -> bool {
    let wanted = format!("socket:[{inode}]");
    fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| {
            fs::read_link(entry.path()).is_ok_and(|link| link.as_os_str() == wanted.as_str())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Children;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:2455 00000000:0000 0A 00000000:00000000 00:00000000 00000000 70001        0 4242 1 0 100 0 0 10 0\n   1: 0100007F:2455 0100007F:9C40 01 00000000:00000000 00:00000000 00000000 70001        0 4243 1 0 20 4 30 10 -1\n   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 17 1 0 100 0 0 10 0\n";

    #[test]
    fn only_listening_sockets_of_the_port_count() {
        assert_eq!(
            parse(TABLE, 9301, true),
            vec![Listener {
                uid: 70001,
                inode: 4242,
                v4: true
            }]
        );
        assert_eq!(parse(TABLE, 9302, true), vec![]);
    }

    #[test]
    fn a_socket_on_every_ipv6_address_takes_the_ipv4_port_too() {
        let any = "sl\n 0: 00000000000000000000000000000000:2455 0:0 0A 0:0 0:0 0 70001 0 5 1\n";
        let local = "sl\n 0: 00000000000000000000000001000000:2455 0:0 0A 0:0 0:0 0 70001 0 5 1\n";
        assert!(parse(any, 9301, false)[0].v4);
        assert!(!parse(local, 9301, false)[0].v4);
    }

    #[test]
    fn a_listener_of_another_user_is_named() {
        let found = Found {
            listeners: vec![Listener {
                uid: 4_000_000,
                inode: 1,
                v4: true,
            }],
        };
        let room = Room::Tree(Children::default());
        assert_eq!(
            found.check(9301, &room, 0, None),
            Verdict::Foreign(
                "port 9301 of this agent's Chrome is taken by a process of user 4000000; nothing was sent to it"
                    .to_owned()
            )
        );
    }

    #[test]
    fn a_real_listener_outside_the_room_is_named_by_its_pid() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let room = Room::Tree(Children::default());
        let me = i32::try_from(std::process::id()).unwrap();
        let Verdict::Foreign(sentence) = on_port(port).check(port, &room, 0, None) else {
            panic!("the listener was not seen");
        };
        assert!(sentence.contains(&format!("process {me},")), "{sentence}");
        assert!(matches!(
            on_port(port).check(port, &room, me, None),
            Verdict::Own(_)
        ));
    }
}
