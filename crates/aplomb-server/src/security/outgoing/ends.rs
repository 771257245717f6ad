//! The two ends of a connection, and the line between them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::{
    ClientAuth, Mechanism, MechanismConfig, SaslConfig, Secret, StoreKind, TlsVersion,
};
use aplomb_broker::metadata::Security;
use aplomb_broker::ports::Reply;
use aplomb_broker::sasl::{Authenticator, Passage, World};
use aplomb_model::{Instant, Timestamp};
use aplomb_security::client::{Channel, ClientSecurity, Credentials, Login, LoginError, NONCE, Progress};
use aplomb_security::scram::ScramHash;
use bytes::Bytes;
use rustls::ServerConnection;

use super::super::client::{ClientTlsSettings, client_tls};
use super::super::tls::{Gate, Material, TlsSettings};

/// A file with a key and its certificate, or with a certificate alone.
pub(super) fn pem(name: &str) -> Material {
    macro_rules! files {
        ($($name:literal)*) => {
            match name {
                $($name => &include_bytes!(concat!("../../../tests/golden/hosts/", $name, ".pem"))[..],)*
                other => panic!("there is no {other}"),
            }
        };
    }
    let bytes = files!("authority" "stranger" "localhost" "elsewhere" "expired" "client" "alone");
    Material { kind: StoreKind::Pem, bytes: bytes.to_vec().into(), key: None, password: None }
}

/// A server's TLS, with the key of this name. `trust`: whose clients' certificates it wants.
pub(super) fn gate(name: &str, trust: Option<&str>) -> Gate {
    let settings = TlsSettings {
        keystore: pem(name),
        key_password: None,
        truststore: trust.map(pem),
        client_auth: if trust.is_some() { ClientAuth::Required } else { ClientAuth::None },
        versions: vec![TlsVersion::V12, TlsVersion::V13],
        suites: Vec::new(),
        rules: "DEFAULT".to_owned(),
    };
    Gate::new(&settings).expect("they can be used")
}

/// A client's TLS that trusts the authority.
pub(super) fn settings() -> ClientTlsSettings {
    ClientTlsSettings {
        truststore: pem("authority"),
        keystore: None,
        key_password: None,
        checks_host: true,
        versions: vec![TlsVersion::V12, TlsVersion::V13],
        suites: Vec::new(),
    }
}

/// Of one user, alice.
fn security(password: &str) -> Security {
    let hash = ScramHash::Sha256;
    let salted = hash.salt_password(password, b"salt", 4096.try_into().expect("not zero"));
    let stored = hash.credential("alice", Bytes::from_static(b"salt"), &salted, 4096);
    let mut security = Security::default();
    security.scram.insert(("alice".to_owned(), hash.to_wire()), stored);
    security
}

/// What is on its way.
#[derive(Debug, Default)]
pub(super) struct Underway {
    up: Vec<u8>,
    down: VecDeque<u8>,
}

/// The client's end of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Socket(Rc<RefCell<Underway>>);

impl Socket {
    /// Something has arrived for the client.
    pub(super) fn arrive(&self, bytes: &[u8]) {
        self.0.borrow_mut().down.extend(bytes);
    }

    /// What the client has sent.
    pub(super) fn sent(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.borrow_mut().up)
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let down = &mut self.0.borrow_mut().down;
        if down.is_empty() { Err(ErrorKind::WouldBlock.into()) } else { down.read(into) }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().up.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What has come of frames.
#[derive(Default)]
struct Cutter(Vec<u8>);

impl Cutter {
    fn next_frame(&mut self) -> Option<Bytes> {
        let end = 4 + usize::try_from(u32::from_be_bytes(*self.0.first_chunk()?)).expect("it fits");
        let frame = self.0.get(4..end).map(Bytes::copy_from_slice)?;
        self.0.drain(..end);
        Some(frame)
    }
}

/// What comes of a login.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// As this user.
    In(String),
    Refused(LoginError),
}

/// Our server, without a socket.
struct ServerEnd {
    session: Option<ServerConnection>,
    cutter: Cutter,
    authenticator: Authenticator,
    security: Security,
    user: Option<String>,
    said: Vec<u8>,
}

pub(super) struct Ends {
    server: ServerEnd,
    channel: Channel<Socket>,
    socket: Socket,
    login: Login,
    cutter: Cutter,
    heard: Vec<u8>,
    carried: (usize, usize),
    /// Behind so many bytes what comes next is held up for a moment, in both directions.
    pub(super) cut: Option<usize>,
    /// Which byte from the server is changed, and how.
    pub(super) changed: Option<(usize, u8)>,
}

