//! The frames of a tab, each with an isolated world that holds the page script.

use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::dom::DescribeNodeParams;
use chromiumoxide::cdp::browser_protocol::page::{CreateIsolatedWorldParams, FrameId};
use chromiumoxide::cdp::js_protocol::runtime::{
    CallArgument, CallFunctionOnParams, EvaluateParams, ExecutionContextId, RemoteObjectId,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::problem::Problem;
use crate::session::Session;
use crate::watch::shortened;
use crate::wire::{Declined, Ticket, went_away};

/// Frames beyond this many are marked as not read.
const MOST_FRAMES: usize = 100;
/// Frames nested deeper than this are marked as not read.
const MOST_DEPTH: usize = 8;
/// A frame that is busy for longer is marked as not read.
const FRAME_ANSWER: Duration = Duration::from_secs(5);
const WORLD: &str = "guilds";

/// The page script: a function of the name it is to be found by; answers the number of frames.
pub(crate) const SCRIPT: &str = concat!(
    "((worldName) => { 'use strict';\n",
    include_str!("page/dom.js"),
    include_str!("page/role.js"),
    include_str!("page/name.js"),
    include_str!("page/text.js"),
    include_str!("page/layout.js"),
    include_str!("page/css_tokens.js"),
    include_str!("page/css.js"),
    include_str!("page/css_match.js"),
    include_str!("page/role_query.js"),
    include_str!("page/selector.js"),
    include_str!("page/engine.js"),
    include_str!("page/spot.js"),
    include_str!("page/usable.js"),
    include_str!("page/snapshot.js"),
    include_str!("page/hint.js"),
    include_str!("page/ready.js"),
    include_str!("page/click.js"),
    include_str!("page/field.js"),
    include_str!("page/scroll.js"),
    include_str!("page/report.js"),
    include_str!("page/entry.js"),
    "})"
);

/// A frame that can be asked.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Chrome's session it answers in.
    pub session: String,
    /// Its isolated world.
    pub context: i64,
    /// The frame around it and its place among that frame's frames.
    pub parent: Option<(usize, usize)>,
    /// Its own frames that could not be read, by their place.
    pub unread: Vec<usize>,
    depth: usize,
}

/// A frame about to be entered.
struct Door {
    frame: String,
    session: String,
    parent: Option<(usize, usize)>,
    depth: usize,
}

impl Session {
    /// Enters every frame that the tree shows, the main frame first and every
    /// frame before its own frames' followers: the order that `nth=` counts in.
    ///
    /// # Errors
    /// `Problem::Moved` when the main document goes away meanwhile.
    pub async fn frames(&mut self) -> Result<Vec<Frame>, Problem> {
        let main = self
            .wire
            .watch
            .main_frame
            .clone()
            .ok_or_else(|| Problem::Failed("the tab has no main frame".to_owned()))?;
        let mut doors = vec![Door {
            frame: main,
            session: self.tab()?,
            parent: None,
            depth: 0,
        }];
        let mut frames: Vec<Frame> = Vec::new();
        while let Some(door) = doors.pop() {
            let parent = door.parent;
            let entered = match timeout(FRAME_ANSWER, self.enter(&door)).await {
                Ok(entered) => entered,
                Err(_) if parent.is_some() => Err(Problem::Moved),
                Err(_) => Err(Problem::Stuck),
            };
            match entered {
                Ok((frame, count)) if frames.len() < MOST_FRAMES => {
                    frames.push(frame);
                    let at = frames.len() - 1;
                    let inner = self.doors(&mut frames, at, count).await?;
                    doors.extend(inner.into_iter().rev());
                }
                Ok(_) | Err(Problem::Moved | Problem::Failed(_)) if parent.is_some() => {
                    if let Some((of, place)) = parent {
                        frames[of].unread.push(place);
                    }
                }
                Ok(_) => {}
                Err(problem) => return Err(problem),
            }
        }
        Ok(frames)
    }

    /// The main frame alone.
    pub(crate) async fn main_frame(&mut self) -> Result<Frame, Problem> {
        let main = self
            .wire
            .watch
            .main_frame
            .clone()
            .ok_or_else(|| Problem::Failed("the tab has no main frame".to_owned()))?;
        let door = Door {
            frame: main,
            session: self.tab()?,
            parent: None,
            depth: 0,
        };
        self.enter(&door).await.map(|(frame, _)| frame)
    }

    async fn enter(&mut self, door: &Door) -> Result<(Frame, usize), Problem> {
        let (context, count) = match self.enter_again(door).await? {
            Some(known) => known,
            None => self.enter_anew(door).await?,
        };
        let frame = Frame {
            session: door.session.clone(),
            context,
            parent: door.parent,
            unread: Vec::new(),
            depth: door.depth,
        };
        Ok((frame, usize::try_from(count).unwrap_or_default()))
    }

