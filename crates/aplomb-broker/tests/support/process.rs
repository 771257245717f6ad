//! How shards are begun and driven; what depends on the broker's public surface is all here.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aplomb_broker::Shard;
use aplomb_broker::config::{BrokerConfig, Properties, SecurityProtocol};
use aplomb_broker::controller::Node;
use aplomb_broker::figures::{PartitionFigures, ShardFigures};
use aplomb_broker::metadata::Endpoint;
use aplomb_broker::ports::{ConnectionId, Event, Now, Reply, Request, RequestId, Session, ShardId};
use aplomb_broker::quotas::ConnectionRates;
use aplomb_broker::startup::{Directory, MetadataFound, StartInput, Surveyed, plan, survey};
use aplomb_broker::store_checks::StoreChecks;
use aplomb_broker::{Output, ShardMessage};
use aplomb_disk_api::sim::SimDisk;
use aplomb_disk_api::{Completion, CompletionSink, DiskIndex, DiskQueue, PatientDisk};
use aplomb_log::recovery::restore::{Wanted, restore};
use aplomb_log::tail::{ArenaMemory, CrashSwitch, OldTail, TailShare, open_shares};
use aplomb_model::{BrokerId, DirectoryId, Instant, Uuid};

use super::queue::CountingQueue;

/// This broker's id.
pub(crate) const NODE: i32 = 1;
const LISTENER: &str = "PLAINTEXT";
/// Bytes of a chunk of the tail.
pub(crate) const CHUNK: u32 = 4096;

type Inbox = Arc<Mutex<VecDeque<(usize, Completion)>>>;

struct Sink {
    shard: usize,
    inbox: Inbox,
}

impl CompletionSink for Sink {
    fn complete(&self, completion: Completion) {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).push_back((self.shard, completion));
    }
}

/// What a process is started on.
pub(super) struct Ground<'a> {
    pub(super) disks: &'a [SimDisk],
    /// Log directories that the settings name and whose disks cannot be had.
    pub(super) lost: Vec<String>,
    pub(super) properties: &'a Properties,
    pub(super) shards: u16,
    /// Chunks of the tail, for each disk.
    pub(super) chunks: u32,
    /// How long a message takes from shard to shard.
    pub(super) mail_takes: Duration,
    /// Counts the starts, so that no two processes draw the same ids.
    pub(super) start: u64,
    pub(super) now: Now,
}

/// What a turn of a shard has to say to the world.
pub(super) enum Said {
    Reply(RequestId, Reply),
    Event(Event),
    /// How many connections there may be.
    Limits {
        total: u32,
        per_ip: u32,
    },
    /// How many new connections there may be in a second.
    Rates(ConnectionRates),
}

/// A message on its way. All take the same time, so that they arrive in their order.
struct Mail {
    arrives: Instant,
    from: ShardId,
    to: ShardId,
    message: ShardMessage,
}

/// A broker at work.
pub(super) struct Process {
    shards: Vec<Shard>,
    shares: Vec<Arc<TailShare>>,
    inbox: Inbox,
    messages: VecDeque<Mail>,
    mail_takes: Duration,
    said: Vec<Said>,
    most_replies: usize,
    /// Commands that were handed to disks, and how many of them in one turn at the most.
    commands: Arc<AtomicUsize>,
    most_commands: usize,
    turns_of_head: u64,
}

/// The path of a log directory.
pub(crate) fn path_of(disk: usize) -> String {
    format!("/disk{disk}")
}

fn directory_id(disk: usize) -> DirectoryId {
    Uuid::from_u128((disk as u128 + 1) << 100 | 0xd15c)
}

