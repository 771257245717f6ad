//! A client: asks, and waits for answers or does not.

use std::cell::RefCell;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use aplomb_broker::ports::{ConnectionId, Reply, RequestId, Waited};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::{RequestHeader, ResponseHeader};
use aplomb_protocol::{Message, Reader, Request, Writer};
use bytes::{Bytes, BytesMut};

use super::requests::{Batch, Fetch, Place, Produce};
use super::world::World;

/// A client that waits longer than this waits for ever.
const PATIENCE: Duration = Duration::from_secs(200);
/// A consumer that polls more often than this does not get on.
const MOST_POLLS: usize = 1000;
/// Bytes that say how long a frame is.
const LENGTH: usize = 4;

/// A request as a test writes it, and its answer as a test reads it.
pub(crate) trait Ask {
    type Request: Request;
    type Answer: Debug;
    const VERSION: i16;

    fn request(&self) -> Self::Request;
    fn answer(response: <Self::Request as Request>::Response) -> Self::Answer;
}

/// A request as the wire has it, of the version that `V` says, and its answer as the wire has it.
pub(crate) struct AsIs<Q, const V: i16>(pub(crate) Q);

impl<Q: Request, const V: i16> Ask for AsIs<Q, V> {
    type Request = Q;
    type Answer = Q::Response;
    const VERSION: i16 = V;

    fn request(&self) -> Q {
        self.0.clone()
    }

    fn answer(response: Q::Response) -> Q::Response {
        response
    }
}

/// A connection to the broker.
#[derive(Clone)]
pub(crate) struct Client {
    pub(super) world: Rc<RefCell<World>>,
    pub(super) connection: ConnectionId,
    /// Its client id.
    pub(super) name: &'static str,
}

impl Client {
    pub(crate) fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// The same client when it has just produced much, to a topic that is not there.
    pub(crate) fn busy(self) -> Self {
        let produced = self.ask(Produce::to("nowhere", Batch::of_size(200_000)));
        assert_eq!(produced.error, ErrorCode::UnknownTopicOrPartition);
        self
    }

    /// Sends a request, whatever becomes of it.
    pub(crate) fn send<A: Ask>(&self, ask: A) -> Asked<A> {
        let asked = self.send_along(ask);
        self.world.borrow_mut().settle();
        asked
    }

    /// Sends a request that arrives together with the next ones: it has had the turn that it came
    /// in when they do, and no other.
    pub(crate) fn send_along<A: Ask>(&self, ask: A) -> Asked<A> {
        let mut writer = Writer::new();
        let api = A::Request::KEY;
        let header = RequestHeader {
            request_api_key: api.key(),
            request_api_version: A::VERSION,
            correlation_id: 7,
            client_id: Some(self.name.to_owned()),
        };
        header.encode(&mut writer, api.request_header_version(A::VERSION)).expect("a header can be written");
        ask.request().encode(&mut writer, A::VERSION).expect("a request can be written");
        let frame = writer.freeze();
        let id = self.world.borrow_mut().send(self.connection, frame.clone());
        Asked { world: self.world.clone(), id, frame, asked: PhantomData }
    }

