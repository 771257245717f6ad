//! The broker as a test has it: its time, its disks, its beginning and its end.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::SecurityProtocol;
use aplomb_broker::figures::{PartitionFigures, ShardFigures};
use aplomb_broker::ports::{Principal, Session};
use aplomb_broker::quotas::ConnectionRates;
use aplomb_disk_api::sim::SimDisk;
use aplomb_model::ErrorCode;

use super::client::Client;
use super::process::Process;
use super::requests::{CreateTopic, MoveReplica, Place};
use super::world::World;

/// How long a stop may take: the server's patience is of this order.
const STOP_PATIENCE: Duration = Duration::from_secs(60);

/// What a broker is made of.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) disks: usize,
    pub(crate) shards: u16,
    /// Chunks of the tail for each disk, of 4 KiB.
    pub(crate) chunks: u32,
    /// Commands that a disk takes, for each kind, before it is busy.
    pub(crate) lane_depth: usize,
    /// How long a message takes from shard to shard.
    pub(crate) mail_takes: Duration,
    pub(crate) settings: Vec<(&'static str, &'static str)>,
}

impl Default for Setup {
    fn default() -> Self {
        let (lane_depth, mail_takes) = (1024, Duration::ZERO);
        Self { disks: 1, shards: 1, chunks: 256, lane_depth, mail_takes, settings: Vec::new() }
    }
}

/// A broker and the world that it is in.
pub(crate) struct Broker {
    pub(super) world: Rc<RefCell<World>>,
}

impl Broker {
    /// A broker with one shard and one disk.
    pub(crate) fn start() -> Self {
        Self::of(Setup::default())
    }

    /// A broker with one shard and two disks, the metadata log on the first.
    pub(crate) fn on_two_disks() -> Self {
        Self::of(Setup { disks: 2, ..Setup::default() })
    }

    pub(crate) fn of(setup: Setup) -> Self {
        let disks = setup.disks;
        let mut world = World::new(setup);
        world.start(disks).expect("a broker starts on empty disks");
        let broker = Self { world: Rc::new(RefCell::new(world)) };
        broker.advance(super::SECOND); // what a start leaves to do is done
        broker
    }

    /// A client, connected to the first shard.
    pub(crate) fn client(&self) -> Client {
        self.client_of_shard(0)
    }

    pub(crate) fn client_of_shard(&self, shard: u16) -> Client {
        let connection = self.world.borrow_mut().connect(shard);
        Client { world: self.world.clone(), connection, name: "story" }
    }

    /// A client that has shown who it is: by a password, or by a delegation token.
    pub(crate) fn client_of_user(&self, user: &str, by_token: bool) -> Client {
        let client = self.client();
        let anyone = Process::anyone(SecurityProtocol::SaslPlaintext);
        let session = Session { by_token, ..anyone.of(Principal::user(user)) };
        self.world.borrow_mut().identify(client.connection, session);
        client
    }

    /// Makes a topic of one partition, and waits until it is there.
    pub(crate) fn has_topic(&self, name: &str) {
        self.has(CreateTopic::named(name));
    }

    /// Makes a topic, and waits until it is there.
    pub(crate) fn has(&self, topic: CreateTopic) {
        assert_eq!(self.client().ask(topic).error, ErrorCode::None);
    }

    /// Makes a topic of one partition in a log directory of the test's choice.
    pub(crate) fn has_on_disk(&self, disk: usize, topic: CreateTopic) {
        // A replica that is not there yet is made where it was asked to go.
        let place = Place::from(topic.name());
        assert_ne!(self.client().ask(MoveReplica::of(place, disk)).error, ErrorCode::None);
        self.has(topic);
    }

    pub(crate) fn disk(&self, n: usize) -> SimDisk {
        self.world.borrow().disks[n].clone()
    }

    /// The disks that have a file or a directory of this name.
    pub(crate) fn disks_with(&self, name: &str) -> Vec<usize> {
        let world = self.world.borrow();
        let has = |disk: &SimDisk| {
            let inside = format!("{name}/");
            disk.image().keys().any(|file| file == name || file.starts_with(&inside))
        };
        (0..world.disks.len()).filter(|n| has(&world.disks[*n])).collect()
    }

