//! A producer or a consumer with its connections: one to every broker that leads a partition of its
//! own, opened again when it breaks.
//!
//! What always holds: nothing here waits, except for a broker's name to be resolved when it is
//! first met. A request whose connection breaks is handed back to its sender; a connection whose
//! oldest request has no answer in time is broken.

mod freshness;
mod link;

use std::io;
use std::time::Duration;

use aplomb_model::Instant;
use aplomb_protocol::messages::{
    FetchRequest, FetchResponse, InitProducerIdRequest, InitProducerIdResponse, ListOffsetsRequest,
    ListOffsetsResponse, MetadataRequest, MetadataResponse, ProduceRequest, ProduceResponse,
};
use aplomb_protocol::{ApiKey, Request};
use aplomb_security::client::TlsFault;
use bytes::Bytes;

use freshness::Freshness;
pub(crate) use link::Watch;
use link::{Asked, Link};

use crate::connection::Came;
use crate::consumer::{Ask, Consumer};
use crate::entry::Entry;
use crate::producer::Producer;
use crate::stats::Stats;
use crate::topic::{Described, TopicView, code_name, describe, question};
use crate::versions::{Versions, decode, limit_without_id, malformed, read_answer};

/// How long a broken connection stays away (`reconnect.backoff.ms`), and how often metadata are
/// asked for that name no leader.
const BACKOFF: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) enum Role {
    Producer(Box<Producer>),
    Consumer(Consumer),
}

/// How clients behave, the same for all of a run.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    pub(crate) entry: Entry,
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
    /// Sockets are watched under the places of their links here.
    links: Vec<Link>,
    metadata: Freshness,
    next_bootstrap: usize,
}

impl Client {
    /// A client that knows the topic, and is connected to no broker yet.
    pub(crate) fn new(role: Role, habits: Habits, topic: TopicView) -> Self {
        let metadata = Freshness::fresh(Instant::START);
        Self { role, habits, topic, links: Vec::new(), metadata, next_bootstrap: 0 }
    }

    /// Whether it could begin.
    pub(crate) fn is_ready(&self) -> bool {
        let role = match &self.role {
            Role::Producer(producer) => producer.is_ready(),
            Role::Consumer(consumer) => consumer.is_ready(),
        };
        role && self.links.iter().filter(|link| link.broker().is_some()).all(Link::is_ready)
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
        let links = self.links.iter().filter_map(|link| link.wake_at(self.habits.request_timeout, now));
        let metadata = self.metadata.wake_at().filter(|next| *next > now);
        role.into_iter().chain(links).chain(metadata).min()
    }

    /// Whether something could be sent at once.
    pub(crate) fn has_room(&self) -> bool {
        self.links.iter().filter_map(Link::in_flight).any(|count| count < self.habits.max_in_flight)
    }

    /// The run is over.
    pub(crate) fn give_up(&mut self, now: Instant, stats: &mut Stats) {
        let asked = self.links.drain(..).flat_map(|mut link| link.take_down(now));
        let lost =
            asked.filter_map(|asked| if let Asked::Produce(_, sent) = asked { Some(sent) } else { None });
        let lost = lost.flatten().collect();
        if let Role::Producer(producer) = &mut self.role {
            producer.give_up(lost, now, stats);
        }
    }

    fn end_overdue(&mut self, now: Instant, stats: &mut Stats) {
        for link in 0..self.links.len() {
            if self.links[link].is_overdue(self.habits.request_timeout, now) {
                let error = io::Error::new(io::ErrorKind::TimedOut, "request timed out");
                self.break_link(link, &error, now, stats);
            }
        }
    }

    /// Opens what is missing: to the leaders of the client's partitions, or to any broker while
    /// there is no leader.
    fn connect(&mut self, now: Instant, watch: &mut dyn Watch, stats: &mut Stats) {
        let mut wanted: Vec<i32> = match &self.role {
            Role::Producer(producer) => self.topic.leaders_of(producer.partitions()).collect(),
            Role::Consumer(consumer) => consumer.leaders(&self.topic).collect(),
        };
        wanted.sort_unstable();
        wanted.dedup();
        // A link that is not wanted goes when nothing is under way on it. Sockets are watched under
        // the numbers of their links, so only the last may.
        let is_spare = |link: &Link| link.is_idle() && link.broker().is_some_and(|b| !wanted.contains(&b));
        while self.links.last().is_some_and(is_spare) {
            self.links.pop();
        }
        for broker in &wanted {
            let Some(address) = self.topic.brokers.get(broker) else { continue };
            match self.links.iter_mut().find(|link| link.broker() == Some(*broker)) {
                Some(link) if !link.is_at(address) => link.move_to(address),
                Some(_) => {}
                None => self.links.push(Link::new(Some(*broker), address.clone())),
            }
        }
        let is_alone = !self.links.iter().any(Link::is_up);
        let is_lost = self.metadata.is_stale() || wanted.is_empty();
        if is_alone && is_lost && !self.links.iter().any(|link| link.broker().is_none()) {
            let address = self.take_bootstrap();
            self.links.push(Link::new(None, address));
        }
        for number in 0..self.links.len() {
            let link = &mut self.links[number];
            let is_wanted = match link.broker() {
                Some(broker) => wanted.contains(&broker),
                None => !self.metadata.is_fresh(),
            };
            if is_wanted
                && link.may_open(now)
                && let Err(error) = link.open(number, &self.habits.entry, watch, now)
            {
                self.break_link(number, &error, now, stats);
            }
        }
    }

