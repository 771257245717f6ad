//! A producer or a consumer with its connections: one to every broker that leads a partition of its own, opened again when it breaks.
//!
//! What always holds: nothing here waits, except for a broker's name to be resolved when it is first met. A request whose connection breaks is
//! handed back to whoever made it; a connection whose oldest request has no answer in time is broken.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use aplomb_model::Instant;
use aplomb_protocol::frame::encode_request;
use aplomb_protocol::messages::{
    ApiVersionsRequest, FetchRequest, FetchResponse, InitProducerIdRequest, InitProducerIdResponse,
    ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse, ProduceRequest,
    ProduceResponse,
};
use aplomb_protocol::{ApiKey, Message, Reader, Request};
use bytes::Bytes;

use crate::connection::{Came, Connection};
use crate::consumer::{Ask, Consumer, OffsetsOf};
use crate::producer::{Producer, Sent};
use crate::stats::Stats;
use crate::topic::{Described, TopicView, code_name, describe, question};
use crate::versions::{FIRST_ASKED, Versions, limit_without_id, read_answer};

/// How long a broken connection stays away (`reconnect.backoff.ms`), and how often metadata are asked for.
const BACKOFF: Duration = Duration::from_millis(100);
/// Metadata are asked for this often without a reason (`metadata.max.age.ms`, shorter).
const METADATA_AGE: Duration = Duration::from_secs(60);

/// What a client is.
#[derive(Debug)]
pub(crate) enum Role {
    Producer(Box<Producer>),
    Consumer(Consumer),
}

/// How clients behave, the same for all of a run.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    pub(crate) client_id: String,
    pub(crate) bootstrap: Vec<String>,
    pub(crate) request_timeout: Duration,
    /// Requests without an answer, per connection of a producer.
    pub(crate) max_in_flight: usize,
    pub(crate) acks: i16,
}

/// A role and its connections.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) role: Role,
    habits: Habits,
    topic: TopicView,
    links: Vec<Link>,
    metadata: Freshness,
    next_bootstrap: usize,
}

/// A broker, and the connection to it if there is one.
#[derive(Debug)]
struct Link {
    /// `None`: a broker to begin with, for metadata only.
    broker: Option<i32>,
    address: String,
    resolved: Option<SocketAddr>,
    state: LinkState,
}

#[derive(Debug)]
enum LinkState {
    Down { until: Instant },
    Up { connection: Box<Connection<Asked>>, versions: Option<Versions> },
}

/// Whether the metadata are to be asked for.
#[derive(Clone, Copy, Debug)]
enum Freshness {
    Fresh { until: Instant },
    Stale { not_before: Instant },
    Asked,
}

/// What is remembered of a request until its answer.
#[derive(Debug)]
pub(crate) enum Asked {
    Versions,
    Metadata(i16),
    ProducerId(i16),
    Produce(i16, Vec<Sent>),
    Offsets(i16, OffsetsOf),
    Fetch(i16, Instant),
}

/// A new socket is to be watched under the link's number.
pub(crate) trait Watch {
    fn watch(&mut self, socket: BorrowedFd<'_>, link: usize) -> io::Result<()>;
}

impl Client {
    pub(crate) fn new(role: Role, habits: Habits, topic: TopicView) -> Self {
        let fresh = Freshness::Fresh { until: Instant::START + METADATA_AGE };
        Self { role, habits, topic, links: Vec::new(), metadata: fresh, next_bootstrap: 0 }
    }

    /// Whether it could begin.
    pub(crate) fn is_ready(&self) -> bool {
        let role = match &self.role {
            Role::Producer(producer) => producer.is_ready(),
            Role::Consumer(consumer) => consumer.is_ready(),
        };
        role && self
            .links
            .iter()
            .filter(|link| link.broker.is_some())
            .all(|link| matches!(link.state, LinkState::Up { versions: Some(_), .. }))
    }

