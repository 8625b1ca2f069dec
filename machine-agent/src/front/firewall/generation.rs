//! The kernel's count of changes to its rules, asked over netlink in a few microseconds.

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto,
    setsockopt, socket, sockopt::ReceiveTimeout,
};
use nix::sys::time::{TimeVal, TimeValLike};

/// `NFNL_SUBSYS_NFTABLES << 8`, linux/netfilter/nfnetlink.h.
const NFTABLES: u16 = 10 << 8;
/// `NFT_MSG_NEWGEN` and `NFT_MSG_GETGEN`, linux/netfilter/nf_tables.h.
const NEW_GENERATION: u16 = NFTABLES | 15;
const GET_GENERATION: u16 = NFTABLES | 16;
/// `NFTA_GEN_ID`
const GENERATION_ID: u16 = 1;
/// `NLM_F_REQUEST`
const REQUEST: u16 = 1;
/// Bytes of a netlink header and of the netfilter header after it.
const HEADERS: usize = 16 + 4;

/// The present generation in this network namespace.
///
/// # Errors
/// When the kernel doesn't answer within a second, or isn't asked by root.
pub fn current() -> io::Result<u32> {
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkNetFilter,
    )?;
    setsockopt(&netlink, ReceiveTimeout, &TimeVal::seconds(1))?;
    let mut request = Vec::with_capacity(HEADERS);
    request.extend_from_slice(&(HEADERS as u32).to_ne_bytes());
    request.extend_from_slice(&GET_GENERATION.to_ne_bytes());
    request.extend_from_slice(&REQUEST.to_ne_bytes());
    // Sequence and port: one question, one answer, so both may be 0. Then
    // family, version and resource of the netfilter header.
    request.extend_from_slice(&[0; 12]);
    let kernel = NetlinkAddr::new(0, 0);
    sendto(netlink.as_raw_fd(), &request, &kernel, MsgFlags::empty())?;
    let mut answer = [0_u8; 1024];
    let read = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    parse(&answer[..read])
        .ok_or_else(|| io::Error::other("the kernel told no generation of its rules"))
}

fn parse(answer: &[u8]) -> Option<u32> {
    let two = |at: usize| Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    if two(4)? != NEW_GENERATION {
        return None;
    }
    let mut at = HEADERS;
    while at + 4 <= answer.len() {
        let length = usize::from(two(at)?);
        if two(at + 2)? == GENERATION_ID {
            // Numbers inside nftables messages are big-endian.
            return Some(u32::from_be_bytes(
                answer.get(at + 4..at + 8)?.try_into().ok()?,
            ));
        }
        if length < 4 {
            return None;
        }
        at += length.next_multiple_of(4);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_among_the_attributes() {
        let mut answer = Vec::new();
        answer.extend_from_slice(&36_u32.to_ne_bytes());
        answer.extend_from_slice(&NEW_GENERATION.to_ne_bytes());
        answer.extend_from_slice(&[0; 14]);
        answer.extend_from_slice(&8_u16.to_ne_bytes());
        answer.extend_from_slice(&2_u16.to_ne_bytes());
        answer.extend_from_slice(&[0, 0, 0, 9]);
        answer.extend_from_slice(&8_u16.to_ne_bytes());
        answer.extend_from_slice(&1_u16.to_ne_bytes());
        answer.extend_from_slice(&[0, 0, 1, 2]);
        assert_eq!(parse(&answer), Some(258));
        assert_eq!(parse(&answer[..20]), None);
    }
}
