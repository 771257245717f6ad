//! What is done before the run, one request after the other: find a broker, make the topic, wait
//! for its leaders.
//!
//! Nothing else here waits for answers; each wait has a limit. [`Asker`] is also for questions that
//! have nothing to do with a load.

use std::io::{self, Read as _, Write as _};
use std::net::ToSocketAddrs as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use aplomb_model::ErrorCode;
use aplomb_protocol::frame::{FrameCutter, encode_request};
use aplomb_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use aplomb_protocol::messages::{CreateTopicsRequest, CreateTopicsResponse, MetadataResponse};
use aplomb_protocol::{Message, Request};
use aplomb_security::client::{Channel, ClientSecurity, LARGEST_ANSWER, LoginError, Progress, TlsFault};
use bytes::Bytes;

use crate::entry::{Entry, not_let_in};
use crate::timed::Timed;
use crate::topic::{Described, TopicView, code_name, describe, question};
use crate::versions::{FIRST_ASKED, Versions, decode, malformed, read_answer, versions_request};
use crate::{BenchError, NewTopic, Spec};

/// How long a connection with all that it takes, and then each answer, is waited for, where nothing
/// else is said.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// How long leaders are waited for.
const LEADERS: Duration = Duration::from_secs(30);
/// Between two looks for them.
const PAUSE: Duration = Duration::from_millis(100);
/// The largest answer that is believed, in bytes.
const LARGEST_FRAME: usize = 64 * 1024 * 1024;

/// The topic, made if need be, with a leader everywhere.
pub(crate) fn prepare(spec: &Spec) -> Result<TopicView, BenchError> {
    let mut broker = Asker::first_of(&spec.bootstrap, &spec.entry(), spec.request_timeout)?;
    let give_up = Instant::now() + LEADERS;
    let mut made = false;
    loop {
        let response: MetadataResponse = broker.ask(&question(&spec.topic))?;
        let leaderless = match describe(&spec.topic, &response) {
            Described::There(topic) => match topic.leaders.iter().position(Option::is_none) {
                None => return Ok(topic),
                Some(partition) => partition,
            },
            Described::Refused(code) if code == ErrorCode::UnknownTopicOrPartition.to_wire() => {
                match &spec.create {
                    Some(new) if !made => broker.make(&spec.topic, new)?,
                    Some(_) => {}
                    None => return Err(refused(format!("topic {}", spec.topic), code, None)),
                }
                made = true;
                0
            }
            Described::Refused(code) if code == ErrorCode::LeaderNotAvailable.to_wire() => 0,
            Described::Refused(code) => return Err(refused(format!("topic {}", spec.topic), code, None)),
        };
        if Instant::now() > give_up {
            let topic = spec.topic.clone();
            return Err(BenchError::NoLeader { topic, partition: leaderless, seconds: LEADERS.as_secs() });
        }
        sleep(PAUSE);
    }
}

/// A connection to a broker on which one request is sent and its answer waited for, then the next.
#[derive(Debug)]
pub struct Asker {
    address: String,
    channel: Channel<Timed>,
    cutter: FrameCutter,
    versions: Versions,
    client_id: String,
    patience: Duration,
}

