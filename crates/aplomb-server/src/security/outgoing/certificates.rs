//! Whose certificate is taken, and what is said of one that is not.

use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::Arc;

use aplomb_broker::config::TlsVersion;
use aplomb_security::client::{Channel, ClientSecurity};
use rustls::crypto::ring::default_provider;
use rustls::{ServerConfig, ServerConnection};

use super::super::client::{ClientTlsSettings, client_tls};
use super::super::tls::{Gate, Resolver, keys};
use super::ends::{Socket, gate, pem, settings};

fn channel(settings: &ClientTlsSettings, host: &str) -> (Channel<Socket>, Socket) {
    let (socket, tls) = (Socket::default(), client_tls(settings).expect("they can be used"));
    let security = ClientSecurity { tls: Some(tls), login: None };
    (Channel::new(socket.clone(), &security, host).expect("a host"), socket)
}

/// Shakes hands, and has the server say a word: the word, or what is wrong.
fn word(mut session: ServerConnection, settings: &ClientTlsSettings, host: &str) -> Result<Vec<u8>, String> {
    let (mut channel, socket) = channel(settings, host);
    channel.write_all(b"word").expect("there is room");
    let (mut heard, mut said) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let up = socket.sent();
        session.read_tls(&mut &up[..]).expect("there is room");
        let broken = session.process_new_packets().is_err();
        // That nothing more is there now is no error here.
        let _ = session.reader().read_to_end(&mut said);
        if said == b"word" && !broken {
            session.writer().write_all(&said).expect("there is room");
            said.clear();
        }
        let mut down = Vec::new();
        while session.wants_write() {
            session.write_tls(&mut down).expect("it is memory");
        }
        socket.arrive(&down);
        match channel.read_to_end(&mut heard) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.to_string()),
            Ok(_) => break,
        }
        if heard == b"word" {
            return Ok(heard);
        }
    }
    Err("nothing moves".to_owned())
}

fn meet(gate: &Gate, settings: &ClientTlsSettings, host: &str) -> Result<Vec<u8>, String> {
    word(gate.connection().expect("a connection").0, settings, host)
}

#[test]
fn the_certificate_has_to_be_the_hosts_by_name_or_by_address() {
    let own = gate("localhost", None);
    for host in ["localhost", "LOCALHOST", "127.0.0.1"] {
        assert_eq!(meet(&own, &settings(), host), Ok(b"word".to_vec()), "{host}");
    }
    for host in ["elsewhere.example", "127.0.0.2", "[::1]", "local"] {
        let wrong = meet(&own, &settings(), host).expect_err(host);
        assert!(wrong.starts_with("its certificate is not for"), "{host}: {wrong}");
    }
    let other = gate("elsewhere", None);
    let wrong = meet(&other, &settings(), "localhost").expect_err("another's");
    assert!(wrong.contains("not for localhost, but for") && wrong.contains("elsewhere.example"), "{wrong}");
    let lax = ClientTlsSettings { checks_host: false, ..settings() };
    assert_eq!(meet(&other, &lax, "localhost"), Ok(b"word".to_vec()));
}

#[test]
fn what_has_expired_or_nothing_vouches_for_is_refused_whatever_host_it_is_for() {
    for lax in [true, false] {
        let settings = ClientTlsSettings { checks_host: !lax, ..settings() };
        let expired = meet(&gate("expired", None), &settings, "localhost");
        assert_eq!(expired, Err("its certificate has expired".to_owned()));
        let alone = meet(&gate("alone", None), &settings, "localhost").expect_err("it vouches for itself");
        assert!(alone.contains("ssl.truststore.location"), "{alone}");
        let distrustful = ClientTlsSettings { truststore: pem("stranger"), ..settings };
        let unknown = meet(&gate("localhost", None), &distrustful, "localhost").expect_err("unknown");
        assert!(unknown.contains("ssl.truststore.location"), "{unknown}");
    }
    // Who trusts it by itself can.
    let trusting = ClientTlsSettings { truststore: pem("alone"), ..settings() };
    assert_eq!(meet(&gate("alone", None), &trusting, "localhost"), Ok(b"word".to_vec()));
}

#[test]
fn a_server_that_wants_a_certificate_gets_it_or_its_wish_is_told() {
    let strict = gate("localhost", Some("authority"));
    for versions in [vec![TlsVersion::V12], vec![TlsVersion::V13]] {
        let settings = ClientTlsSettings { versions, ..settings() };
        let without = meet(&strict, &settings, "localhost").expect_err("it shows none");
        assert!(without.contains("ssl.keystore.location"), "{without}");
        let mutual = ClientTlsSettings { keystore: Some(pem("client")), ..settings.clone() };
        assert_eq!(meet(&strict, &mutual, "localhost"), Ok(b"word".to_vec()));
        let stranger = ClientTlsSettings { keystore: Some(pem("alone")), ..settings };
        let refused = meet(&strict, &stranger, "localhost").expect_err("nothing vouches for it");
        assert!(refused.contains("does not take our certificate"), "{refused}");
    }
}

#[test]
fn an_older_tls_and_what_is_no_tls_are_told_apart() {
    let hears = |bytes: &[u8]| {
        let (mut channel, socket) = channel(&settings(), "localhost");
        channel.write_all(b"word").expect("there is room");
        socket.arrive(bytes);
        channel.read(&mut [0; 64]).expect_err("nothing of use").to_string()
    };
    // TLS 1.1 says that the version is not its own, or goes on with its own.
    let refuses = hears(&[0x15, 3, 2, 0, 2, 2, 70]);
    assert!(refuses.starts_with("it speaks no version of TLS"), "{refuses}");
    let mut hello = vec![0x16, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2];
    hello.extend([9; 32]);
    hello.extend([0, 0xc0, 0x13, 0]);
    let goes_on = hears(&hello);
    assert!(goes_on.starts_with("it speaks no version of TLS"), "{goes_on}");
    for text in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"\0\0\0\x06\x7f\xff\xff\xff\0\0"] {
        assert_eq!(hears(text), "what it says is not TLS");
    }
}

#[test]
fn tls_without_text_in_it_is_listened_to_up_to_a_bound() {
    let keys = keys(&pem("localhost"), None).expect("a key");
    let resolver = Arc::new(Resolver::new(keys, &default_provider()).expect("a key"));
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).expect("they go together");
    let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
    config.send_tls13_tickets = 20_000;
    let mut session = ServerConnection::new(Arc::new(config)).expect("a connection");
    session.set_buffer_limit(None);
    let refused = word(session, &settings(), "localhost");
    assert_eq!(refused, Err("it sends TLS without a byte of text in it".to_owned()));
}