    /// Does what can be done now.
    pub(crate) fn turn(&mut self, now: Instant, watch: &mut dyn Watch, stats: &mut Stats) {
        if let Role::Producer(producer) = &mut self.role {
            producer.advance(now, stats);
        }
        self.end_overdue(now, stats);
        self.connect(now, watch, stats);
        for link in 0..self.links.len() {
            if let Err(error) = self.ask_and_end(link, now, stats) {
                self.break_link(link, &error, now, stats);
            }
        }
    }

    /// A socket can be read or written.
    pub(crate) fn on_socket(&mut self, link: usize, now: Instant, stats: &mut Stats) {
        if let Err(error) = self.exchange(link, now, stats) {
            self.break_link(link, &error, now, stats);
        }
    }

    /// When it wants a turn, if no socket asks for one before.
    pub(crate) fn wake_at(&self, now: Instant) -> Option<Instant> {
        let role = match &self.role {
            Role::Producer(producer) => producer.wake_at(now),
            Role::Consumer(consumer) => consumer.wake_at(now),
        };
        // What lies in the past has been tried, and waits for something else to happen.
        let links = self.links.iter().filter_map(|link| match &link.state {
            LinkState::Down { until } => Some(*until).filter(|until| *until > now),
            LinkState::Up { connection, .. } => {
                connection.oldest().map(|sent| sent + self.habits.request_timeout)
            }
        });
        let metadata = match self.metadata {
            Freshness::Fresh { until: next } | Freshness::Stale { not_before: next } => Some(next),
            Freshness::Asked => None,
        };
        role.into_iter().chain(links).chain(metadata.filter(|next| *next > now)).min()
    }

    /// Whether something could be sent at once.
    pub(crate) fn has_room(&self) -> bool {
        self.links.iter().any(|link| match &link.state {
            LinkState::Up { connection, .. } => connection.in_flight() < self.habits.max_in_flight,
            LinkState::Down { .. } => false,
        })
    }

    /// The run is over.
    pub(crate) fn give_up(&mut self, now: Instant, stats: &mut Stats) {
        let mut lost = Vec::new();
        for link in self.links.drain(..) {
            if let LinkState::Up { connection, .. } = link.state {
                for asked in connection.into_waiting() {
                    if let Asked::Produce(_, sent) = asked {
                        lost.extend(sent);
                    }
                }
            }
        }
        if let Role::Producer(producer) = &mut self.role {
            producer.give_up(lost, now, stats);
        }
    }

    fn end_overdue(&mut self, now: Instant, stats: &mut Stats) {
        for link in 0..self.links.len() {
            let LinkState::Up { connection, .. } = &self.links[link].state else { continue };
            if connection.oldest().is_some_and(|sent| now.since(sent) >= self.habits.request_timeout) {
                let error = io::Error::new(io::ErrorKind::TimedOut, "request timed out");
                self.break_link(link, &error, now, stats);
            }
        }
    }

    /// Opens what is missing: to the leaders of the client's partitions, or to anybody while there is no leader.
    fn connect(&mut self, now: Instant, watch: &mut dyn Watch, stats: &mut Stats) {
        let mut wanted: Vec<i32> = match &self.role {
            Role::Producer(producer) => self.topic.leaders_of(producer.partitions()).collect(),
            Role::Consumer(consumer) => consumer.leaders(&self.topic).collect(),
        };
        wanted.sort_unstable();
        wanted.dedup();
        let idle = |link: &Link| match &link.state {
            LinkState::Up { connection, .. } => connection.in_flight() == 0,
            LinkState::Down { .. } => true,
        };
        // A link that nobody wants goes when nothing is under way on it. Numbers of links are what sockets are watched under, so only the last may.
        while self.links.last().is_some_and(|l| idle(l) && l.broker.is_some_and(|b| !wanted.contains(&b))) {
            self.links.pop();
        }
        for broker in &wanted {
            let Some(address) = self.topic.brokers.get(broker) else { continue };
            match self.links.iter_mut().find(|link| link.broker == Some(*broker)) {
                Some(link) if link.address != *address => {
                    link.address.clone_from(address);
                    link.resolved = None;
                }
                Some(_) => {}
                None => self.links.push(Link::new(Some(*broker), address.clone())),
            }
        }
        let nobody = !self.links.iter().any(|link| matches!(link.state, LinkState::Up { .. }));
        let lost = matches!(self.metadata, Freshness::Stale { .. }) || wanted.is_empty();
        if nobody && lost && !self.links.iter().any(|link| link.broker.is_none()) {
            let address = self.habits.bootstrap[self.next_bootstrap % self.habits.bootstrap.len()].clone();
            self.next_bootstrap += 1;
            self.links.push(Link::new(None, address));
        }
        for number in 0..self.links.len() {
            let link = &mut self.links[number];
            let unwanted = match link.broker {
                Some(broker) => !wanted.contains(&broker),
                None => matches!(self.metadata, Freshness::Fresh { .. }),
            };
            if unwanted || !matches!(link.state, LinkState::Down { until } if until <= now) {
                continue;
            }
            let habits = &self.habits;
            if let Err(error) = link.open(number, habits, watch, now) {
                self.break_link(number, &error, now, stats);
            }
        }
    }

