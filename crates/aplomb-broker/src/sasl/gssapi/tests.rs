//! Exchanges with a library that is not there: a ticket is the name of who has it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::ports::{ConnectionId, ShardId};
use crate::sasl::said::{Denied, Said};

/// A ticket of `name`. `answer`: the server shows who it is, too.
fn ticket(name: &str, answer: bool) -> Vec<u8> {
    let inside = [
        &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02, u8::from(answer)],
        name.as_bytes(),
    ];
    let inside = inside.concat();
    [&[0x60, u8::try_from(inside.len()).expect("a short name")][..], &inside].concat()
}

struct Fake {
    open: Rc<Cell<usize>>,
    has_keys: bool,
}

struct FakeContext(Rc<Cell<usize>>);

impl Drop for FakeContext {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl GssAcceptor for Fake {
    type Context = FakeContext;

    fn begin(&mut self) -> Result<FakeContext, GssFault> {
        if !self.has_keys {
            return Err(GssFault::passing("there is no keytab"));
        }
        self.open.set(self.open.get() + 1);
        Ok(FakeContext(Rc::clone(&self.open)))
    }

    fn short_name(&self, principal: &str) -> Result<String, GssFault> {
        let name = principal.strip_suffix("@HERE").ok_or(GssFault::lasting("no rule is for it"))?;
        Ok(name.to_owned())
    }
}

impl GssContext for FakeContext {
    fn accept(&mut self, token: &[u8]) -> Result<Accepted, GssFault> {
        match token.get(13..).unwrap_or_default() {
            [_, b'!', ..] => Err(GssFault::lasting("its ticket has expired")),
            [0, name @ ..] => Ok(Accepted { token: vec![], peer: Some(text(name)) }),
            [_, name @ ..] => Ok(Accepted { token: b"here I am".to_vec(), peer: Some(text(name)) }),
            [] => Ok(Accepted { token: b"more".to_vec(), peer: None }),
        }
    }

    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, GssFault> {
        Ok([b"sealed", message].concat())
    }

    fn unwrap(&mut self, token: &[u8]) -> Result<Vec<u8>, GssFault> {
        Ok(token.strip_prefix(b"sealed").ok_or(GssFault::lasting("the seal is broken"))?.to_vec())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("names are text")
}

struct Office {
    queue: GssQueue,
    worker: GssWorker<Fake>,
    open: Rc<Cell<usize>>,
    calls: Arc<AtomicUsize>,
    told: Arc<Mutex<Vec<ConnectionId>>>,
}

impl Office {
    fn new() -> Self {
        let (open, calls) = (Rc::new(Cell::new(0)), Arc::new(AtomicUsize::new(0)));
        let called = Arc::clone(&calls);
        let queue = GssQueue::new(move || {
            called.fetch_add(1, Ordering::Relaxed);
        });
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&told);
        queue.tell_by(move |connection| tell.lock().expect("one thread").push(connection));
        let worker = GssWorker::new(Fake { open: Rc::clone(&open), has_keys: true });
        Self { queue, worker, open, calls, told }
    }

