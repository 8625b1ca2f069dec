//! Random documents of an organisation, the same ones on every machine.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// SplitMix64: the same numbers on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn of<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    /// A text with whatever TOML, JSON and SQL might trip over.
    fn text(&mut self) -> String {
        let parts = [
            "plain",
            "\"quoted\"",
            "two\nlines",
            "Größe",
            "日本",
            "\\",
            "'",
            "\t",
            "💡",
            "%_",
        ];
        let count = self.below(5);
        (0..count)
            .map(|_| self.of(&parts))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

const GUILDS: [&str; 4] = ["core", "g-one", "g-two", "g-three"];
const MACHINES: [&str; 3] = ["local", "m-one", "m-two"];
const AGENTS: [&str; 5] = ["a-one", "a-two", "a-three", "a-four", "a-five"];
const CONNECTORS: [&str; 3] = ["c-one", "c-two", "c-three"];
const COLUMNS: [&str; 5] = ["email", "amount", "met_at", "tags", "vip"];
const TYPES: [&str; 5] = ["text", "number", "datetime", "array", "boolean"];

/// What the documents so far brought: only new objects need all of their fields.
#[derive(Default)]
pub(crate) struct World {
    known: BTreeSet<String>,
}

impl World {
    /// Whether an object may leave fields out, and from now on it is known.
    pub(crate) fn meet(&mut self, kind: &str, id: &str) -> bool {
        !self.known.insert(format!("{kind} {id}"))
    }

    fn has(&self, kind: &str, ids: &[&'static str]) -> Vec<&'static str> {
        let known = |id: &&str| self.known.contains(&format!("{kind} {id}"));
        ids.iter().copied().filter(known).collect()
    }

    /// A document that is right, over objects that are known and new ones.
    pub(crate) fn document(&mut self, random: &mut Random) -> Value {
        let mut document = Map::new();
        let mut add = |kind: &str, objects: Vec<Value>| {
            if !objects.is_empty() {
                document.insert(kind.to_owned(), objects.into());
            }
        };
        add("guilds", self.guilds(random));
        add("machines", self.machines(random));
        add("agents", self.agents(random));
        add("connectors", self.connectors(random));
        add("bindings", self.bindings(random));
        add("collections", self.collections(random));
        add("notes", self.notes(random));
        add("logins", self.logins(random));
        add("secrets", self.secrets(random));
        document.into()
    }

    fn guilds(&mut self, random: &mut Random) -> Vec<Value> {
        let mut list = Vec::new();
        for id in GUILDS {
            if random.chance(40) {
                self.meet("guild", id);
                let mut guild = json!({ "id": id });
                if random.chance(60) {
                    let repositories: Vec<Value> = (0..random.below(3))
                        .map(|n| json!({ "name": format!("r{n}"), "url": format!("https://example.com/{n}-{}", random.below(3)) }))
                        .collect();
                    guild["repositories"] = repositories.into();
                }
                list.push(guild);
            }
        }
        list
    }

    fn machines(&mut self, random: &mut Random) -> Vec<Value> {
        let mut list = Vec::new();
        for id in MACHINES {
            if random.chance(30) {
                let mut machine = json!({ "id": id });
                if !self.meet("machine", id) || random.chance(50) {
                    machine["address"] =
                        format!("https://127.0.0.1:{}", 1 + random.below(9)).into();
                }
                list.push(machine);
            }
        }
        list
    }

    fn agents(&mut self, random: &mut Random) -> Vec<Value> {
        let (guilds, machines) = (self.has("guild", &GUILDS), self.has("machine", &MACHINES));
        let mut list = Vec::new();
        for (nth, id) in AGENTS.into_iter().enumerate() {
            if !random.chance(40) {
                continue;
            }
            let known = self.meet("agent", id);
            let mut agent = json!({ "id": id });
            if !known || random.chance(40) {
                agent["guild"] = random.of(&guilds).into();
            }
            if !known || random.chance(40) {
                agent["machine"] = random.of(&machines).into();
            }
            if !known || random.chance(40) {
                // Each agent has slots of its own.
                agent["slot"] = (nth * 8 + random.below(8)).into();
            }
            let mut config = Map::new();
            for flag in ["browser", "coding", "scripting", "memory"] {
                if random.chance(30) {
                    config.insert(flag.to_owned(), random.chance(50).into());
                }
            }
            if random.chance(30) {
                config.insert("max_scripts".to_owned(), random.below(20).into());
            }
            if !config.is_empty() {
                agent["config"] = config.into();
            }
            list.push(agent);
        }
        list
    }

    fn connectors(&mut self, random: &mut Random) -> Vec<Value> {
        let mut list = Vec::new();
        for id in CONNECTORS {
            if !random.chance(30) {
                continue;
            }
            let mut connector = json!({ "id": id });
            if !self.meet("connector", id) || random.chance(50) {
                connector["kind"] = random.of(&["tavily", "mcp", "github"]).into();
                connector["url"] = format!("https://example.com/{}", random.below(4)).into();
            }
            if random.chance(50) {
                let mut filters = Map::new();
                for tool in ["search", "extract", "a tool"] {
                    if random.chance(50) {
                        filters.insert(tool.to_owned(), format!("jq:.{}", random.below(3)).into());
                    }
                }
                connector["filters"] = filters.into();
            }
            list.push(connector);
        }
        list
    }

    /// Adds exactly one of agent, guild and organisation; answers its name.
    fn target(&self, random: &mut Random, object: &mut Value) -> String {
        let (guilds, agents) = (self.has("guild", &GUILDS), self.has("agent", &AGENTS));
        match random.below(3) {
            0 if !agents.is_empty() => {
                let agent = random.of(&agents);
                object["agent"] = agent.into();
                format!("agent {agent}")
            }
            1 => {
                let guild = random.of(&guilds);
                object["guild"] = guild.into();
                format!("guild {guild}")
            }
            _ => {
                object["organisation"] = true.into();
                "organisation".to_owned()
            }
        }
    }

    fn bindings(&mut self, random: &mut Random) -> Vec<Value> {
        let connectors = self.has("connector", &CONNECTORS);
        let mut seen = BTreeSet::new();
        let mut list = Vec::new();
        for _ in 0..random.below(5) {
            let mut binding = json!({});
            let name = if random.chance(30) && !connectors.is_empty() {
                let name = random.of(&connectors);
                binding["connector"] = name.into();
                name
            } else {
                let name = random.of(&[
                    "note",
                    "note_delete",
                    "record_add",
                    "memory_write",
                    "group_post",
                    "schedule",
                ]);
                binding["tool"] = name.into();
                name
            };
            let target = self.target(random, &mut binding);
            binding["enabled"] = random.chance(50).into();
            if seen.insert((name, target)) {
                list.push(binding);
            }
        }
        list
    }

    fn access(&self, random: &mut Random, own: Option<&str>) -> Vec<Value> {
        let mut seen = BTreeSet::new();
        let mut list = Vec::new();
        for _ in 0..random.below(4) {
            let mut row = json!({});
            let target = self.target(random, &mut row);
            row["access"] = random.of(&["none", "read", "write"]).into();
            if (own != row["agent"].as_str() || own.is_none()) && seen.insert(target) {
                list.push(row);
            }
        }
        list
    }

    fn collections(&mut self, random: &mut Random) -> Vec<Value> {
        let mut list = Vec::new();
        for name in ["contacts", "deals"] {
            if !random.chance(40) {
                continue;
            }
            let mut collection = json!({ "name": name });
            if !self.meet("collection", name) || random.chance(50) {
                let mut columns = Vec::new();
                let mut unique = String::new();
                for (column, kind) in COLUMNS.into_iter().zip(TYPES) {
                    if columns.is_empty() || random.chance(60) {
                        let mut column = json!({ "name": column, "type": kind });
                        if random.chance(30) {
                            column["required"] = random.chance(50).into();
                        }
                        if matches!(kind, "text" | "array") && random.chance(40) {
                            column["values"] = json!(["lead", "client", random.text() + "x"]);
                        }
                        if matches!(kind, "text" | "number" | "datetime") && random.chance(30) {
                            unique = column["name"].as_str().unwrap_or_default().to_owned();
                        }
                        columns.push(column);
                    }
                }
                collection["columns"] = columns.into();
                collection["unique"] = unique.into();
            }
            if random.chance(40) {
                collection["description"] = random.text().into();
            }
            if random.chance(60) {
                collection["access"] = self.access(random, None).into();
            }
            list.push(collection);
        }
        list
    }

    fn notes(&mut self, random: &mut Random) -> Vec<Value> {
        let mut paths = vec!["org/handbook.md".to_owned(), "org/A b_c-1.md".to_owned()];
        for guild in self.has("guild", &GUILDS) {
            paths.push(format!("guild/{guild}/plan.md"));
        }
        for agent in self.has("agent", &AGENTS) {
            for key in ["task.md", "memory.md", "own.md"] {
                paths.push(format!("agent/{agent}/{key}"));
            }
        }
        let mut list = Vec::new();
        for path in paths {
            if !random.chance(15) {
                continue;
            }
            let mut note = json!({ "path": path });
            if !self.meet("note", &path) || random.chance(60) {
                note["content"] = random.text().into();
            }
            let own = path
                .strip_prefix("agent/")
                .and_then(|rest| rest.split('/').next());
            if random.chance(60) && !path.ends_with("memory.md") {
                note["access"] = self.access(random, own).into();
            }
            list.push(note);
        }
        list
    }

    fn logins(&mut self, random: &mut Random) -> Vec<Value> {
        let connectors = self.has("connector", &CONNECTORS);
        let mut seen = BTreeSet::new();
        let mut list = Vec::new();
        if connectors.is_empty() {
            return list;
        }
        for _ in 0..random.below(3) {
            let connector = random.of(&connectors);
            let mut login = json!({ "connector": connector });
            let target = self.target(random, &mut login);
            if random.chance(50) {
                login["platform"] = random.chance(50).into();
            }
            if random.chance(60) {
                login["status"] = random.of(&["pending", "connected", "disconnected"]).into();
            }
            if random.chance(50) {
                login["key"] = format!("key-{}-{connector}", random.below(3)).into();
            }
            if random.chance(50) {
                login["tools"] = json!({ random.of(&["search", "extract"]): random.chance(50) });
            }
            if seen.insert((connector, target)) {
                list.push(login);
            }
        }
        list
    }

    fn secrets(&mut self, random: &mut Random) -> Vec<Value> {
        let agents = self.has("agent", &AGENTS);
        let mut list = Vec::new();
        for name in ["STRIPE_KEY", "TAVILY", "K_3"] {
            if !random.chance(30) {
                continue;
            }
            let mut secret = json!({ "name": name });
            if !self.meet("secret", name) || random.chance(50) {
                secret["value"] = format!("value {} {}", random.below(3), random.text()).into();
            }
            if random.chance(40) {
                secret["description"] = random.text().into();
            }
            if random.chance(60) {
                let granted = |agent: &&&str| !agent.is_empty();
                let mut grants: Vec<&str> = agents.iter().filter(granted).copied().collect();
                grants.retain(|_| random.chance(50));
                secret["grants"] = json!(grants);
            }
            list.push(secret);
        }
        list
    }
}