    /// The next of the brokers to begin with.
    fn take_bootstrap(&mut self) -> String {
        let bootstrap = &self.habits.bootstrap;
        let address = bootstrap[self.next_bootstrap % bootstrap.len()].clone();
        self.next_bootstrap += 1;
        address
    }

    /// Sends what can be sent on one link. With `acks=0` what was written makes room for more.
    fn ask_and_end(&mut self, link: usize, now: Instant, stats: &mut Stats) -> io::Result<()> {
        self.ask(link, now)?;
        while self.habits.acks == 0 && self.end(link, now, stats)? {
            self.ask(link, now)?;
        }
        Ok(())
    }

    fn ask(&mut self, link: usize, now: Instant) -> io::Result<()> {
        let Self { role, habits, topic, links, metadata, .. } = self;
        let Some(mut link) = links[link].ready(&habits.entry) else { return Ok(()) };
        if metadata.are_due(now) {
            let version = version_of::<MetadataRequest>(link.versions, topic)?;
            link.send(&question(&topic.name), version, Asked::Metadata(version), true, now)?;
            *metadata = Freshness::Asked;
        }
        match role {
            Role::Producer(producer) => {
                if producer.asks_for_identity(now) {
                    let version = version_of::<InitProducerIdRequest>(link.versions, topic)?;
                    let request = InitProducerIdRequest {
                        transactional_id: None,
                        transaction_timeout_ms: i32::MAX,
                        producer_id: -1,
                        producer_epoch: -1,
                        ..Default::default()
                    };
                    link.send(&request, version, Asked::ProducerId(version), true, now)?;
                }
                let Some(broker) = link.broker else { return link.flush() };
                // Before batches are taken: on an error they would be lost.
                let version = version_of::<ProduceRequest>(link.versions, topic)?;
                while link.in_flight() < habits.max_in_flight
                    && let Some((request, sent)) = producer.ask(broker, topic, now)
                {
                    link.send(&request, version, Asked::Produce(version, sent), habits.acks != 0, now)?;
                }
            }
            Role::Consumer(consumer) => {
                let Some(broker) = link.broker.filter(|_| link.in_flight() == 0) else {
                    return link.flush();
                };
                match consumer.ask(broker, topic, now) {
                    Some(Ask::Offsets(request, which)) => {
                        let version = version_of::<ListOffsetsRequest>(link.versions, topic)?;
                        link.send(&request, version, Asked::Offsets(version, which), true, now)?;
                    }
                    Some(Ask::Fetch(request, due)) => {
                        let version = version_of::<FetchRequest>(link.versions, topic)?;
                        link.send(&request, version, Asked::Fetch(version, due), true, now)?;
                    }
                    None => {}
                }
            }
        }
        link.flush()
    }

    fn exchange(&mut self, link: usize, now: Instant, stats: &mut Stats) -> io::Result<()> {
        let exchanged = self.links.get_mut(link).map_or(Ok(()), |link| link.exchange(now));
        // Answers that came with the end of the connection count.
        self.end(link, now, stats)?;
        exchanged
    }

    /// Passes on what has come to its end. Returns whether there was something.
    fn end(&mut self, link: usize, now: Instant, stats: &mut Stats) -> io::Result<bool> {
        let mut some = false;
        while let Some(open) = self.links.get_mut(link) {
            match open.next()? {
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
                self.links[link].learn(Versions::new(&read_answer(bytes).map_err(malformed)?));
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
            self.metadata.doubt(now);
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
                    Freshness::fresh(now)
                };
            }
            Described::Refused(code) => {
                stats.trouble(&code_name(code), now);
                self.metadata = Freshness::Stale { not_before: now + BACKOFF };
            }
        }
    }

    fn break_link(&mut self, link: usize, error: &io::Error, now: Instant, stats: &mut Stats) {
        let name = match error.kind() {
            io::ErrorKind::TimedOut => "request timed out",
            io::ErrorKind::ConnectionRefused => "connection refused",
            io::ErrorKind::PermissionDenied => "login failed",
            _ if error.get_ref().is_some_and(|inner| inner.is::<TlsFault>()) => "TLS failed",
            io::ErrorKind::InvalidData => "answer not understood",
            io::ErrorKind::Unsupported => "version not supported",
            _ => "disconnected",
        };
        stats.trouble(name, now);
        let Some(broken) = self.links.get_mut(link) else { return };
        for asked in broken.take_down(now + BACKOFF) {
            match (asked, &mut self.role) {
                (Asked::Produce(_, sent), Role::Producer(producer)) => producer.lost(sent, now, stats),
                (Asked::ProducerId(_), Role::Producer(producer)) => producer.identified(None, now, stats),
                (Asked::Fetch(_, due), Role::Consumer(consumer)) => consumer.lost(due, now, stats),
                (Asked::Metadata(_), _) => self.metadata = Freshness::Stale { not_before: now + BACKOFF },
                _ => {}
            }
        }
        // A broker to begin with is tried once; the next one is another.
        if broken.broker().is_none() {
            let address = self.take_bootstrap();
            self.links[link].move_to(&address);
        }
        self.metadata.doubt(now);
    }
}

fn version_of<T: Request>(versions: &Versions, topic: &TopicView) -> io::Result<i16> {
    let limit = if topic.id == aplomb_model::Uuid::ZERO { limit_without_id(T::KEY) } else { i16::MAX };
    versions.pick::<T>(limit).ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, T::KEY.name()))
}
