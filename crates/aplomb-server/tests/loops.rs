//! Stories of one server: what clients do to it, and to each other.

mod support;

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aplomb_server::net::{ConnectionLimits, NetConfig};
use support::{BIG, Client, MOMENT, Running, Wishes, eventually, framed};

#[test]
fn pipelined_requests_are_answered_in_order_wherever_they_are_answered() {
    let running = Running::start(Wishes::default());
    let mut client = running.client();
    // Parked and far ones before near ones; more than may be in flight at once.
    let mut stream = Vec::new();
    let mut expected = Vec::new();
    for n in 0..200 {
        let letter = if n % 20 == 19 { 'r' } else { ['p', 'm', 'e', 'n'][n % 4] };
        let body = format!("{letter}{n}");
        stream.extend_from_slice(&framed(body.as_bytes()));
        if letter != 'n' {
            expected.push(body);
        }
    }
    client.0.write_all(&stream).expect("the server reads");
    for body in expected {
        assert_eq!(String::from_utf8(client.receive()).expect("text"), body);
    }
    running.stop();
}

#[test]
fn a_frame_larger_than_any_buffer_arrives_whole() {
    let running = Running::start(Wishes::default());
    let mut client = running.client();
    let body: Vec<u8> = std::iter::once(b'e').chain((0..3_000_000_u32).map(|i| (i % 251) as u8)).collect();
    let mut other = client.0.try_clone().expect("a socket");
    let sent = body.clone();
    // The server writes while the client still sends the second.
    let sender = std::thread::spawn(move || {
        for _ in 0..2 {
            other.write_all(&framed(&sent)).expect("the server reads");
        }
    });
    assert!(client.receive() == body);
    assert!(client.receive() == body);
    sender.join().expect("all was sent");
    running.stop();
}

#[test]
fn a_core_is_woken_when_it_asked_to_be() {
    let running = Running::start(Wishes::default());
    assert_eq!(running.client().ask(b"t"), b"woken");
    running.stop();
}

#[test]
fn a_client_that_does_not_read_is_not_read_from_and_delays_nobody() {
    let running = Running::start(Wishes { shards: 1, ..Wishes::default() });
    let mut slow = running.client();
    for _ in 0..200 {
        slow.send(b"b");
    }
    let mut quick = running.client();
    for _ in 0..50 {
        assert_eq!(quick.ask(b"e"), b"e");
    }
    let taken = running.seen.requests.load(Ordering::SeqCst) - 50;
    assert!(taken < 40, "{taken} big replies wait for a client that does not read");
    for _ in 0..200 {
        assert_eq!(slow.receive().len(), BIG);
    }
    running.stop();
}

#[test]
fn a_throttled_client_is_not_read_from_until_its_time_is_over() {
    let running = Running::start(Wishes::default());
    let mut client = running.client();
    let before = aplomb_server::clock::instant();
    // Each of the two is answered at once, and what comes behind it waits.
    for letters in [b"q", b"q", b"e"] {
        assert_eq!(client.ask(letters), letters);
    }
    assert!(aplomb_server::clock::instant() >= before + 2 * MOMENT);
    running.stop();
}

#[test]
fn a_throttled_client_delays_nobody_and_is_not_taken_for_idle() {
    let net = NetConfig { max_idle: Some(Duration::from_millis(300)), ..Wishes::default().net };
    let running = Running::start(Wishes { net, shards: 1, ..Wishes::default() });
    let (mut throttled, mut idle) = (running.client(), running.client());
    assert_eq!(throttled.ask(b"Q"), b"Q");
    throttled.send(b"e");
    assert_eq!(running.client().ask(b"e"), b"e");
    assert!(idle.is_closed());
    throttled.0.set_read_timeout(Some(Duration::from_millis(10))).expect("a socket");
    let error = throttled.try_receive().expect_err("it is not read from");
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "it is connected");
    assert_eq!(running.seen.requests.load(Ordering::SeqCst), 2, "its second request was not taken up");
    running.stop();
}

#[test]
fn a_client_that_takes_nothing_is_let_go_when_replies_fill_the_memory() {
    let net = NetConfig { max_frames: 8 << 20, ..Wishes::default().net };
    let running = Running::start(Wishes { net, shards: 1, ..Wishes::default() });
    let mut slow: Vec<Client> = (0..3).map(|_| running.client()).collect();
    for client in &mut slow {
        client.send(b"b");
    }
    let mut quick = running.client();
    assert_eq!(quick.ask(b"e"), b"e");
    eventually("the core heard that they are gone", || running.seen.closed.load(Ordering::SeqCst) == 3);
    assert_eq!(quick.ask(b"e"), b"e");
    running.stop();
}