impl Asker {
    /// Connects to the first bootstrap broker that answers.
    pub(crate) fn first_of(
        bootstrap: &[String],
        entry: &Entry,
        patience: Duration,
    ) -> Result<Self, BenchError> {
        let mut failed = None;
        for address in bootstrap {
            match Self::enter(address, entry, patience) {
                Ok(broker) => return Ok(broker),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.expect("the specification names a broker"))
    }

    /// Connects to a broker, as `host:port`, without TLS and a login, and asks for its versions.
    ///
    /// # Errors
    /// When the address does not answer, or does not speak the protocol.
    pub fn connect(address: &str, client_id: &str) -> Result<Self, BenchError> {
        Self::enter(address, &Entry::new(client_id, &ClientSecurity::default()), PATIENCE)
    }

    /// All of it together takes no longer than `patience`, but for the name to be resolved.
    fn enter(address: &str, entry: &Entry, patience: Duration) -> Result<Self, BenchError> {
        let failed = |error| failed(address, patience, error);
        let mut last = io::ErrorKind::NotFound.into();
        let deadline = Instant::now() + patience;
        for resolved in address.to_socket_addrs().map_err(failed)? {
            match Timed::connect(&resolved, deadline) {
                Ok(socket) => {
                    let mut broker = Self {
                        address: address.to_owned(),
                        channel: entry.channel(socket, address).map_err(failed)?,
                        cutter: FrameCutter::new(LARGEST_ANSWER),
                        versions: Versions::default(),
                        client_id: entry.client_id.clone(),
                        patience,
                    };
                    broker.log_in(entry).map_err(failed)?;
                    broker.cutter.set_limit(LARGEST_FRAME);
                    let frame = encode_request(&versions_request(), FIRST_ASKED, 0, &broker.client_id)?;
                    let answer = broker.exchange(&frame).map_err(failed)?;
                    broker.versions = Versions::new(&read_answer(behind_number(&answer).map_err(failed)?)?);
                    return Ok(broker);
                }
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    fn log_in(&mut self, entry: &Entry) -> io::Result<()> {
        let Some((mut login, mut frame)) = entry.login(&self.address)? else { return Ok(()) };
        loop {
            match login.on_frame(&self.exchange(&frame)?).map_err(not_let_in)? {
                Progress::Say(next) => frame = next,
                Progress::Done { .. } => return Ok(()),
            }
        }
    }

    /// Makes a topic; one that is there already is left as it is.
    ///
    /// # Errors
    /// When the broker refuses or has gone.
    pub fn make(&mut self, topic: &str, new: &NewTopic) -> Result<(), BenchError> {
        let config = |(name, value): &(String, String)| CreatableTopicConfig {
            name: name.clone(),
            value: Some(value.clone()),
        };
        let request = CreateTopicsRequest {
            topics: vec![CreatableTopic {
                name: topic.to_owned(),
                num_partitions: new.partitions,
                replication_factor: new.replication_factor,
                configs: new.configs.iter().map(config).collect(),
                ..Default::default()
            }],
            timeout_ms: 30_000,
            ..Default::default()
        };
        let response: CreateTopicsResponse = self.ask(&request)?;
        let known = [ErrorCode::None.to_wire(), ErrorCode::TopicAlreadyExists.to_wire()];
        match response.topics.into_iter().find(|answer| !known.contains(&answer.error_code)) {
            Some(answer) => {
                Err(refused(format!("creating topic {topic}"), answer.error_code, answer.error_message))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Sends a request in the newest version that both sides know, and waits for its answer.
    ///
    /// # Errors
    /// When the broker does not know the request or has gone, or when its answer is not understood.
    pub fn ask<T: Request, R: Message>(&mut self, request: &T) -> Result<R, BenchError> {
        let version = self.versions.pick::<T>(i16::MAX).ok_or(BenchError::NoVersion(T::KEY.name()))?;
        let frame = encode_request(request, version, 0, &self.client_id)?;
        self.channel.socket_mut().wait_until(Instant::now() + self.patience);
        let answer =
            self.exchange(&frame).and_then(|answer| decode(T::KEY, version, behind_number(&answer)?));
        answer.map_err(|error| failed(&self.address, self.patience, error))
    }

    /// Sends a frame, and returns the one that answers it, without its length.
    fn exchange(&mut self, frame: &[u8]) -> io::Result<Bytes> {
        self.channel.write_all(frame)?;
        self.channel.flush()?;
        let mut buffer = [0; 16 * 1024];
        loop {
            let len = self.channel.read(&mut buffer)?;
            if len == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = &buffer[..len];
            match self.cutter.next_frame(&mut bytes).map_err(malformed)? {
                Some(frame) if bytes.is_empty() => return Ok(frame.into()),
                Some(_) => return Err(malformed("more than one answer to a request")),
                None => {}
            }
        }
    }
}

/// What follows the number of the request in an answer.
fn behind_number(answer: &Bytes) -> io::Result<Bytes> {
    if answer.len() < 4 {
        return Err(malformed("an answer without a number"));
    }
    Ok(answer.slice(4..))
}

/// What has gone wrong on a connection, in words that say what to change.
fn failed(address: &str, patience: Duration, error: io::Error) -> BenchError {
    let address = address.to_owned();
    let inner = error.get_ref();
    if let Some(fault) = inner.and_then(|inner| inner.downcast_ref::<TlsFault>()) {
        return BenchError::Tls { address, fault: fault.clone() };
    }
    if let Some(login) = inner.and_then(|inner| inner.downcast_ref::<LoginError>()) {
        return BenchError::Login { address, error: login.clone() };
    }
    let error = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::new(io::ErrorKind::TimedOut, format!("it has not answered within {patience:?}"))
        }
        io::ErrorKind::UnexpectedEof => io::Error::new(
            error.kind(),
            "it has closed the connection; does it want TLS or a login, or others (security.protocol)?",
        ),
        _ => error,
    };
    BenchError::Unreachable { address, error }
}

pub(crate) fn refused(what: String, code: i16, message: Option<String>) -> BenchError {
    BenchError::Refused { what, code: code_name(code), message }
}