impl Ends {
    pub(super) fn new(gate: Option<&Gate>, mechanism: Mechanism, credentials: &Credentials) -> Self {
        let users = [("alice".to_owned(), Secret::new("wonder".to_owned()))];
        let config = SaslConfig {
            mechanisms: vec![MechanismConfig {
                mechanism,
                max_age: None,
                users: users.into(),
                tokens: None,
                kerberos: None,
            }],
            max_receive: 1 << 19,
            failure_delay: Duration::ZERO,
        };
        let tls = gate.map(|_| client_tls(&settings()).expect("they can be used"));
        let security = ClientSecurity { tls, login: Some(credentials.clone()) };
        let socket = Socket::default();
        let mut channel = Channel::new(socket.clone(), &security, "localhost").expect("a host");
        let (login, first) = Login::begin(credentials, "me", "localhost", [7; NONCE]).expect("a login");
        channel.write_all(&first).expect("there is room");
        let server = ServerEnd {
            session: gate.map(|gate| gate.connection().expect("a connection").0),
            cutter: Cutter::default(),
            authenticator: Authenticator::new(Arc::new(config), None),
            security: self::security("wonder"),
            user: None,
            said: Vec::new(),
        };
        Self {
            server,
            channel,
            socket,
            login,
            cutter: Cutter::default(),
            heard: Vec::new(),
            carried: (0, 0),
            cut: None,
            changed: None,
        }
    }

    /// Until the login is over, or nothing moves any more.
    pub(super) fn talk(&mut self) -> Result<Outcome, String> {
        loop {
            let up = self.socket.sent();
            let parts = split(&up, &mut self.carried.1, self.cut);
            let down: Vec<u8> = parts.iter().flat_map(|part| self.server.take(part)).collect();
            if down.is_empty() {
                return Err("nothing moves".to_owned());
            }
            let start = self.carried.0;
            let mut down = down;
            if let Some((place, bits)) =
                self.changed.filter(|(place, _)| (start..start + down.len()).contains(place))
            {
                down[place - start] ^= bits;
            }
            for part in split(&down, &mut self.carried.0, self.cut) {
                self.socket.arrive(part);
                if let Some(outcome) = self.listen()? {
                    return Ok(outcome);
                }
            }
        }
    }

    fn listen(&mut self) -> Result<Option<Outcome>, String> {
        let mut buffer = [0; 512];
        loop {
            let read = match self.channel.read(&mut buffer) {
                Ok(0) => return Err("closed".to_owned()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.to_string()),
            };
            self.heard.extend_from_slice(&buffer[..read]);
            self.cutter.0.extend_from_slice(&buffer[..read]);
            while let Some(frame) = self.cutter.next_frame() {
                match self.login.on_frame(&frame) {
                    Ok(Progress::Say(frame)) => {
                        self.channel.write_all(&frame).map_err(|error| error.to_string())?
                    }
                    Ok(Progress::Done { .. }) => {
                        return Ok(Some(Outcome::In(self.server.user.clone().expect("the server knows"))));
                    }
                    Err(error) => return Ok(Some(Outcome::Refused(error))),
                }
            }
        }
    }

    /// How many bytes have come from the server, and how many from the client.
    pub(super) fn carried(&self) -> (usize, usize) {
        self.carried
    }

    /// The text that has come to the client.
    pub(super) fn heard(&self) -> &[u8] {
        &self.heard
    }

    /// The text that the server has sent.
    pub(super) fn said(&self) -> &[u8] {
        &self.server.said
    }
}

/// What is carried, in two parts if the cut is in it.
fn split<'b>(bytes: &'b [u8], carried: &mut usize, cut: Option<usize>) -> Vec<&'b [u8]> {
    let at = cut.and_then(|cut| cut.checked_sub(*carried)).filter(|at| (1..bytes.len()).contains(at));
    *carried += bytes.len();
    match at {
        Some(at) => vec![&bytes[..at], &bytes[at..]],
        None => vec![bytes],
    }
}

impl ServerEnd {
    fn take(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut down = Vec::new();
        let mut text = Vec::new();
        match &mut self.session {
            None => text.extend_from_slice(bytes),
            Some(session) => {
                while !bytes.is_empty() {
                    session.read_tls(&mut bytes).expect("there is room");
                    if session.process_new_packets().is_err() {
                        break;
                    }
                    // That nothing more is there now is no error here.
                    let _ = session.reader().read_to_end(&mut text);
                }
            }
        }
        self.cutter.0.append(&mut text);
        while let Some(frame) = self.cutter.next_frame() {
            let answer = self.answer(&frame);
            self.said.extend_from_slice(&answer);
            match &mut self.session {
                None => down.extend_from_slice(&answer),
                Some(session) => session.writer().write_all(&answer).expect("there is room"),
            }
        }
        if let Some(session) = &mut self.session {
            while session.wants_write() {
                session.write_tls(&mut down).expect("it is memory");
            }
        }
        down
    }

    fn answer(&mut self, frame: &Bytes) -> Vec<u8> {
        let (mut chance, wall) = (|| [3; 16], || Timestamp(0));
        let mut world = World {
            security: &self.security,
            secret: &[1; 16],
            chance: &mut chance,
            tokens: None,
            wall: &wall,
        };
        let reply = match self.authenticator.on_frame(frame, Instant::START, &mut world) {
            Passage::Answer(reply) => Some(reply),
            Passage::Authenticated { reply, principal, .. } => {
                self.user = Some(principal.name().to_owned());
                Some(reply)
            }
            Passage::Refused(refusal) => refusal.reply,
            other => panic!("{other:?}"),
        };
        match reply {
            Some(Reply::Frame { parts, .. }) => parts.concat(),
            other => panic!("{other:?} is no answer"),
        }
    }
}