    /// Sends the bytes of a frame.
    pub(crate) fn send_raw(&self, frame: &[u8]) -> Asked<Raw> {
        let frame = Bytes::copy_from_slice(frame);
        let id = self.world.borrow_mut().send(self.connection, frame.clone());
        self.world.borrow_mut().settle();
        Asked { world: self.world.clone(), id, frame, asked: PhantomData }
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask<A: Ask>(&self, ask: A) -> A::Answer {
        self.send(ask).wait()
    }

    /// Reads a partition from an offset to its end, as a consumer that polls until it has all.
    pub(crate) fn read(&self, place: impl Into<Place>, from: i64) -> Vec<String> {
        let (place, mut from, mut values) = (place.into(), from, Vec::new());
        for _ in 0..MOST_POLLS {
            let fetched = self.ask(Fetch::from(place.clone(), from));
            assert_eq!(fetched.refusal(), ErrorCode::None, "{place:?} at {from}");
            from = fetched.offsets().last().map_or(from, |last| last + 1);
            values.extend(fetched.values().into_iter().map(str::to_owned));
            if from >= fetched.partitions[0].high_watermark {
                return values;
            }
        }
        panic!("{place:?} cannot be read from {from} on");
    }

    /// Closes the connection.
    pub(crate) fn close(self) {
        self.world.borrow_mut().close(self.connection);
    }
}

/// A request that was sent.
pub(crate) struct Asked<A> {
    world: Rc<RefCell<World>>,
    id: RequestId,
    frame: Bytes,
    asked: PhantomData<A>,
}

/// Bytes that no test has written as a request.
pub(crate) struct Raw;

impl Asked<Raw> {
    /// Lets time pass until there is an answer: its bytes, behind the length.
    pub(crate) fn wait_for_bytes(self) -> Bytes {
        self.let_time_pass();
        let reply = self.world.borrow_mut().take_reply(self.id);
        let Some(Reply::Frame { parts, .. }) = reply else { panic!("{reply:?} instead of an answer") };
        bytes_of(&parts)
    }
}

impl<A: Ask> Asked<A> {
    /// Reads the answer, which must be there.
    pub(crate) fn answer(self) -> A::Answer {
        let answered = self.world.borrow_mut().take_reply(self.id);
        match answered {
            Some(Reply::Frame { parts, .. }) => decode::<A>(&parts),
            Some(other) => panic!("not answered but {other:?}"),
            None => panic!("not answered yet"),
        }
    }

    /// Lets time pass until there is an answer, and reads it.
    pub(crate) fn wait(self) -> A::Answer {
        self.let_time_pass();
        self.answer()
    }
}

impl<A> Asked<A> {
    /// Whether there is no answer yet.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.world.borrow().is_answered(self.id)
    }

    /// Whether the broker still holds the frame, or a part of it.
    pub(crate) fn is_held(&self) -> bool {
        !self.frame.is_unique()
    }

    /// Lets time pass until there is an answer, and gives the lengths of its pieces.
    pub(crate) fn wait_for_pieces(self) -> Vec<usize> {
        self.let_time_pass();
        let reply = self.world.borrow_mut().take_reply(self.id);
        let Some(Reply::Frame { parts, .. }) = reply else { panic!("{reply:?} instead of an answer") };
        parts.iter().map(Bytes::len).collect()
    }

    /// Lets time pass until there is an answer, and gives for how long the client is throttled.
    pub(crate) fn wait_for_throttle(self) -> Duration {
        self.let_time_pass();
        let reply = self.world.borrow_mut().take_reply(self.id);
        reply.expect("it was waited for").throttle()
    }

    /// Lets time pass until there is an answer, and gives what the request has waited for.
    pub(crate) fn wait_for_waited(self) -> Waited {
        self.let_time_pass();
        let reply = self.world.borrow_mut().take_reply(self.id);
        reply.expect("it was waited for").waited()
    }

    /// Lets time pass until the broker says that there will be no answer (acks=0).
    pub(crate) fn wait_for_nothing(self) {
        self.let_time_pass();
        let reply = self.world.borrow_mut().take_reply(self.id);
        assert!(matches!(reply, Some(Reply::Nothing { .. })), "{reply:?} instead of nothing");
    }

    /// Lets time pass until the broker closes the connection instead of answering.
    pub(crate) fn wait_for_close(self) {
        self.let_time_pass();
        let reply = self.world.borrow_mut().take_reply(self.id);
        assert!(matches!(reply, Some(Reply::Close { .. })), "{reply:?} instead of a closed connection");
    }

    fn let_time_pass(&self) {
        let mut world = self.world.borrow_mut();
        let end = world.now + PATIENCE;
        while !world.is_answered(self.id) {
            assert!(world.step_to(end), "never answered; the log says {:#?}", world.events);
        }
    }
}

/// A copy behind the length, as a client's: slices of the broker's memory are given back.
fn bytes_of(parts: &[Bytes]) -> Bytes {
    let mut frame = BytesMut::new();
    parts.iter().for_each(|part| frame.extend_from_slice(part));
    frame.freeze().slice(LENGTH..)
}

fn decode<A: Ask>(parts: &[Bytes]) -> A::Answer {
    let mut reader = Reader::new(bytes_of(parts));
    let header = A::Request::KEY.response_header_version(A::VERSION);
    ResponseHeader::decode(&mut reader, header).expect("an answer has a header");
    let response = Message::decode(&mut reader, A::VERSION).expect("an answer can be read");
    reader.finish().expect("an answer ends where it should");
    A::answer(response)
}