impl Process {
    /// Starts on the disks, and on the tail that an earlier process left. The error is the reason
    /// not to.
    pub(super) fn start(ground: &Ground<'_>, memory: Option<ArenaMemory>) -> Result<Self, String> {
        let old = memory.map(|memory| OldTail::open(memory).expect("a tail that was whole can be opened"));
        let (surveyed, found) = survey_and_restore(ground, old.as_ref())?;
        let chunks = ground.chunks as usize * ground.disks.len();
        let size = chunks * CHUNK as usize + chunks.next_multiple_of(16) * 256 + 2 * 4096;
        let ids: Vec<DirectoryId> = (0..ground.disks.len()).map(directory_id).collect();
        // Without a switch the memory could not be had as the next process finds it.
        let switch = Some(CrashSwitch::armed());
        let generation = old.map_or(0, |old| old.generation()) + 1;
        let shares = open_shares(ArenaMemory::heap(size), CHUNK, &ids, generation, switch);
        let shares = shares.expect("the chunks fit the memory");
        let (config, _) = BrokerConfig::from_properties(ground.properties).expect("the settings are right");
        let endpoint = Endpoint {
            name: LISTENER.to_owned(),
            host: "localhost".to_owned(),
            port: 9092,
            security_protocol: 0,
        };
        let mut random = random(ground.start);
        let node = Node {
            id: BrokerId(NODE),
            incarnation: Uuid(random()),
            endpoints: vec![endpoint],
            controller_endpoints: Vec::new(),
            rack: None,
            directories: ids.clone(),
            cordoned_directories: Vec::new(),
            metadata_directory: ids[0],
        };
        let ready = plan(StartInput {
            lost: ground.lost.clone(),
            config: Arc::new(config),
            node,
            directories: surveyed,
            shares: shares.clone(),
            metadata: DiskIndex(0),
            found,
            shards: ground.shards,
            now: ground.now.wall,
            random: Box::new(move || Box::new(random.clone())),
            stores: Arc::new(StoreChecks::new(|| {})),
        });
        let ready = ready.map_err(|error| error.to_string())?;
        let (inbox, commands) = (Inbox::default(), Arc::new(AtomicUsize::new(0)));
        let mut shards = Vec::new();
        for (shard, start) in ready.shards.into_iter().enumerate() {
            let queue = |disk: &SimDisk| {
                let sink = Sink { shard, inbox: inbox.clone() };
                let queue = Box::new(disk.queue(Arc::new(sink)));
                Box::new(CountingQueue { queue, commands: commands.clone() }) as Box<dyn DiskQueue>
            };
            shards.push(start.begin(ground.disks.iter().map(queue).collect(), ground.now));
        }
        let (messages, mail_takes) = (VecDeque::new(), ground.mail_takes);
        Ok(Self {
            shards,
            shares,
            inbox,
            messages,
            mail_takes,
            said: Vec::new(),
            most_replies: 0,
            commands,
            most_commands: 0,
            turns_of_head: 0,
        })
    }

    /// A client's frame arrives.
    pub(super) fn on_frame(&mut self, request: Request, now: Now) {
        self.turn(request.id.connection.shard, now, |shard| shard.on_request(request, now));
    }

    /// A client that has not said who it is.
    pub(super) fn anyone(protocol: SecurityProtocol) -> Session {
        Session::anonymous(IpAddr::V4(Ipv4Addr::LOCALHOST), LISTENER.into(), protocol)
    }

    /// A client's connection is gone.
    pub(super) fn on_connection_closed(&mut self, connection: ConnectionId, now: Now) {
        self.turn(connection.shard, now, |shard| shard.on_connection_closed(connection, now));
    }

    /// The operator wants the process to end.
    pub(super) fn begin_stop(&mut self, now: Now) {
        for shard in 0..self.shards.len() {
            self.turn(ShardId(shard as u16), now, |shard| shard.begin_stop(now));
        }
    }

    /// The figures of partitions that have come since this was asked last.
    pub(super) fn take_newcomers(&self) -> Vec<Arc<PartitionFigures>> {
        let of = |shard: &Shard| shard.figures().take_newcomers().partitions;
        self.shards.iter().flat_map(of).collect()
    }

    /// What can be seen of the shards.
    pub(super) fn figures(&self) -> Vec<Arc<ShardFigures>> {
        self.shards.iter().map(Shard::figures).collect()
    }

    /// How many requests a turn has answered at the most.
    pub(super) fn most_replies(&self) -> usize {
        self.most_replies
    }

    /// How many commands a turn has handed to disks at the most, since this was asked last.
    pub(super) fn take_most_commands(&mut self) -> usize {
        std::mem::take(&mut self.most_commands)
    }

    /// How many turns the shard with the controller has had.
    pub(super) fn turns_of_head(&self) -> u64 {
        self.turns_of_head
    }

    /// Whether all partitions are loaded, or are offline.
    pub(super) fn is_loaded(&self) -> bool {
        self.shards.iter().all(|shard| shard.figures().loading() == 0)
    }

    /// How many logs were loaded as a clean stop had noted them.
    pub(super) fn noted(&self) -> usize {
        self.shards.iter().map(|shard| shard.figures().noted()).sum()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.shards.iter().all(Shard::is_stopped)
    }

