//! Answers a client's login as a server: the first byte says by which mechanism it is, then a
//! length of two bytes stands before each message. One of `!` is what a server says that knows the
//! password, one that begins with `?` is a whole frame.

#![no_main]

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};

use aplomb_protocol::ApiKey;
use aplomb_protocol::frame::{RequestHead, ResponseFrame};
use aplomb_protocol::messages::{SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeResponse};
use aplomb_protocol::request::decode_request;
use aplomb_security::Secret;
use aplomb_security::client::{BearerToken, Credentials, Login, NONCE, Progress, ScramPassword};
use aplomb_security::scram::{ClientFinal, ClientFirst, ScramHash, server_final, server_first};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

const PASSWORD: &str = "wonder-of-wonders";

/// The same for all runs: what is derived for a salt is kept.
static CREDENTIALS: LazyLock<[Credentials; 4]> = LazyLock::new(|| {
    let scram = |hash| {
        let password = Secret::new(PASSWORD.to_owned());
        Credentials::Scram(Arc::new(ScramPassword::new(hash, "alice".to_owned(), password, false)))
    };
    let token = BearerToken::new(PASSWORD, BTreeMap::new()).expect("a token");
    [
        Credentials::Plain { user: "alice".to_owned(), password: Secret::new(PASSWORD.to_owned()) },
        scram(ScramHash::Sha256),
        scram(ScramHash::Sha512),
        Credentials::Token(Arc::new(token)),
    ]
});

fuzz_target!(|data: &[u8]| {
    let Some((&choice, mut rest)) = data.split_first() else { return };
    let credentials = &CREDENTIALS[usize::from(choice) % CREDENTIALS.len()];
    let (mut login, mut frame) = Login::begin(credentials, "fuzz", "localhost", [7; NONCE]).expect("a login");
    let (mut said, mut is_honest) = (String::new(), true);
    loop {
        let [high, low, behind @ ..] = rest else { return };
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(behind.len());
        let (message, behind) = behind.split_at(length);
        rest = behind;
        is_honest &= message == b"!";
        let answer = match message {
            b"!" => honest(&frame, credentials, &mut said),
            [b'?', whole @ ..] => Bytes::copy_from_slice(whole),
            text => within(&frame, text),
        };
        match login.on_frame(&answer) {
            Ok(Progress::Say(next)) => frame = next,
            Ok(Progress::Done { .. }) => {
                let is_proved = !matches!(credentials, Credentials::Scram(_)) || is_honest;
                assert!(is_proved, "a server that does not know the password is believed");
                return;
            }
            Err(error) => {
                let words = error.to_string();
                assert!(words.len() < 2000 && !words.contains(PASSWORD), "{words}");
                assert!(login.on_frame(&answer).is_err(), "a login is over at its first fault");
                return;
            }
        }
    }
});

/// The number of a request, and what it says if it is of a mechanism.
fn heard(frame: &Bytes) -> (i32, Option<Bytes>) {
    let mut body = aplomb_protocol::Reader::new(frame.slice(4..));
    let head = RequestHead::decode(&mut body).expect("a request");
    let said = (head.api == ApiKey::SaslAuthenticate).then(|| {
        let request: SaslAuthenticateRequest = decode_request(&mut body, head.version).expect("a body");
        request.auth_bytes
    });
    (head.correlation_id, said)
}

/// These bytes as the answer of a mechanism, or as the name of one.
fn within(frame: &Bytes, text: &[u8]) -> Bytes {
    let whole = match heard(frame) {
        (number, Some(_)) => {
            let body = SaslAuthenticateResponse { auth_bytes: Bytes::copy_from_slice(text), ..Default::default() };
            ResponseFrame::encode(ApiKey::SaslAuthenticate, 1, number, &body)
        }
        (number, None) => {
            let mechanisms = vec![String::from_utf8_lossy(text).into_owned()];
            let body = SaslHandshakeResponse { error_code: 33, mechanisms };
            ResponseFrame::encode(ApiKey::SaslHandshake, 1, number, &body)
        }
    };
    whole.expect("an answer").slice(4..)
}

fn honest(frame: &Bytes, credentials: &Credentials, said: &mut String) -> Bytes {
    let (number, message) = heard(frame);
    let Some(message) = message else {
        let body = SaslHandshakeResponse::default();
        return ResponseFrame::encode(ApiKey::SaslHandshake, 1, number, &body).expect("an answer").slice(4..);
    };
    let Some(hash) = ScramHash::from_name(credentials.mechanism()) else { return within(frame, b"") };
    if let Some(first) = ClientFirst::parse(&message) {
        let challenge = server_first(&format!("{}more", first.nonce), b"salt", 4096);
        *said = format!("{},{challenge}", first.bare);
        return within(frame, challenge.as_bytes());
    }
    let last = ClientFinal::parse(&message).expect("a proof");
    let salted = hash.salt_password(PASSWORD, b"salt", NonZeroU32::new(4096).expect("not zero"));
    let signed = format!("{said},{}", last.without_proof);
    within(frame, server_final(&hash.hmac(&hash.server_key(&salted), signed.as_bytes())).as_bytes())
}