    /// What comes of a token when the worker has looked at it.
    fn say(&mut self, server: &mut GssServer, token: &[u8]) -> Result<Said, Denied> {
        assert_eq!(server.on_message(token, (&self.queue, HERE)), Ok(Said::Later(Duration::from_millis(50))));
        while self.worker.serve_next(&self.queue) {}
        server.on_message(token, (&self.queue, HERE))
    }
}

fn more(token: &[u8]) -> Result<Said, Denied> {
    Ok(Said::More(token.to_vec().into()))
}

fn proved(user: &str) -> Result<Said, Denied> {
    Ok(Said::Proved { user: user.to_owned(), answer: Bytes::new(), ends: None, by_token: false })
}

fn denied(why: &str) -> Result<Said, Denied> {
    Err(Denied::Kerberos { why: why.to_owned(), is_passing: false })
}

const HERE: ConnectionId = ConnectionId { shard: ShardId(1), number: 7 };

const OFFERED: &[u8] = b"sealed\x01\x01\x00\x00";

#[test]
fn a_ticket_gets_in_as_its_owner_whatever_name_it_asks_for() {
    let mut office = Office::new();
    let mut server = GssServer::default();
    assert_eq!(office.say(&mut server, &ticket("alice@HERE", true)), more(b"here I am"));
    assert_eq!(office.say(&mut server, b""), more(OFFERED));
    assert_eq!(office.say(&mut server, b"sealed\x01\x00\x00\x00bob"), proved("alice"));
    assert_eq!((office.open.get(), office.calls.load(Ordering::Relaxed)), (0, 3));
    assert_eq!(*office.told.lock().expect("one thread"), [HERE; 3]);
}

#[test]
fn a_client_that_knows_whom_it_speaks_to_is_offered_at_once() {
    let mut office = Office::new();
    let mut server = GssServer::default();
    assert_eq!(office.say(&mut server, &ticket("alice@HERE", false)), more(OFFERED));
    assert_eq!(office.say(&mut server, b"sealed\x07\x00\x00\x00"), proved("alice"));
}

#[test]
fn what_is_wrong_ends_the_exchange_with_a_reason_for_the_log() {
    let mut office = Office::new();
    let mut of = |tokens: &[&[u8]]| {
        let mut server = GssServer::default();
        tokens.iter().map(|token| office.say(&mut server, token)).last().expect("a token")
    };
    let (quiet, alice, mallory) =
        (ticket("alice@HERE", false), ticket("alice@HERE", true), ticket("mallory@THERE", false));
    let foreign = "its token is not Kerberos's";
    for token in [&b""[..], b"\x60", b"\x60\x84\x00", b"garbage", b"\x60\x06\x06\x06\x2b\x06\x01\x05\x05\x02"]
    {
        assert_eq!(of(&[token]), denied(foreign), "{token:?}");
    }
    assert_eq!(of(&[&ticket("!", false)]), denied("its ticket has expired"));
    assert_eq!(of(&[&alice, b"x"]), denied("it says something where it is to say nothing"));
    assert_eq!(of(&[&quiet, b"x"]), denied("the seal is broken"));
    assert_eq!(of(&[&quiet, b"sealed"]), denied("its choice of a security layer is too short"));
    let layer = "it chooses a security layer, and none was offered";
    assert_eq!(of(&[&quiet, b"sealed\x04\x00\x00\x00"]), denied(layer));
    assert_eq!(of(&[&mallory, b"sealed\x01\x00\x00\x00"]), denied("no rule is for it"));
    assert_eq!(office.open.get(), 0, "contexts go with their exchanges");
}

#[test]
fn without_keys_the_client_is_to_come_again() {
    let mut office = Office::new();
    office.worker = GssWorker::new(Fake { open: Rc::clone(&office.open), has_keys: false });
    let refused = office.say(&mut GssServer::default(), &ticket("alice@HERE", true));
    assert_eq!(refused, Err(Denied::Kerberos { why: "there is no keytab".to_owned(), is_passing: true }));
}

#[test]
fn what_is_not_answered_is_given_up() {
    let office = Office::new();
    let mut server = GssServer::default();
    let mut waited = Duration::ZERO;
    let end = loop {
        match server.on_message(&ticket("alice@HERE", true), (&office.queue, HERE)) {
            Ok(Said::Later(after)) => waited += after,
            end => break end,
        }
    };
    assert_eq!(end, Err(Denied::Silent("its ticket could not be looked at within 10 s")));
    assert!(waited >= Duration::from_secs(10) && waited < Duration::from_millis(10_100), "{waited:?}");
    assert_eq!(office.calls.load(Ordering::Relaxed), 1, "it was asked for once");
}

#[test]
fn what_lies_at_the_desk_has_an_end_and_what_finds_no_room_comes_again() {
    let mut office = Office::new();
    let token = ticket("alice@HERE", true);
    let mut servers: Vec<GssServer> = (0..1030).map(|_| GssServer::default()).collect();
    for server in &mut servers {
        assert!(matches!(server.on_message(&token, (&office.queue, HERE)), Ok(Said::Later(_))));
    }
    assert_eq!(office.calls.load(Ordering::Relaxed), 1024);
    while office.worker.serve_next(&office.queue) {}
    let answers: Vec<_> =
        servers.iter_mut().map(|server| server.on_message(&token, (&office.queue, HERE))).collect();
    assert!(answers[..1024].iter().all(|answer| *answer == more(b"here I am")));
    assert!(answers[1024..].iter().all(|answer| matches!(answer, Ok(Said::Later(_)))));
    while office.worker.serve_next(&office.queue) {}
    assert_eq!(servers[1029].on_message(&token, (&office.queue, HERE)), more(b"here I am"));

    // Large ones have an end of their own.
    let large = [&token[..], &[b'x'; 60 << 10]].concat();
    let mut servers: Vec<GssServer> = (0..70).map(|_| GssServer::default()).collect();
    for server in &mut servers {
        assert!(matches!(server.on_message(&large, (&office.queue, HERE)), Ok(Said::Later(_))));
    }
    assert_eq!(office.calls.load(Ordering::Relaxed), 1024 + 6 + (4 << 20) / large.len());
    let largest = vec![b'x'; 65 << 10];
    let refused = GssServer::default().on_message(&largest, (&office.queue, HERE));
    assert_eq!(refused, Err(Denied::Unsaid("its token is longer than tickets are")));
}

#[test]
fn exchanges_that_do_not_end_are_forgotten() {
    let mut office = Office::new();
    let token = ticket("alice@HERE", true);
    let mut servers: Vec<GssServer> = Vec::new();
    for _ in 0..1034 {
        let mut server = GssServer::default();
        assert_eq!(office.say(&mut server, &token), more(b"here I am"));
        servers.push(server);
    }
    assert_eq!((office.worker.begun(), office.open.get()), (1024, 1024), "the oldest were given up");
    let given_up =
        Denied::Kerberos { why: "its exchange was given up for newer ones".to_owned(), is_passing: true };
    assert_eq!(office.say(&mut servers[9], b""), Err(given_up));
    assert_eq!(office.say(&mut servers[10], b""), more(OFFERED));
    servers.truncate(20);
    office.worker.forget_gone();
    assert_eq!((office.worker.begun(), office.open.get()), (10, 10), "their connections have gone");

    // What a client said that has gone by then is not looked at.
    let mut gone = GssServer::default();
    assert!(gone.on_message(&token, (&office.queue, HERE)).is_ok());
    drop(gone);
    assert!(office.worker.serve_next(&office.queue));
    assert_eq!(office.open.get(), 10);
}

fn said_by_a_client() -> impl Strategy<Value = Vec<u8>> {
    let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
    prop_oneof![
        Just(ticket("alice@HERE", true)),
        Just(ticket("alice@HERE", false)),
        Just(ticket("", false)),
        Just(ticket("mallory@THERE", false)),
        Just(Vec::new()),
        bytes(6).prop_map(|choice| [b"sealed", &choice[..]].concat()),
        bytes(40),
    ]
}

proptest! {
    #[test]
    fn a_proof_comes_of_a_ticket_and_a_choice_alone(
        tokens in proptest::collection::vec(said_by_a_client(), 1..5),
    ) {
        let mut office = Office::new();
        let mut server = GssServer::default();
        for (token, at) in tokens.iter().zip(0..) {
            match office.say(&mut server, token) {
                Ok(Said::More(_)) => {}
                Ok(Said::Proved { user, .. }) => {
                    let alice = [ticket("alice@HERE", true), ticket("alice@HERE", false)];
                    prop_assert!(user == "alice" && alice.contains(&tokens[0]));
                    let quiet = usize::from(tokens[0] == alice[0]);
                    prop_assert!(at == 1 + quiet && tokens[quiet].is_empty() == (quiet == 1));
                    prop_assert!(token.starts_with(b"sealed") && token[6] & 1 == 1 && token.len() >= 10);
                    break;
                }
                Ok(other) => prop_assert!(false, "{other:?}"),
                Err(_) => break,
            }
        }
        drop(server);
        office.worker.forget_gone();
        prop_assert_eq!(office.open.get(), 0);
    }
}