    /// Sends what there is to send on one link. What ends with its being sent makes room for more.
    fn ask_and_end(&mut self, link: usize, now: Instant, stats: &mut Stats) -> io::Result<()> {
        self.ask(link, now)?;
        while self.habits.acks == 0 && self.end(link, now, stats)? {
            self.ask(link, now)?;
        }
        Ok(())
    }

    /// Sends what there is to send on one link.
    fn ask(&mut self, link: usize, now: Instant) -> io::Result<()> {
        let Self { role, habits, topic, links, metadata, .. } = self;
        let Link { broker, state: LinkState::Up { connection, versions: Some(versions) }, .. } =
            &mut links[link]
        else {
            return Ok(());
        };
        let client_id = habits.client_id.as_str();
        if matches!(metadata, Freshness::Fresh { until } if *until <= now) {
            *metadata = Freshness::Stale { not_before: now };
        }
        if matches!(metadata, Freshness::Stale { not_before } if *not_before <= now) {
            let version = version_of::<MetadataRequest>(versions, topic)?;
            send(
                connection,
                &question(&topic.name),
                version,
                client_id,
                Asked::Metadata(version),
                true,
                now,
            )?;
            *metadata = Freshness::Asked;
        }
        match role {
            Role::Producer(producer) => {
                if producer.asks_for_identity(now) {
                    let version = version_of::<InitProducerIdRequest>(versions, topic)?;
                    let request = InitProducerIdRequest {
                        transactional_id: None,
                        transaction_timeout_ms: i32::MAX,
                        producer_id: -1,
                        producer_epoch: -1,
                        ..Default::default()
                    };
                    send(connection, &request, version, client_id, Asked::ProducerId(version), true, now)?;
                }
                let Some(broker) = *broker else { return connection.flush() };
                let version = version_of::<ProduceRequest>(versions, topic)?;
                while connection.in_flight() < habits.max_in_flight {
                    let Some((request, sent)) = producer.ask(broker, topic, now) else { break };
                    let asked = Asked::Produce(version, sent);
                    send(connection, &request, version, client_id, asked, habits.acks != 0, now)?;
                }
            }
            Role::Consumer(consumer) => {
                let Some(broker) = *broker else { return connection.flush() };
                if connection.in_flight() == 0 {
                    match consumer.ask(broker, topic, now) {
                        Some(Ask::Offsets(request, which)) => {
                            let version = version_of::<ListOffsetsRequest>(versions, topic)?;
                            let asked = Asked::Offsets(version, which);
                            send(connection, &request, version, client_id, asked, true, now)?;
                        }
                        Some(Ask::Fetch(request, due)) => {
                            let version = version_of::<FetchRequest>(versions, topic)?;
                            let asked = Asked::Fetch(version, due);
                            send(connection, &request, version, client_id, asked, true, now)?;
                        }
                        None => {}
                    }
                }
            }
        }
        connection.flush()
    }