    /// Milliseconds since 1970, by the wall clock.
    pub(crate) fn wall_ms(&self) -> i64 {
        self.world.borrow().clocks().wall.0
    }

    /// Lets time pass.
    pub(crate) fn advance(&self, time: Duration) {
        let mut world = self.world.borrow_mut();
        let end = world.now + time;
        while world.step_to(end) {}
    }

    /// How many connections there may be, in all and from one address, if that was changed.
    pub(crate) fn connection_limits(&self) -> Option<(u32, u32)> {
        self.world.borrow().limits
    }

    /// How many new connections there may be in a second.
    pub(crate) fn connection_rates(&self) -> ConnectionRates {
        self.world.borrow().rates.clone()
    }

    /// Whether a line of the log has these words.
    pub(crate) fn logs(&self, words: &str) -> bool {
        self.world.borrow().events.iter().any(|event| event.text.contains(words))
    }

    /// A number of all shards together.
    pub(crate) fn total(&self, number: fn(&ShardFigures) -> u64) -> u64 {
        self.world.borrow().figures().iter().map(|figures| number(figures)).sum()
    }

    /// The figures of a partition that has come since this was asked last.
    pub(crate) fn figures_of_new(&self, topic: &str) -> Arc<PartitionFigures> {
        let mut newcomers = self.world.borrow().take_newcomers().into_iter();
        newcomers.find(|figures| &*figures.name().topic == topic).expect("it has come")
    }

    /// How many requests a turn of a shard has answered at the most.
    /// How many logs this process has loaded as a clean stop had noted them.
    pub(crate) fn noted(&self) -> usize {
        self.world.borrow().noted()
    }

    pub(crate) fn most_replies_of_a_turn(&self) -> usize {
        self.world.borrow().most_replies()
    }

    /// How many commands a turn of a shard has handed to disks at the most, since this was asked
    /// last.
    pub(crate) fn take_most_commands(&self) -> usize {
        self.world.borrow_mut().take_most_commands()
    }

    /// How many turns the shard with the controller has had since the last start.
    pub(crate) fn turns_of_head(&self) -> u64 {
        self.world.borrow().turns_of_head()
    }

    /// kill -9.
    pub(crate) fn kill(&self) {
        self.world.borrow_mut().end(true);
    }

    pub(crate) fn cut_power(&self) {
        self.world.borrow_mut().cut_power();
    }

    pub(crate) fn begin_stop(&self) {
        self.world.borrow_mut().begin_stop();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.world.borrow().is_stopped()
    }

    /// Stops in good order.
    pub(crate) fn stop(&self) {
        self.begin_stop();
        let mut world = self.world.borrow_mut();
        let end = world.now + STOP_PATIENCE;
        while !world.is_stopped() {
            assert!(world.step_to(end), "the stop does not come to an end");
        }
        world.end(false);
    }

    /// Ends a process that has stopped.
    pub(crate) fn end(&self) {
        assert!(self.is_stopped(), "the process is still at work");
        self.world.borrow_mut().end(false);
    }

    /// Tries to start again on what the last process left, and says why it does not.
    pub(crate) fn refuses_to_start(&self) -> String {
        let mut world = self.world.borrow_mut();
        let disks = world.disks.len();
        world.start(disks).expect_err("a reason not to start")
    }

    /// Starts again, on what the last process left.
    pub(crate) fn restart(&self) {
        let mut world = self.world.borrow_mut();
        let disks = world.disks.len();
        world.start(disks).expect("the broker starts again");
    }

    /// Starts again, on what the last process left, and does not wait until it is loaded.
    pub(crate) fn restart_at_once(&self) {
        let mut world = self.world.borrow_mut();
        let disks = world.disks.len();
        world.start_loading(disks).expect("the broker starts again");
    }

    /// Starts again without the last disk, which cannot be had.
    pub(crate) fn restart_without_the_last_disk(&self) {
        let mut world = self.world.borrow_mut();
        let disks = world.disks.len() - 1;
        world.start(disks).expect("the broker starts again");
    }
}
