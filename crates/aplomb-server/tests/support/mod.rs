//! A server whose shards do what single letters tell them, and a client that speaks in letters.
//!
//! The first byte of a frame says what its shard does: see [`Letters::act`].

#![expect(dead_code, reason = "each test program uses its own part of this")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use aplomb_broker::config::SecurityProtocol;
use aplomb_broker::ports::{
    CloseReason, ConnectionId, ErrorTally, Now, Reply, Request, RequestId, ShardId, Waited,
};
use aplomb_broker::quotas::Windows;
use aplomb_broker::{Output, ShardMessage};
use aplomb_disk_api::Completion;
use aplomb_model::Instant;
use aplomb_server::guard::{Guard, GuardMode};
use aplomb_server::log::Log;
use aplomb_server::loops::Core;
use aplomb_server::net::{ConnectionLimits, Listener, NetConfig};
use aplomb_server::{Server, ServerConfig, Switchboard};
use bytes::{Bytes, BytesMut};

/// As in the `aplomb` program: the system's allocator opens `/proc/sys/vm/overcommit_memory` when
/// it first gives memory back, which no guarded thread may.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How many messages `M` sends to the next shard: several mailboxes full.
pub(crate) const FLOOD: u64 = 5000;

/// The length of the reply to `b`, in bytes.
pub(crate) const BIG: usize = 4 << 20;

/// For how long `q` throttles its client.
pub(crate) const MOMENT: Duration = Duration::from_millis(50);

/// What a test can see of all shards.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) requests: AtomicU64,
    pub(crate) closed: AtomicU64,
    /// A shard is in a turn that takes long, and when it may end.
    pub(crate) is_held: AtomicBool,
    pub(crate) may_go_on: AtomicBool,
}

/// A shard that does what letters say.
pub(crate) struct Letters {
    shard: ShardId,
    shards: u16,
    seen: Arc<Seen>,
    parked: Vec<(RequestId, Bytes)>,
    flood: Option<(RequestId, u64)>,
    timer: Option<(Instant, RequestId)>,
    /// What is done when the turn is settled.
    pending: Vec<Output>,
    stopping: bool,
}

impl Letters {
    fn act(&mut self, request: Request, now: Now) {
        let id = request.id;
        let out = &mut self.pending;
        let next = ShardId((self.shard.0 + 1) % self.shards);
        match request.frame.first() {
            // Echo, here or by way of the next shard.
            Some(b'e') => out.push(Output::Reply { id, reply: echo(&request.frame) }),
            Some(b'm') if id.connection.shard == self.shard => {
                out.push(Output::Send { to: next, message: ShardMessage::Request(request) });
            }
            Some(b'm') => out.push(Output::Reply { id, reply: echo(&request.frame) }),
            // Park, and answer all that is parked.
            Some(b'p') => self.parked.push((id, request.frame)),
            Some(b'r') => {
                out.push(Output::Reply { id, reply: echo(&request.frame) });
                self.answer_parked();
            }
            // No answer; a big one; one after 20 ms.
            Some(b'n') => {
                out.push(Output::Reply {
                    id,
                    reply: Reply::Nothing { throttle: Duration::ZERO, waited: Waited::default() },
                });
            }
            // Over its quota, for a moment or for longer than a test takes.
            Some(b'q') => out.push(Output::Reply { id, reply: throttled(&request.frame, MOMENT) }),
            Some(b'Q') => out.push(Output::Reply { id, reply: throttled(&request.frame, 10_000 * MOMENT) }),
            Some(b'b') => out.push(Output::Reply { id, reply: echo(&Bytes::from(vec![b'B'; BIG])) }),
            Some(b't') => self.timer = Some((now.instant + Duration::from_millis(20), id)),
            // Thousands of messages there and back.
            Some(b'M') if id.connection.shard == self.shard => {
                assert!(self.flood.is_none(), "one flood at a time");
                self.flood = Some((id, FLOOD));
                for _ in 0..FLOOD {
                    out.push(Output::Send { to: next, message: ShardMessage::Request(request.clone()) });
                }
            }
            Some(b'M') => {
                out.push(Output::Send { to: id.connection.shard, message: ShardMessage::Request(request) });
            }
            // A turn that takes until the test says otherwise.
            Some(b'h') => {
                self.seen.is_held.store(true, Ordering::SeqCst);
                while !self.seen.may_go_on.load(Ordering::SeqCst) {
                    std::thread::park_timeout(Duration::from_millis(1));
                }
                out.push(Output::Reply { id, reply: echo(&request.frame) });
            }
            // What no shard may do.
            Some(b'f') => {
                #[expect(clippy::disallowed_types, reason = "the crime under test")]
                let opened = std::fs::File::open("/etc/hostname").is_ok();
                let text = if opened { "opened" } else { "refused" };
                out.push(Output::Reply { id, reply: echo(&Bytes::from_static(text.as_bytes())) });
            }
            Some(b'x') => panic!("told to"),
            _ => {
                let reason = CloseReason::Malformed("no such letter".to_owned());
                out.push(Output::Reply { id, reply: Reply::Close { reason } });
            }
        }
    }