    /// Writes what is left, reads what is there, and passes answers on.
    fn exchange(&mut self, link: usize, now: Instant, stats: &mut Stats) -> io::Result<()> {
        let Some(Link { state: LinkState::Up { connection, .. }, .. }) = self.links.get_mut(link) else {
            return Ok(());
        };
        // Answers that came with the end of the connection count.
        let read = connection.fill();
        let written = if read.is_ok() { connection.flush() } else { Ok(()) };
        self.end(link, now, stats)?;
        read.and(written)
    }

    /// Passes on what has come to its end. Returns whether there was something.
    fn end(&mut self, link: usize, now: Instant, stats: &mut Stats) -> io::Result<bool> {
        let mut some = false;
        while let Some(Link { state: LinkState::Up { connection, .. }, .. }) = self.links.get_mut(link) {
            match connection.next()? {
                Some(Came::Sent(asked)) => {
                    if let (Asked::Produce(_, sent), Role::Producer(producer)) = (asked, &mut self.role) {
                        producer.written(sent, now, stats);
                    }
                }
                Some(Came::Answer(asked, bytes)) => self.answered(link, asked, bytes, now, stats)?,
                None => break,
            }
            some = true;
        }
        Ok(some)
    }

    fn answered(
        &mut self,
        link: usize,
        asked: Asked,
        bytes: Bytes,
        now: Instant,
        stats: &mut Stats,
    ) -> io::Result<()> {
        let stale = match (asked, &mut self.role) {
            (Asked::Versions, _) => {
                let response = read_answer(bytes).map_err(malformed)?;
                if let LinkState::Up { versions, .. } = &mut self.links[link].state {
                    *versions = Some(Versions::new(&response));
                }
                false
            }
            (Asked::Metadata(version), _) => {
                let response: MetadataResponse = decode(ApiKey::Metadata, version, bytes)?;
                self.described(&response, now, stats);
                false
            }
            (Asked::ProducerId(version), Role::Producer(producer)) => {
                let response: InitProducerIdResponse = decode(ApiKey::InitProducerId, version, bytes)?;
                producer.identified(Some(&response), now, stats);
                false
            }
            (Asked::Produce(version, sent), Role::Producer(producer)) => {
                let response: io::Result<ProduceResponse> = decode(ApiKey::Produce, version, bytes);
                match response {
                    Ok(response) => producer.answered(sent, &response, now, stats),
                    Err(error) => {
                        producer.lost(sent, now, stats);
                        return Err(error);
                    }
                }
            }
            (Asked::Offsets(version, which), Role::Consumer(consumer)) => {
                let response: ListOffsetsResponse = decode(ApiKey::ListOffsets, version, bytes)?;
                consumer.offsets(which, &response, now, stats)
            }
            (Asked::Fetch(version, due), Role::Consumer(consumer)) => {
                let response: FetchResponse = decode(ApiKey::Fetch, version, bytes)?;
                consumer.fetched(due, &response, now, stats)
            }
            (Asked::ProducerId(_) | Asked::Produce(..), Role::Consumer(_))
            | (Asked::Offsets(..) | Asked::Fetch(..), Role::Producer(_)) => false,
        };
        if stale {
            self.want_metadata(now);
        }
        Ok(())
    }

    fn described(&mut self, response: &MetadataResponse, now: Instant, stats: &mut Stats) {
        match describe(&self.topic.name, response) {
            Described::There(mut topic) => {
                // The partitions of a run are those that it began with.
                topic.leaders.resize(self.topic.leaders.len(), None);
                let leaderless = match &self.role {
                    Role::Producer(producer) => topic.lacks_a_leader_of(producer.partitions()),
                    Role::Consumer(consumer) => topic.lacks_a_leader_of(&consumer.partitions()),
                };
                self.topic = topic;
                self.metadata = if leaderless {
                    Freshness::Stale { not_before: now + BACKOFF }
                } else {
                    Freshness::Fresh { until: now + METADATA_AGE }
                };
            }
            Described::Refused(code) => {
                stats.trouble(&code_name(code), now);
                self.metadata = Freshness::Stale { not_before: now + BACKOFF };
            }
        }
    }