#[test]
fn replies_beyond_what_may_wait_cost_the_slowest_takers_their_connections() {
    let net = NetConfig { max_replies: 2 * BIG, ..Wishes::default().net };
    let running = Running::start(Wishes { net, shards: 1, ..Wishes::default() });
    let mut slow: Vec<Client> = (0..4).map(|_| running.client()).collect();
    for client in &mut slow {
        client.send(b"b");
    }
    let mut quick = running.client();
    eventually("some of them are closed", || {
        assert_eq!(quick.ask(b"e"), b"e");
        running.seen.closed.load(Ordering::SeqCst) > 0
    });
    let answered = slow.iter_mut().filter_map(|client| client.try_receive().ok()).count();
    assert!((1..4).contains(&answered), "{answered} of them had their answer all the same");
    assert_eq!(quick.ask(b"b").len(), BIG);
    running.stop();
}

#[test]
fn half_frames_that_fill_the_memory_do_not_keep_a_whole_one_out() {
    let net = NetConfig { max_frames: 1 << 20, ..Wishes::default().net };
    let running = Running::start(Wishes { net, ..Wishes::default() });
    // Each announces two megabytes and sends a tenth of one.
    let mut half: Vec<Client> = (0..12).map(|_| running.client()).collect();
    for client in &mut half {
        client
            .0
            .write_all(&framed(&vec![b'e'; 2 << 20])[..100_000])
            .expect("the server or the system takes it");
    }
    let mut large = running.client();
    let body = vec![b'e'; 3 << 20];
    // It has to wait for those that are ahead of it, and they never end: the stuck are closed.
    large.send(&body);
    assert!(large.receive() == body);
    running.stop();
}

#[test]
fn frames_that_dribble_and_fill_the_memory_delay_no_small_one_and_are_let_go() {
    let net = NetConfig { max_frames: 4 << 20, ..Wishes::default().net };
    let running = Running::start(Wishes { net, shards: 1, ..Wishes::default() });
    // Each announces four megabytes and sends one, and a byte now and then.
    let mut dribbling: Vec<Client> = (0..4).map(|_| running.client()).collect();
    for client in &mut dribbling {
        client.0.write_all(&framed(&vec![b'e'; 4 << 20])[..1_000_000]).expect("the server reads");
    }
    let mut small = running.client();
    let mut large = running.client();
    let body = vec![b'e'; 1 << 20];
    let mut other = large.0.try_clone().expect("a socket");
    let sent = body.clone();
    let sender = std::thread::spawn(move || other.write_all(&framed(&sent)).expect("the server reads"));
    eventually("the first of them is closed", || {
        assert_eq!(small.ask(b"e"), b"e");
        for client in &mut dribbling {
            let _ = client.0.write(b"e");
        }
        running.seen.closed.load(Ordering::SeqCst) > 0
    });
    assert!(large.receive() == body);
    sender.join().expect("all was sent");
    running.stop();
}

#[test]
fn a_connection_that_holds_its_share_of_the_memory_waits_for_its_own_requests() {
    let net = NetConfig { max_frames: 8 << 20, ..Wishes::default().net };
    let running = Running::start(Wishes { net, shards: 1, ..Wishes::default() });
    let (mut greedy, mut other) = (running.client(), running.client());
    let mut stream = greedy.0.try_clone().expect("a socket");
    let parked = vec![b'p'; 200_000];
    let sender = std::thread::spawn(move || {
        for _ in 0..20 {
            stream.write_all(&framed(&parked)).expect("the server reads");
        }
    });
    eventually("it has its share", || running.seen.requests.load(Ordering::SeqCst) >= 6);
    for _ in 0..20 {
        assert_eq!(other.ask(b"e"), b"e");
    }
    assert_eq!(running.seen.requests.load(Ordering::SeqCst), 6 + 20, "and no more of the memory");
    let receiver = std::thread::spawn(move || {
        for _ in 0..20 {
            assert_eq!(greedy.receive().len(), 200_000);
        }
    });
    eventually("all of it is answered", || {
        assert_eq!(other.ask(b"r"), b"r");
        receiver.is_finished()
    });
    receiver.join().expect("all was received");
    sender.join().expect("all was sent");
    running.stop();
}

#[test]
fn a_malformed_frame_costs_its_connection_and_no_other() {
    let running = Running::start(Wishes::default());
    let mut good = running.client();
    assert_eq!(good.ask(b"e1"), b"e1");
    for garbage in [&[0xff_u8; 64][..], b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", &[0x7f, 0xff, 0xff, 0xff]] {
        let mut bad = running.client();
        bad.0.write_all(garbage).expect("the server reads");
        assert!(bad.is_closed());
    }
    // What was asked before is answered before the close.
    let mut bad = running.client();
    bad.0
        .write_all(&[&framed(b"e")[..], &framed(b"?")[..], &framed(b"e")[..]].concat())
        .expect("the server reads");
    assert_eq!(bad.receive(), b"e");
    assert!(bad.is_closed());
    assert_eq!(good.ask(b"e2"), b"e2");
    running.stop();
}