    /// Gives a turn to each shard that has something to do now; false if none has.
    pub(super) fn do_what_is_due(&mut self, now: Now) -> bool {
        if let Some(mail) = self.messages.pop_front_if(|mail| mail.arrives <= now.instant) {
            self.turn(mail.to, now, |shard| shard.on_message(mail.from, mail.message, now));
            return true;
        }
        let completion = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        if let Some((shard, completion)) = completion {
            self.turn(ShardId(shard as u16), now, |shard| shard.on_completion(completion, now));
            return true;
        }
        let is_due = |shard: &Shard| shard.wake_at().is_some_and(|at| at <= now.instant);
        let due = self.shards.iter().position(is_due);
        if let Some(shard) = due {
            self.turn(ShardId(shard as u16), now, |shard| shard.on_wake(now));
        }
        due.is_some()
    }

    /// When a shard wants its turn, or a message arrives.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let mail = self.messages.front().map(|mail| mail.arrives);
        self.shards.iter().filter_map(Shard::wake_at).chain(mail).min()
    }

    /// What the shards have said since the last time.
    pub(super) fn take_said(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.said)
    }

    /// The tail's memory as the next process finds it, if it has to.
    /// `killed`: the process had no chance to clear it.
    pub(super) fn into_memory(self, killed: bool) -> Option<ArenaMemory> {
        let needed = killed || self.shards.iter().any(Shard::needs_tail);
        needed.then(|| self.shares[0].arena().image().expect("an arena with a switch has an image"))
    }

    fn turn(&mut self, id: ShardId, now: Now, turn: impl FnOnce(&mut Shard)) {
        let mut out = Vec::new();
        let shard = &mut self.shards[usize::from(id.0)];
        self.commands.store(0, Ordering::Relaxed);
        turn(shard);
        self.turns_of_head += u64::from(id.0 == 0);
        shard.settle(now, &mut out);
        let replies = out.iter().filter(|output| matches!(output, Output::Reply { .. })).count();
        self.most_replies = self.most_replies.max(replies);
        self.most_commands = self.most_commands.max(self.commands.load(Ordering::Relaxed));
        for output in out {
            match output {
                Output::Reply { id, reply } => self.said.push(Said::Reply(id, reply)),
                Output::Send { to, message } => {
                    let arrives = now.instant + self.mail_takes;
                    self.messages.push_back(Mail { arrives, from: id, to, message });
                }
                Output::Event(event) => self.said.push(Said::Event(event)),
                Output::Users(_) => {}
                Output::ConnectionRates(rates) => self.said.push(Said::Rates(rates)),
                Output::ConnectionLimits { total, per_ip, .. } => {
                    self.said.push(Said::Limits { total, per_ip });
                }
            }
        }
    }
}

/// In the order that the program keeps: survey, write back the old tail's metadata, read it, write
/// back the rest.
fn survey_and_restore(
    ground: &Ground<'_>,
    old: Option<&OldTail>,
) -> Result<(Vec<Surveyed>, MetadataFound), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let mut surveyed = Vec::new();
    for (n, disk) in ground.disks.iter().enumerate() {
        let (id, path, disk) = (directory_id(n), path_of(n), Arc::new(disk.clone()));
        let directory = Directory { index: DiskIndex(n as u16), id, path, disk };
        surveyed.push(survey(directory).map_err(|error| said(&error))?);
    }
    let disks: Vec<(DirectoryId, &dyn PatientDisk)> =
        surveyed.iter().map(|one: &Surveyed| (one.directory.id, &*one.directory.disk)).collect();
    let mut random = random(ground.start ^ 0x0123_4567);
    let mut unique = || Uuid(random());
    if let Some(old) = old {
        restore(&old.recover(), &disks, &Wanted::Metadata, &mut unique).map_err(|error| said(&error))?;
    }
    let found = MetadataFound::read(&surveyed[0].directory, "simulated", surveyed[0].clean.is_some())
        .map_err(|error| said(&error))?;
    if let Some(old) = old {
        let topics = &found.replay.image().topics;
        let name = |id| topics.by_id(id).map(|topic| topic.name.clone());
        let wanted = Wanted::Topics(&name);
        restore(&old.recover(), &disks, &wanted, &mut unique).map_err(|error| said(&error))?;
    }
    Ok((surveyed, found))
}

/// Bytes that are the same in every run and no two of which are alike.
fn random(start: u64) -> impl FnMut() -> [u8; 16] + Clone + Send + 'static {
    let mut drawn = 0_u64;
    move || {
        drawn += 1;
        let high = (start << 32 | drawn).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (u128::from(high) << 64 | u128::from(high.rotate_left(29) ^ drawn)).to_be_bytes()
    }
}
