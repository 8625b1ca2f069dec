//! The table's text, nft(8): loaded whole, so that there is no moment without it.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Rules for `owners` (port to uid). Only ports in it are gated: others of the
/// range may be another program's.
pub fn write(
    name: &str,
    owners: &BTreeMap<u16, u32>,
    own_port: u16,
    (first, last): (u32, u32),
) -> String {
    let ports: Vec<String> = owners.keys().map(u16::to_string).collect();
    let pairs: Vec<String> = owners
        .iter()
        .map(|(port, uid)| format!("{port} . {uid}"))
        .collect();
    let elements = |items: Vec<String>| {
        if items.is_empty() {
            String::new()
        } else {
            format!("elements = {{ {} }}", items.join(", "))
        }
    };
    let mut text = String::new();
    // A table that isn't there can't be deleted; adding it first makes one.
    let _ = write!(
        text,
        "add table inet {name}
delete table inet {name}
table inet {name} {{
  set slots {{
    type inet_service
    {slots}
  }}
  set devtools {{
    type inet_service . uid
    {devtools}
  }}
  chain output {{
    type filter hook output priority 0; policy accept;
    oifname \"lo\" tcp dport @slots tcp flags & (syn | ack) == syn jump gate
    meta skuid {first}-{last} tcp dport {own_port} fib daddr type local reject with tcp reset
    meta skuid {first}-{last} ip daddr 169.254.0.0/16 reject
    meta skuid {first}-{last} ip6 daddr {{ fd00:ec2::254, fd20:ce::254 }} reject
  }}
  chain gate {{
    meta skuid 0 accept
    tcp dport . meta skuid @devtools accept
    counter reject with tcp reset
  }}
}}
",
        slots = elements(ports),
        devtools = elements(pairs),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_names_its_agent() {
        let owners = BTreeMap::from([(9301, 70_000), (9302, 70_001)]);
        let text = write("guilds", &owners, 8443, (70_000, 70_999));
        assert!(text.contains("    type inet_service\n    elements = { 9301, 9302 }\n"));
        assert!(text.contains(
            "    type inet_service . uid\n    elements = { 9301 . 70000, 9302 . 70001 }\n"
        ));
        assert!(text.starts_with("add table inet guilds\ndelete table inet guilds\n"));
    }

    #[test]
    fn without_agents_there_are_no_elements() {
        let text = write("guilds", &BTreeMap::new(), 8443, (70_000, 70_999));
        assert!(!text.contains("elements"));
    }
}