    fn answer_parked(&mut self) {
        let replies = self.parked.drain(..).map(|(id, frame)| Output::Reply { id, reply: echo(&frame) });
        self.pending.extend(replies);
    }
}

impl Core for Letters {
    fn on_request(&mut self, request: Request, now: Now, _out: &mut Vec<Output>) {
        self.seen.requests.fetch_add(1, Ordering::SeqCst);
        self.act(request, now);
    }

    fn on_message(&mut self, _from: ShardId, message: ShardMessage, now: Now, _out: &mut Vec<Output>) {
        let ShardMessage::Request(request) = message else { panic!("letters travel as requests") };
        if request.id.connection.shard != self.shard {
            return self.act(request, now);
        }
        let (id, left) = self.flood.take().expect("a flood is under way");
        if left == 1 {
            self.pending.push(Output::Reply { id, reply: echo(&request.frame) });
        } else {
            self.flood = Some((id, left - 1));
        }
    }

    fn on_completion(&mut self, _completion: Completion, _now: Now, _out: &mut Vec<Output>) {}

    fn on_connection_closed(&mut self, connection: ConnectionId, _now: Now, _out: &mut Vec<Output>) {
        self.seen.closed.fetch_add(1, Ordering::SeqCst);
        self.parked.retain(|(id, _)| id.connection != connection);
    }

    fn set_congested(&mut self, _is_congested: bool) {}

    fn wake_at(&mut self) -> Option<Instant> {
        self.timer.map(|(at, _)| at)
    }

    fn on_wake(&mut self, now: Now, _out: &mut Vec<Output>) {
        if let Some((_, id)) = self.timer.take_if(|(at, _)| *at <= now.instant) {
            let reply = echo(&Bytes::from_static(b"woken"));
            self.pending.push(Output::Reply { id, reply });
        }
    }

    fn settle(&mut self, _now: Now, out: &mut Vec<Output>) {
        out.append(&mut self.pending);
    }

    fn is_short_of_memory(&self) -> bool {
        false
    }

    fn begin_stop(&mut self, _now: Now, _out: &mut Vec<Output>) {
        self.stopping = true;
        self.answer_parked();
    }

    fn is_stopped(&self) -> bool {
        self.stopping
    }
}

fn echo(frame: &Bytes) -> Reply {
    throttled(frame, Duration::ZERO)
}

fn throttled(frame: &Bytes, throttle: Duration) -> Reply {
    let length = i32::try_from(frame.len()).expect("frames are small");
    let parts = vec![Bytes::copy_from_slice(&length.to_be_bytes()), frame.clone()];
    let (errors, waited) = (ErrorTally::default(), Waited::default());
    Reply::Frame { parts, lent: 0, errors, throttle, throttle_at: None, waited }
}

