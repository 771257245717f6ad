//! What is done before the run, one request after the other: find a broker, make the topic, wait
//! for its leaders.
//!
//! Nothing else here waits for answers; each wait has a limit. [`Asker`] is also for questions that
//! have nothing to do with a load.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::thread::sleep;
use std::time::{Duration, Instant};

use aplomb_model::ErrorCode;
use aplomb_protocol::frame::{FrameCutter, encode_request};
use aplomb_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use aplomb_protocol::messages::{CreateTopicsRequest, CreateTopicsResponse, MetadataResponse};
use aplomb_protocol::{Message, Request};
use bytes::Bytes;

use crate::topic::{Described, TopicView, code_name, describe, question};
use crate::versions::{FIRST_ASKED, Versions, decode, read_answer, versions_request};
use crate::{BenchError, NewTopic, Spec};

/// How long a connection and an answer are waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long leaders are waited for.
const LEADERS: Duration = Duration::from_secs(30);
/// Between two looks for them.
const PAUSE: Duration = Duration::from_millis(100);
/// The largest answer that is believed, in bytes.
const LARGEST_FRAME: usize = 64 * 1024 * 1024;

/// The topic, made if need be, with a leader everywhere.
pub(crate) fn prepare(spec: &Spec) -> Result<TopicView, BenchError> {
    let mut broker = Asker::first_of(&spec.bootstrap, &spec.client_id)?;
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
    socket: TcpStream,
    cutter: FrameCutter,
    versions: Versions,
    client_id: String,
}

impl Asker {
    /// Connects to the first bootstrap broker that answers.
    pub(crate) fn first_of(bootstrap: &[String], client_id: &str) -> Result<Self, BenchError> {
        let mut failed = None;
        for address in bootstrap {
            match Self::connect(address, client_id) {
                Ok(broker) => return Ok(broker),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.expect("the specification names a broker"))
    }

    /// Connects to a broker, as `host:port`, and asks for its versions.
    ///
    /// # Errors
    /// When the address does not answer, or does not speak the protocol.
    pub fn connect(address: &str, client_id: &str) -> Result<Self, BenchError> {
        let unreachable = |error| BenchError::Unreachable { address: address.to_owned(), error };
        let mut last = io::ErrorKind::NotFound.into();
        for resolved in address.to_socket_addrs().map_err(unreachable)? {
            match TcpStream::connect_timeout(&resolved, PATIENCE) {
                Ok(socket) => {
                    socket.set_read_timeout(Some(PATIENCE)).map_err(unreachable)?;
                    let mut broker = Self {
                        address: address.to_owned(),
                        socket,
                        cutter: FrameCutter::new(LARGEST_FRAME),
                        versions: Versions::default(),
                        client_id: client_id.to_owned(),
                    };
                    let answer = read_answer(broker.exchange(&versions_request(), FIRST_ASKED)?)?;
                    broker.versions = Versions::new(&answer);
                    return Ok(broker);
                }
                Err(error) => last = error,
            }
        }
        Err(unreachable(last))
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
        let body = self.exchange(request, version)?;
        decode(T::KEY, version, body).map_err(|error| self.failed(error))
    }

    /// Sends, and returns what follows the correlation id of the answer.
    fn exchange<T: Request>(&mut self, request: &T, version: i16) -> Result<Bytes, BenchError> {
        let frame = encode_request(request, version, 0, &self.client_id)?;
        self.socket.write_all(&frame).map_err(|error| self.failed(error))?;
        let mut buffer = [0; 16 * 1024];
        loop {
            let len = self.socket.read(&mut buffer).map_err(|error| self.failed(error))?;
            if len == 0 {
                return Err(self.failed(io::ErrorKind::UnexpectedEof.into()));
            }
            let mut bytes = &buffer[..len];
            let frame = self.cutter.next_frame(&mut bytes);
            match frame.map_err(|e| self.failed(io::Error::new(io::ErrorKind::InvalidData, e)))? {
                Some(frame) if frame.len() >= 4 && bytes.is_empty() => {
                    return Ok(Bytes::from(frame).slice(4..));
                }
                Some(_) => return Err(self.failed(io::ErrorKind::InvalidData.into())),
                None => {}
            }
        }
    }

    fn failed(&self, error: io::Error) -> BenchError {
        BenchError::Unreachable { address: self.address.clone(), error }
    }
}

pub(crate) fn refused(what: String, code: i16, message: Option<String>) -> BenchError {
    BenchError::Refused { what, code: code_name(code), message }
}