    /// The world that an earlier look at the same document left there, and its number of frames.
    async fn enter_again(&mut self, door: &Door) -> Result<Option<(i64, u64)>, Problem> {
        let Some(context) = self.memory.worlds.of(&door.frame) else {
            return Ok(None);
        };
        // No page knows the name, so that what answers to it is the page script.
        let again = format!(
            "function () {{ return globalThis[{:?}]?.collectFrames() ?? null; }}",
            self.memory.worlds.name
        );
        let mut call = CallFunctionOnParams::new(again);
        call.execution_context_id = Some(ExecutionContextId::new(context));
        call.return_by_value = Some(true);
        let ticket = self.wire.submit(Some(&door.session), call)?;
        match self.value(ticket).await {
            Ok(count) => Ok(count.as_u64().map(|count| (context, count))),
            Err(Problem::Moved) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    async fn enter_anew(&mut self, door: &Door) -> Result<(i64, u64), Problem> {
        let mut world = CreateIsolatedWorldParams::new(FrameId::new(door.frame.clone()));
        world.world_name = Some(WORLD.to_owned());
        let reply = self.wire.call(Some(&door.session), world).await?;
        let context = reply
            .get("executionContextId")
            .and_then(Value::as_i64)
            .ok_or_else(|| {
                Problem::Failed("Page.createIsolatedWorld answered no context".to_owned())
            })?;
        let name = &self.memory.worlds.name;
        let mut script = EvaluateParams::new(format!("{SCRIPT}({name:?})"));
        script.context_id = Some(ExecutionContextId::new(context));
        script.return_by_value = Some(true);
        let ticket = self.wire.submit(Some(&door.session), script)?;
        let count = self.value(ticket).await?.as_u64().unwrap_or_default();
        self.memory.worlds.enter(&door.frame, context);
        Ok((context, count))
    }

    /// The doors to the frames inside a frame; what has none is marked.
    async fn doors(
        &mut self,
        frames: &mut [Frame],
        at: usize,
        count: usize,
    ) -> Result<Vec<Door>, Problem> {
        let mut doors = Vec::new();
        for place in 0..count {
            let reachable = place < MOST_FRAMES && frames[at].depth < MOST_DEPTH;
            let found = if reachable {
                self.frame_behind(&frames[at].clone(), place).await?
            } else {
                None
            };
            match found {
                Some(frame) => {
                    let own = self.wire.watch.frame_sessions.get(&frame).cloned();
                    let session = own.unwrap_or_else(|| frames[at].session.clone());
                    doors.push(Door {
                        frame,
                        session,
                        parent: Some((at, place)),
                        depth: frames[at].depth + 1,
                    });
                }
                None => frames[at].unread.push(place),
            }
        }
        Ok(doors)
    }

    async fn frame_behind(
        &mut self,
        frame: &Frame,
        place: usize,
    ) -> Result<Option<String>, Problem> {
        let world = &self.memory.worlds.name;
        let mut call = function(world, frame, "frameElement", &[Value::from(place)]);
        call.return_by_value = Some(false);
        let reply = self.wire.call(Some(&frame.session), call).await?;
        let Some(object) = reply.pointer("/result/objectId").and_then(Value::as_str) else {
            return Ok(None);
        };
        let object_id = Some(RemoteObjectId::new(object.to_owned()));
        let describe = DescribeNodeParams {
            object_id,
            ..DescribeNodeParams::default()
        };
        let reply = self.wire.call(Some(&frame.session), describe).await?;
        Ok(reply
            .pointer("/node/frameId")
            .and_then(Value::as_str)
            .map(str::to_owned))
    }

    /// Calls a function of the page script in a frame.
    pub(crate) async fn ask(
        &mut self,
        frame: &Frame,
        name: &str,
        arguments: &[Value],
    ) -> Result<Value, Problem> {
        let ticket = self.asking(frame, name, arguments)?;
        self.value(ticket).await
    }

    /// The same, without waiting for the answer.
    pub(crate) fn asking(
        &mut self,
        frame: &Frame,
        name: &str,
        arguments: &[Value],
    ) -> Result<Ticket, Problem> {
        let call = function(&self.memory.worlds.name, frame, name, arguments);
        self.wire.submit(Some(&frame.session), call)
    }

    /// The value a call in the page came to.
    pub(crate) async fn value(&mut self, ticket: Ticket) -> Result<Value, Problem> {
        let mut reply = match self.wire.reply(ticket).await? {
            Ok(reply) => reply,
            Err(Declined(why)) if went_away(&why) => return Err(Problem::Moved),
            Err(Declined(why)) => {
                return Err(Problem::Failed(format!(
                    "the page could not be asked: {why}"
                )));
            }
        };
        if let Some(exception) = reply.get("exceptionDetails") {
            let text = exception
                .pointer("/exception/description")
                .or_else(|| exception.get("text"))
                .and_then(Value::as_str);
            return Err(Problem::Failed(format!(
                "the page script failed: {}",
                shortened(text.unwrap_or_default(), 500)
            )));
        }
        let value = reply
            .pointer_mut("/result/value")
            .map(Value::take)
            .unwrap_or_default();
        match value.get("refused").and_then(Value::as_str) {
            Some(sentence) => Err(Problem::refused(sentence)),
            None => Ok(value),
        }
    }
}

fn function(world: &str, frame: &Frame, name: &str, arguments: &[Value]) -> CallFunctionOnParams {
    let mut call = CallFunctionOnParams::new(format!(
        "function (...given) {{ return globalThis[{world:?}].{name}(...given); }}"
    ));
    call.execution_context_id = Some(ExecutionContextId::new(frame.context));
    call.return_by_value = Some(true);
    call.await_promise = Some(true);
    call.arguments = Some(
        arguments
            .iter()
            .map(|value| CallArgument {
                value: Some(value.clone()),
                unserializable_value: None,
                object_id: None,
            })
            .collect(),
    );
    call
}