#[test]
fn what_a_client_sent_before_it_left_is_still_done() {
    let running = Running::start(Wishes::default());
    let mut client = running.client();
    let stream: Vec<u8> = (0..500).flat_map(|_| framed(b"n")).collect();
    client.0.write_all(&stream).expect("the server reads");
    drop(client);
    eventually("all of it was done", || running.seen.requests.load(Ordering::SeqCst) == 500);
    eventually("the core heard of the end", || running.seen.closed.load(Ordering::SeqCst) == 1);
    running.stop();
}

#[test]
fn what_waits_for_a_client_that_has_left_goes_however_much_it_is() {
    let running = Running::start(Wishes::default());
    let mut client = running.client();
    let stream: Vec<u8> = (0..500).flat_map(|_| framed(b"p")).collect();
    client.0.write_all(&stream).expect("the server reads");
    eventually("as many wait as may", || running.seen.requests.load(Ordering::SeqCst) == 32);
    drop(client);
    eventually("the core heard of the end", || running.seen.closed.load(Ordering::SeqCst) == 1);
    running.stop();
}

#[test]
fn more_messages_than_a_mailbox_holds_arrive_all_the_same() {
    let running = Running::start(Wishes::default());
    // Connections are dealt out evenly: one a shard, and both flood each other.
    let (mut one, mut two) = (running.client(), running.client());
    for _ in 0..5 {
        one.send(b"M");
        two.send(b"M");
        assert_eq!(one.receive(), b"M");
        assert_eq!(two.receive(), b"M");
    }
    running.stop();
}

#[test]
fn a_long_turn_of_one_shard_keeps_no_client_of_another_waiting() {
    let running = Running::start(Wishes::default());
    // One to a shard, and the third to the first one's.
    let (mut one, mut two, mut three) = (running.client(), running.client(), running.client());
    two.send(b"h");
    eventually("the shard is held", || running.seen.is_held.load(Ordering::SeqCst));
    one.send(b"M");
    eventually("its mailbox is full", || running.seen.requests.load(Ordering::SeqCst) == 2);
    for _ in 0..100 {
        assert_eq!(three.ask(b"e"), b"e");
    }
    running.seen.may_go_on.store(true, Ordering::SeqCst);
    assert_eq!((two.receive(), one.receive()), (b"h".to_vec(), b"M".to_vec()));
    running.stop();
}

#[test]
fn connections_beyond_the_limits_are_refused_or_wait() {
    let connections = ConnectionLimits { total: 3, per_ip: 2, ..ConnectionLimits::default() };
    let connections = ConnectionLimits {
        per_ip_overrides: [("127.0.0.1".parse().expect("an address"), 100)].into(),
        ..connections
    };
    let net = NetConfig { connections, ..Wishes::default().net };
    let running = Running::start(Wishes { net, ..Wishes::default() });
    let mut three: Vec<Client> = (0..3).map(|_| running.client()).collect();
    for client in &mut three {
        assert_eq!(client.ask(b"e"), b"e");
    }
    let mut fourth = running.client();
    fourth.send(b"e");
    fourth.0.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket");
    assert!(fourth.try_receive().is_err(), "nobody accepts it yet");
    drop(three.pop());
    fourth.0.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
    assert_eq!(fourth.receive(), b"e");
    running.stop();

    let connections = ConnectionLimits { per_ip: 1, ..ConnectionLimits::default() };
    let net = NetConfig { connections, ..Wishes::default().net };
    let running = Running::start(Wishes { net, ..Wishes::default() });
    let mut first = running.client();
    assert_eq!(first.ask(b"e"), b"e");
    assert!(running.client().is_closed());
    assert_eq!(first.ask(b"e"), b"e");
    running.stop();
}

#[test]
fn an_idle_connection_is_closed_and_one_that_waits_for_us_is_not() {
    let net = NetConfig { max_idle: Some(Duration::from_millis(300)), ..Wishes::default().net };
    let running = Running::start(Wishes { net, shards: 1, ..Wishes::default() });
    let (mut idle, mut waits) = (running.client(), running.client());
    assert_eq!(idle.ask(b"e"), b"e");
    waits.send(b"p");
    assert!(idle.is_closed());
    assert_eq!(running.client().ask(b"r"), b"r");
    assert_eq!(waits.receive(), b"p");
    running.stop();
}

#[test]
fn a_stop_answers_what_was_asked_and_closes_the_door() {
    let running = Running::start(Wishes::default());
    let address = running.address;
    let mut client = running.client();
    client.send(b"p");
    eventually("it is parked", || running.seen.requests.load(Ordering::SeqCst) == 1);
    running.stop();
    assert_eq!(client.receive(), b"p");
    assert!(client.is_closed());
    assert!(std::net::TcpStream::connect(address).is_err());
}
