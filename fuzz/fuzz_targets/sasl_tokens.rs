//! Hands tokens to a mechanism: the first byte says which, then a length of two bytes before each.
//! One of `!` is what a client says that knows the password, as far as that can be said then.

#![no_main]

use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use aplomb_broker::config::{Mechanism, MechanismConfig, SaslConfig, Secret};
use aplomb_broker::metadata::Security;
use aplomb_broker::ports::Reply;
use aplomb_broker::sasl::{Authenticator, Passage, World};
use aplomb_broker::scram::ScramHash;
use aplomb_model::{Instant, Timestamp};
use aplomb_protocol::messages::UserScramCredentialRecord;
use aplomb_protocol::messages::sasl_handshake_request::SaslHandshakeRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use ring::{digest, hmac};

/// One user and its salted passwords.
struct Stored {
    security: Security,
    salted: [Bytes; 2],
}

static STORED: LazyLock<Stored> = LazyLock::new(|| {
    let iterations = NonZeroU32::new(4096).expect("not zero");
    let salted = ScramHash::ALL.map(|hash| hash.salt_password("wonder", b"salt", iterations));
    let mut security = Security::default();
    for (hash, salted) in ScramHash::ALL.into_iter().zip(&salted) {
        let client_key = mac(hash, salted, b"Client Key");
        let stored = UserScramCredentialRecord {
            name: "alice".to_owned(),
            mechanism: hash.to_wire(),
            salt: Bytes::from_static(b"salt"),
            stored_key: digest(hash, &client_key).into(),
            server_key: mac(hash, salted, b"Server Key").into(),
            iterations: 4096,
            ..Default::default()
        };
        security.scram.insert(("alice".to_owned(), hash.to_wire()), stored);
    }
    Stored { security, salted }
});

fuzz_target!(|data: &[u8]| {
    let Some((&choice, mut rest)) = data.split_first() else { return };
    let mechanism = Mechanism::ALL[usize::from(choice) % Mechanism::ALL.len()];
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
    let mut authenticator = Authenticator::new(Arc::new(config), None);
    let request = SaslHandshakeRequest { mechanism: mechanism.name().to_owned() };
    let frame = aplomb_protocol::frame::encode_request(&request, 0, 1, "fuzz").expect("a request").slice(4..);
    let mut say = |token: &Bytes| {
        let mut chance = || [7; 16];
        let (secret, chance, wall) = (&[1; 16], &mut chance, &|| Timestamp(0));
        let mut world = World { security: &STORED.security, secret, chance, tokens: None, wall };
        authenticator.on_frame(token, Instant::START, &mut world)
    };
    assert!(matches!(say(&frame), Passage::Answer(_)));
    let (mut first, mut challenge) = (String::new(), String::new());
    loop {
        let [high, low, behind @ ..] = rest else { return };
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(behind.len());
        let (token, behind) = behind.split_at(length);
        rest = behind;
        let is_honest = token == b"!";
        let token =
            if is_honest { honest(mechanism, &first, &challenge) } else { Bytes::copy_from_slice(token) };
        match say(&token) {
            Passage::Answer(reply) => {
                challenge = text(&reply);
                first = String::from_utf8_lossy(&token).into_owned();
                assert!(challenge.ends_with(",i=4096"), "{challenge}");
            }
            Passage::Authenticated { principal, .. } => {
                assert_eq!(principal.name(), "alice");
                assert!(is_honest || mechanism == Mechanism::Plain || proves(mechanism, &token));
                return;
            }
            Passage::Refused(_) => return,
            Passage::Pass => panic!("nothing passes before the end"),
            Passage::Later(_) => panic!("there are no delegation tokens whose keys are waited for"),
        }
    }
});

/// What a reply says behind its length.
fn text(reply: &Reply) -> String {
    let Reply::Frame { parts, .. } = reply else { panic!("{reply:?} is no frame") };
    String::from_utf8(parts.concat()[4..].to_vec()).expect("SCRAM speaks text")
}

fn hash_of(mechanism: Mechanism) -> Option<(ScramHash, &'static Bytes)> {
    match mechanism {
        Mechanism::ScramSha256 => Some((ScramHash::Sha256, &STORED.salted[0])),
        Mechanism::ScramSha512 => Some((ScramHash::Sha512, &STORED.salted[1])),
        _ => None,
    }
}

fn honest(mechanism: Mechanism, first: &str, challenge: &str) -> Bytes {
    let Some((hash, salted)) = hash_of(mechanism) else { return Bytes::from_static(b"\0alice\0wonder") };
    if challenge.is_empty() {
        return Bytes::from_static(b"n,,n=alice,r=abc");
    }
    let bare = first.splitn(3, ',').nth(2).unwrap_or_default();
    let nonce = challenge.strip_prefix("r=").and_then(|rest| rest.split(',').next()).unwrap_or_default();
    let without = format!("c=biws,r={nonce}");
    let said = format!("{bare},{challenge},{without}");
    let client_key = mac(hash, salted, b"Client Key");
    let signature = mac(hash, &digest(hash, &client_key), said.as_bytes());
    let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(left, right)| left ^ right).collect();
    format!("{without},p={}", STANDARD.encode(proof)).into()
}

/// Nothing but a proof gets in: this is as much of one as can be seen from here.
fn proves(mechanism: Mechanism, token: &[u8]) -> bool {
    let length = hash_of(mechanism).map_or(0, |(_, salted)| salted.len());
    let text = String::from_utf8_lossy(token);
    let proof = text.rsplit_once(",p=").and_then(|(_, proof)| STANDARD.decode(proof).ok());
    proof.is_some_and(|proof| proof.len() == length)
}

fn mac(hash: ScramHash, key: &[u8], data: &[u8]) -> Vec<u8> {
    let algorithm = match hash {
        ScramHash::Sha256 => hmac::HMAC_SHA256,
        ScramHash::Sha512 => hmac::HMAC_SHA512,
    };
    hmac::sign(&hmac::Key::new(algorithm, key), data).as_ref().to_vec()
}

fn digest(hash: ScramHash, data: &[u8]) -> Vec<u8> {
    let algorithm = match hash {
        ScramHash::Sha256 => &digest::SHA256,
        ScramHash::Sha512 => &digest::SHA512,
    };
    digest::digest(algorithm, data).as_ref().to_vec()
}