/// What a test wants to be different.
pub(crate) struct Wishes {
    pub(crate) shards: u16,
    pub(crate) net: NetConfig,
    pub(crate) guard: GuardMode,
    pub(crate) log: Log,
}

impl Default for Wishes {
    fn default() -> Self {
        #[expect(clippy::disallowed_methods, reason = "whoever runs the test wants to see why it ended")]
        let (log, _writer) = Log::start(Box::new(std::io::stderr())).expect("a thread starts");
        Self {
            shards: 2,
            net: NetConfig {
                rate_windows: Windows { count: 11, millis: 1000 },
                entrance: aplomb_server::net::Entrance::open(),
                max_frame: 8 << 20,
                max_frames: 64 << 20,
                min_frame_rate: 64 << 10,
                max_replies: 512 << 20,
                connections: ConnectionLimits::default(),
                max_idle: None,
                send_buffer: Some(64 * 1024),
                receive_buffer: None,
            },
            guard: GuardMode::Enforce,
            log,
        }
    }
}

/// A server on a free port.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) server: Server<Letters>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) guard: Guard,
}

impl Running {
    pub(crate) fn start(wishes: Wishes) -> Self {
        let Wishes { shards, net, guard, log } = wishes;
        let guard = Guard::start(guard, log.clone()).expect("the kernel has seccomp");
        let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = socket.local_addr().expect("it is bound");
        let seen = Arc::<Seen>::default();
        let cores = (0..shards)
            .map(|shard| Letters {
                shard: ShardId(shard),
                shards,
                seen: Arc::clone(&seen),
                parked: Vec::new(),
                flood: None,
                timer: None,
                pending: Vec::new(),
                stopping: false,
            })
            .collect();
        let config = ServerConfig {
            first: ShardId(0),
            listeners: vec!["PLAINTEXT".into()],
            net,
            guard: guard.clone(),
            log,
            prepare: Arc::new(|_| ()),
        };
        let switchboard = Switchboard::new(usize::from(shards)).expect("descriptors are left");
        let mut server = Server::start(switchboard, config, cores).expect("it starts");
        let (name, protocol) = ("PLAINTEXT".into(), SecurityProtocol::Plaintext);
        server.open(vec![Listener { name, protocol, gate: None, socket }]).expect("it opens");
        Self { address, server, seen, guard }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    pub(crate) fn stop(self) {
        self.server.begin_stop(Duration::from_secs(20));
        assert!(self.server.join().iter().all(Core::is_stopped));
    }
}

/// A client that sends frames and reads frames. Fails rather than hangs.
pub(crate) struct Client(pub(crate) TcpStream);

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        stream.set_write_timeout(Some(Duration::from_secs(30))).expect("a socket");
        Self(stream)
    }

    pub(crate) fn send(&mut self, body: &[u8]) {
        self.0.write_all(&framed(body)).expect("the server reads");
    }

    pub(crate) fn receive(&mut self) -> Vec<u8> {
        self.try_receive().expect("the server answers")
    }

    pub(crate) fn try_receive(&mut self) -> std::io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let mut body = vec![0; usize::try_from(i32::from_be_bytes(length)).expect("a length")];
        self.0.read_exact(&mut body)?;
        Ok(body)
    }

    pub(crate) fn ask(&mut self, body: &[u8]) -> Vec<u8> {
        self.send(body);
        self.receive()
    }

    /// Whether the server has closed the connection, or does so soon.
    pub(crate) fn is_closed(&mut self) -> bool {
        match self.0.read(&mut [0; 1]) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

pub(crate) fn framed(body: &[u8]) -> BytesMut {
    let mut frame = BytesMut::with_capacity(body.len() + 4);
    frame.extend_from_slice(&i32::try_from(body.len()).expect("a small frame").to_be_bytes());
    frame.extend_from_slice(body);
    frame
}

/// Waits until `condition` holds; fails after half a minute.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if condition() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    panic!("it never came to pass: {what}");
}