    fn want_metadata(&mut self, now: Instant) {
        if matches!(self.metadata, Freshness::Fresh { .. }) {
            self.metadata = Freshness::Stale { not_before: now };
        }
    }

    fn break_link(&mut self, link: usize, error: &io::Error, now: Instant, stats: &mut Stats) {
        let name = match error.kind() {
            io::ErrorKind::TimedOut => "request timed out",
            io::ErrorKind::ConnectionRefused => "connection refused",
            io::ErrorKind::InvalidData => "answer not understood",
            io::ErrorKind::Unsupported => "version not supported",
            _ => "disconnected",
        };
        stats.trouble(name, now);
        let Some(broken) = self.links.get_mut(link) else { return };
        // A broker to begin with is tried once; the next one is another.
        if broken.broker.is_none() {
            broken
                .address
                .clone_from(&self.habits.bootstrap[self.next_bootstrap % self.habits.bootstrap.len()]);
            broken.resolved = None;
            self.next_bootstrap += 1;
        }
        let down = LinkState::Down { until: now + BACKOFF };
        if let LinkState::Up { connection, .. } = std::mem::replace(&mut broken.state, down) {
            for asked in connection.into_waiting() {
                match (asked, &mut self.role) {
                    (Asked::Produce(_, sent), Role::Producer(producer)) => producer.lost(sent, now, stats),
                    (Asked::ProducerId(_), Role::Producer(producer)) => producer.identified(None, now, stats),
                    (Asked::Fetch(_, due), Role::Consumer(consumer)) => consumer.lost(Some(due), now, stats),
                    (Asked::Metadata(_), _) => self.metadata = Freshness::Stale { not_before: now + BACKOFF },
                    _ => {}
                }
            }
        }
        self.want_metadata(now);
    }
}

impl Link {
    fn new(broker: Option<i32>, address: String) -> Self {
        Self { broker, address, resolved: None, state: LinkState::Down { until: Instant::START } }
    }

    fn open(
        &mut self,
        number: usize,
        habits: &Habits,
        watch: &mut dyn Watch,
        now: Instant,
    ) -> io::Result<()> {
        let address = match self.resolved {
            Some(address) => address,
            None => self.address.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?,
        };
        self.resolved = Some(address);
        let mut connection = Box::new(Connection::open(address)?);
        watch.watch(connection.fd(), number)?;
        let request = versions_request();
        send(&mut connection, &request, FIRST_ASKED, &habits.client_id, Asked::Versions, true, now)?;
        connection.flush()?;
        self.state = LinkState::Up { connection, versions: None };
        Ok(())
    }
}

/// Asks for versions in the name of this program.
pub(crate) fn versions_request() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: "aplomb-bench".to_owned(),
        client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Default::default()
    }
}

fn version_of<T: Request>(versions: &Versions, topic: &TopicView) -> io::Result<i16> {
    let limit = if topic.id == aplomb_model::Uuid::ZERO { limit_without_id(T::KEY) } else { i16::MAX };
    versions.pick::<T>(limit).ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, T::KEY.name()))
}

fn send<T: Request>(
    connection: &mut Connection<Asked>,
    request: &T,
    version: i16,
    client_id: &str,
    asked: Asked,
    answered: bool,
    now: Instant,
) -> io::Result<()> {
    let frame = encode_request(request, version, connection.correlation(), client_id).map_err(malformed)?;
    connection.send(frame, asked, answered, now);
    Ok(())
}

/// Reads a response behind its correlation id.
pub(crate) fn decode<T: Message>(api: ApiKey, version: i16, bytes: Bytes) -> io::Result<T> {
    let mut reader = Reader::new(bytes);
    if api.response_header_version(version) > 0 {
        reader.skip_tags().map_err(malformed)?;
    }
    T::decode(&mut reader, version).map_err(malformed)
}

fn malformed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
