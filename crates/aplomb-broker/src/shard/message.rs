//! What shards say to each other. Calls of one shard to another arrive in the order in which they
//! were made, so a client's pipelined batches keep theirs.

use std::collections::BTreeMap;
use std::sync::Arc;

use aplomb_model::TopicPartition;

use crate::calls::{Answer, Asker, OpId, PartitionKey, Slot};
use crate::config::NetworkConfig;
use crate::head::HeadMessage;
use crate::metadata::{Delta, MetadataImage, Security};
use crate::operation::PartitionCall;
use crate::ports::{ConnectionId, Event, Reply, Request, RequestId, ShardId};
use crate::quotas::ConnectionRates;
use crate::storage::StorageMessage;
use crate::view::View;

/// One message from shard to shard.
#[derive(Debug)]
pub enum ShardMessage {
    /// Answer this request: it is for the controller, which lives where you are, or takes long.
    Request(Request),
    /// This connection of mine is gone, whose requests you have.
    ConnectionClosed(ConnectionId),
    /// Parts of an operation for partitions that you own.
    Calls {
        /// The operation to answer to.
        op: OpId,
        /// The parts, in order.
        calls: Vec<(Slot, PartitionKey, PartitionCall)>,
    },
    /// Coordinators of mine ask partitions that you own.
    Asks(Vec<(Asker, PartitionKey, PartitionCall)>),
    /// Answers to coordinators of yours.
    Told(Vec<(Asker, Answer)>),
    /// Answers to calls of yours.
    Answers {
        /// The operation.
        op: OpId,
        /// The parts.
        answers: Vec<(Slot, Answer)>,
    },
    /// A partition that the operation watches has something to say.
    Woken {
        /// The operation.
        op: OpId,
        /// Which of its parts.
        slot: Slot,
    },
    /// The metadata changed.
    Image {
        /// The whole of it.
        image: Arc<MetadataImage>,
        /// What is different.
        delta: Arc<Delta>,
        /// Counts the images of this process.
        generation: u64,
    },
    /// All that a change of metadata asks of my partitions is done.
    ImageApplied {
        /// Which image.
        generation: u64,
    },
    /// For the controller.
    Head(HeadMessage),
    /// From storage to storage.
    Storage(StorageMessage),
    /// Nothing on any disk is a deleted partition's any more: its name is free.
    NameFree {
        /// Which partition.
        key: PartitionKey,
        /// Its name.
        name: TopicPartition,
    },
    /// I stop, all that I was asked is answered, and this is the last that I ask of you.
    Drained,
    /// All my partitions are closed, or given up.
    Closed {
        /// For each log directory, whether everything in it was closed cleanly.
        clean: Vec<bool>,
    },
}

/// One thing that a shard wants done.
#[derive(Debug)]
pub enum Output {
    /// Answer a request. Its connection may live on another shard.
    Reply {
        /// Which.
        id: RequestId,
        /// How.
        reply: Reply,
    },
    /// Pass a message to another shard.
    Send {
        /// The receiver.
        to: ShardId,
        /// The message.
        message: ShardMessage,
    },
    /// Write an event to the log.
    Event(Event),
    /// Other limits for connections from here on. Those that are there stay.
    ConnectionLimits {
        /// In all.
        total: u32,
        /// On single listeners.
        of_listeners: BTreeMap<Arc<str>, u32>,
        /// From one address.
        per_ip: u32,
        /// From certain addresses; `None` leaves these as they are.
        overrides: Option<Vec<(std::net::IpAddr, u32)>>,
    },
    /// The cluster's users are these from here on.
    Users(Arc<Security>),
    /// As many new connections in a second from here on.
    ConnectionRates(ConnectionRates),
}

impl Output {
    /// What changes for connections with a new image.
    pub(super) fn of_image(view: &View, delta: &Delta, is_head: bool) -> impl Iterator<Item = Self> {
        let users = || Self::Users(Arc::clone(&view.image().security));
        let rates = is_head && (delta.security || delta.broker_configs);
        let rates = rates.then(|| Self::connection_rates(view));
        delta.security.then(users).into_iter().chain(rates)
    }

    /// How many new connections there may be in a second, as this shard sees it.
    pub(super) fn connection_rates(view: &View) -> Self {
        Self::ConnectionRates(ConnectionRates::of(&view.image().security, &view.config().network))
    }

    /// Other limits for connections, if they are others.
    pub(super) fn connection_limits(old: &NetworkConfig, new: &NetworkConfig) -> Option<Self> {
        let of_listeners = NetworkConfig::connections_of_listeners;
        let limits = |network: &NetworkConfig| {
            let overrides = network.per_ip_overrides.clone();
            (network.max_connections, of_listeners(network), network.max_connections_per_ip, overrides)
        };
        if limits(old) == limits(new) {
            return None;
        }
        let addresses = || {
            let pairs = new.per_ip_overrides.iter();
            pairs.filter_map(|(host, count)| Some((host.parse().ok()?, *count))).collect()
        };
        Some(Self::ConnectionLimits {
            total: new.max_connections,
            of_listeners: of_listeners(new),
            per_ip: new.max_connections_per_ip,
            overrides: (old.per_ip_overrides != new.per_ip_overrides).then(addresses),
        })
    }
}
