//! References that lead nowhere or never end, opened: what they said is lost, the rest stays.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::super::positions::{everywhere, inside};

/// Keywords that refer.
const REFERS: [&str; 2] = ["$ref", "$dynamicRef"];

/// A schema each of whose references is a place in it that a value comes to an end at.
pub(super) fn mend(mut root: Value) -> Value {
    localise(&mut root);
    if let Value::Object(map) = &mut root {
        // Nothing refers to it any more.
        map.shift_remove("$id");
    }
    for (place, keyword) in Graph::of(&root).bad() {
        if let Some(Value::Object(map)) = root.pointer_mut(&place) {
            map.shift_remove(keyword);
        }
    }
    root
}

/// Writes references to anchors, to the root's own id and with escapes as plain pointers.
fn localise(root: &mut Value) {
    let id = root
        .get("$id")
        .and_then(Value::as_str)
        .map(|id| id.trim_end_matches('#').to_owned());
    let mut anchors = BTreeMap::new();
    collect_anchors(root, "", &mut anchors);
    everywhere(root, &mut |schema| {
        for keyword in REFERS {
            if let Some(Value::String(target)) = schema.get_mut(keyword) {
                let local = id
                    .as_deref()
                    .filter(|id| !id.is_empty())
                    .and_then(|id| target.strip_prefix(id))
                    .unwrap_or(target);
                let local = if local.is_empty() { "#" } else { local };
                let Some(fragment) = local.strip_prefix('#') else {
                    continue;
                };
                let plain = unescaped(fragment);
                *target = match anchors.get(&plain) {
                    Some(place) => format!("#{place}"),
                    None => format!("#{plain}"),
                };
            }
        }
    });
}

fn collect_anchors(node: &Value, at: &str, anchors: &mut BTreeMap<String, String>) {
    for key in ["$anchor", "$dynamicAnchor"] {
        if let Some(name) = node.get(key).and_then(Value::as_str) {
            anchors.insert(name.to_owned(), at.to_owned());
        }
    }
    for (place, inner, _) in inside(node, at) {
        collect_anchors(inner, &place, anchors);
    }
}

/// Percent-escapes of a fragment (RFC 3986) resolved, when they are text.
fn unescaped(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digit = |at: usize| char::from(*tail.get(at)?).to_digit(16);
        let pair = (first == b'%').then(|| digit(0).zip(digit(1))).flatten();
        if let Some((high, low)) = pair {
            bytes.push(u8::try_from(high * 16 + low).unwrap_or(first));
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}

/// Which schemas look at the same value as which.
struct Graph {
    places: Vec<String>,
    /// Schemas that look at what this one looks at.
    next: Vec<Vec<(usize, Option<&'static str>)>>,
    /// References to no schema.
    lost: Vec<(usize, &'static str)>,
}

impl Graph {
    fn of(root: &Value) -> Self {
        let mut nodes: Vec<(String, &Value)> = vec![(String::new(), root)];
        let mut next: Vec<Vec<(usize, Option<&'static str>)>> = vec![Vec::new()];
        let mut at = 0;
        while at < nodes.len() {
            let (place, node) = nodes[at].clone();
            for (place, inner, is_same) in inside(node, &place) {
                if is_same {
                    next[at].push((nodes.len(), None));
                }
                nodes.push((place, inner));
                next.push(Vec::new());
            }
            at += 1;
        }
        let by_place: HashMap<&str, usize> = nodes
            .iter()
            .enumerate()
            .map(|(index, (place, _))| (place.as_str(), index))
            .collect();
        let mut lost = Vec::new();
        for (index, (_, node)) in nodes.iter().enumerate() {
            for keyword in REFERS {
                let Some(target) = node.get(keyword) else {
                    continue;
                };
                let found = target
                    .as_str()
                    .and_then(|target| target.strip_prefix('#'))
                    .and_then(|place| by_place.get(place));
                match found {
                    Some(found) => next[index].push((*found, Some(keyword))),
                    None => lost.push((index, keyword)),
                }
            }
        }
        Self {
            places: nodes.into_iter().map(|(place, _)| place).collect(),
            next,
            lost,
        }
    }

    /// The references to take out: those to nothing, and those that close a circle.
    fn bad(&self) -> Vec<(String, &'static str)> {
        let mut bad: BTreeSet<(usize, &'static str)> = self.lost.iter().copied().collect();
        let (mut entered, mut left) = (vec![false; self.next.len()], vec![false; self.next.len()]);
        for start in 0..self.next.len() {
            // By a stack of its own: a chain of references may be longer than the thread's.
            let mut way = vec![(start, 0)];
            while let Some((node, edge)) = way.pop() {
                entered[node] = true;
                let Some(&(target, keyword)) = self.next[node].get(edge) else {
                    left[node] = true;
                    continue;
                };
                way.push((node, edge + 1));
                if !entered[target] {
                    way.push((target, 0));
                } else if !left[target]
                    && let Some(keyword) = keyword
                {
                    bad.insert((node, keyword));
                }
            }
        }
        bad.into_iter()
            .map(|(node, keyword)| (self.places[node].clone(), keyword))
            .collect()
    }
}
