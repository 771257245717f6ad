//! Logins against servers that say what they should, and what they should not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::ErrorCode;
use aplomb_protocol::frame::{RequestHead, ResponseFrame};
use aplomb_protocol::messages::{
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use aplomb_protocol::request::decode_request;
use aplomb_protocol::{ApiKey, Message, Reader, Request};
use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::Secret;
use crate::scram::{ClientFinal, ClientFirst, ScramHash, server_final, server_first};

const PASSWORD: &str = "wonder";

fn plain() -> Credentials {
    Credentials::Plain { user: "alice".to_owned(), password: Secret::new(PASSWORD.to_owned()) }
}

fn scram() -> Credentials {
    let password = Secret::new(PASSWORD.to_owned());
    Credentials::Scram(Arc::new(ScramPassword::new(ScramHash::Sha256, "alice".to_owned(), password, false)))
}

fn token(extensions: &[(&str, &str)]) -> Credentials {
    let extensions =
        extensions.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Credentials::Token(Arc::new(BearerToken::new("abc.def\n", extensions).expect("a token")))
}

/// A request as a server has it: its number, and its body.
fn heard<T: Request>(frame: &Bytes) -> (i32, T) {
    let mut body = Reader::new(frame.slice(4..));
    let head = RequestHead::decode(&mut body).expect("a request");
    assert_eq!(head.api, T::KEY);
    (head.correlation_id, decode_request(&mut body, head.version).expect("a body"))
}

fn answer(api: ApiKey, number: i32, body: &impl Message) -> Bytes {
    ResponseFrame::encode(api, 1, number, body).expect("an answer").slice(4..)
}

fn in_answer(number: i32, text: &[u8]) -> Bytes {
    let auth_bytes = Bytes::copy_from_slice(text);
    answer(ApiKey::SaslAuthenticate, number, &SaslAuthenticateResponse { auth_bytes, ..Default::default() })
}

fn refusal(number: i32, why: &str) -> Bytes {
    let error_code = ErrorCode::SaslAuthenticationFailed.to_wire();
    let body =
        SaslAuthenticateResponse { error_code, error_message: Some(why.to_owned()), ..Default::default() };
    answer(ApiKey::SaslAuthenticate, number, &body)
}

/// A login whose mechanism is taken: it, the number of its next request, and what that says.
fn begun(credentials: &Credentials) -> (Login, i32, Bytes) {
    let (mut login, frame) = Login::begin(credentials, "me", "host", [7; NONCE]).expect("a login");
    let (number, request) = heard::<SaslHandshakeRequest>(&frame);
    assert_eq!(request.mechanism, credentials.mechanism());
    let mechanisms = vec!["PLAIN".to_owned(), request.mechanism];
    let taken = SaslHandshakeResponse { mechanisms, ..Default::default() };
    let (next, said) = said(login.on_frame(&answer(ApiKey::SaslHandshake, number, &taken)));
    (login, next, said)
}

fn said(progress: Result<Progress, LoginError>) -> (i32, Bytes) {
    let Ok(Progress::Say(frame)) = progress else { panic!("{progress:?} says nothing") };
    let (number, request) = heard::<SaslAuthenticateRequest>(&frame);
    (number, request.auth_bytes)
}

const DONE: Result<Progress, LoginError> = Ok(Progress::Done { lifetime: None });

#[test]
fn a_password_is_said_once_it_is_asked_for() {
    let (mut login, number, said) = begun(&plain());
    assert_eq!(said, &b"\0alice\0wonder"[..]);
    let body = SaslAuthenticateResponse { session_lifetime_ms: 1500, ..Default::default() };
    let done = login.on_frame(&answer(ApiKey::SaslAuthenticate, number, &body));
    assert_eq!(done, Ok(Progress::Done { lifetime: Some(Duration::from_millis(1500)) }));
    let behind = login.on_frame(&in_answer(number, b""));
    assert!(matches!(behind, Err(LoginError::Form(_))), "{behind:?}");
}

#[test]
fn a_mechanism_that_is_not_taken_is_not_changed_for_another() {
    for offered in ["PLAIN", "", "SCRAM-SHA-512,PLAIN"] {
        let (mut login, frame) = Login::begin(&scram(), "me", "host", [7; NONCE]).expect("a login");
        let (number, _) = heard::<SaslHandshakeRequest>(&frame);
        let error_code = ErrorCode::UnsupportedSaslMechanism.to_wire();
        let mechanisms = offered.split(',').map(str::to_owned).collect();
        let refused = SaslHandshakeResponse { error_code, mechanisms };
        let refused = answer(ApiKey::SaslHandshake, number, &refused);
        let offered = offered.replace(',', ", ");
        assert_eq!(login.on_frame(&refused), Err(LoginError::Mechanism { wanted: "SCRAM-SHA-256", offered }));
        assert!(login.on_frame(&refused).is_err(), "nothing is said any more");
    }
}

#[test]
fn what_a_server_says_of_us_is_shown_without_our_secret_and_not_at_any_length() {
    let words = format!("no\n{PASSWORD}, {}", "x".repeat(5000));
    let (mut login, number, _) = begun(&plain());
    let Err(LoginError::Refused(why)) = login.on_frame(&refusal(number, &words)) else { panic!("it is in") };
    assert!(why.starts_with("no [hidden], xxx") && why.len() < 400, "{why}");
    assert!(!format!("{login:?} {:?}", plain()).contains(PASSWORD));
    assert!(!format!("{:?} {:?}", scram(), token(&[])).contains(PASSWORD));
}

#[test]
fn an_answer_to_another_request_and_one_that_is_cut_off_end_the_login() {
    for end in 0..10 {
        let (mut login, number, _) = begun(&plain());
        let whole = in_answer(number, b"");
        assert!(login.on_frame(&whole.slice(..end)).is_err(), "{end} bytes of {}", whole.len());
    }
    let (mut login, number, _) = begun(&plain());
    assert!(matches!(login.on_frame(&in_answer(number + 1, b"")), Err(LoginError::Form(_))));
    let (mut login, number, _) = begun(&plain());
    assert!(matches!(login.on_frame(&in_answer(number, b"more")), Err(LoginError::Form(_))));
}

#[test]
fn a_token_is_shown_with_its_extensions_and_a_refusal_is_heard_out() {
    let (mut login, number, first) = begun(&token(&[("logicalCluster", "lkc-1")]));
    assert_eq!(first, &b"n,,\x01auth=Bearer abc.def\x01logicalCluster=lkc-1\x01\x01"[..]);
    assert_eq!(login.on_frame(&in_answer(number, b"")), DONE);
    let (mut login, number, _) = begun(&token(&[]));
    let (number, word) =
        said(login.on_frame(&in_answer(number, b"{\"status\":\"invalid_token\",\"x\":\"abc.def\"}")));
    assert_eq!(word, &b"\x01"[..]);
    // Even one that lets us in then has refused us.
    let refused = login.on_frame(&in_answer(number, b""));
    let why = "the token was refused: {\"status\":\"invalid_token\",\"x\":\"[hidden]\"}".to_owned();
    assert_eq!(refused, Err(LoginError::Refused(why)));
}

#[test]
fn what_is_no_token_is_refused_and_leaves_the_one_that_there_was() {
    for wrong in ["", " \n", "=", "a b", "a\x01b", "a=b", "tök"] {
        assert_eq!(BearerToken::new(wrong, BTreeMap::new()).err(), Some(TokenFault::Form), "{wrong:?}");
    }
    for (name, value) in [("auth", "x"), ("", "x"), ("a1", "x"), ("a", "\x01"), ("a", "")] {
        let extensions = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let fault = BearerToken::new("abc", extensions).err();
        assert_eq!(fault, Some(TokenFault::Extension(name.to_owned())));
    }
    let token = BearerToken::new("abc", BTreeMap::new()).expect("a token");
    token.replace("a b").expect_err("no token");
    assert_eq!(token.message(), &b"n,,\x01auth=Bearer abc\x01\x01"[..]);
    token.replace(" d==\n").expect("a token");
    assert_eq!(token.message(), &b"n,,\x01auth=Bearer d==\x01\x01"[..]);
}

/// The server's side of SCRAM with this password; gives its final message.
fn serve(login: &mut Login, number: i32, first: &Bytes, password: &str) -> (i32, String) {
    let hash = ScramHash::Sha256;
    let first = ClientFirst::parse(first).expect("a first message");
    let challenge = server_first(&format!("{}more", first.nonce), b"salt", 4096);
    let (number, last) = said(login.on_frame(&in_answer(number, challenge.as_bytes())));
    let last = ClientFinal::parse(&last).expect("a final message");
    let salted = hash.salt_password(password, b"salt", 4096.try_into().expect("not zero"));
    let text = format!("{},{challenge},{}", first.bare, last.without_proof);
    (number, server_final(&hash.hmac(&hash.server_key(&salted), text.as_bytes())))
}

#[test]
fn a_server_has_to_know_the_password_too() {
    let (mut login, number, first) = begun(&scram());
    let (number, last) = serve(&mut login, number, &first, PASSWORD);
    assert_eq!(login.on_frame(&in_answer(number, last.as_bytes())), DONE);
    let (mut login, number, first) = begun(&scram());
    let (number, last) = serve(&mut login, number, &first, "guessed");
    assert_eq!(login.on_frame(&in_answer(number, last.as_bytes())), Err(LoginError::Signature));
    // Nor can it leave its part out, early or late.
    let (mut login, number, first) = begun(&scram());
    let (number, _) = serve(&mut login, number, &first, PASSWORD);
    assert!(matches!(login.on_frame(&in_answer(number, b"")), Err(LoginError::Form(_))));
    let (mut login, number, _) = begun(&scram());
    assert!(matches!(login.on_frame(&in_answer(number, b"")), Err(LoginError::Form(_))));
}

proptest! {
    #[test]
    fn nothing_but_a_proof_of_the_password_ends_scram_well(
        steps in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..80)), 1..4),
    ) {
        let (mut login, mut number, _) = begun(&scram());
        for (is_wrapped, bytes) in steps {
            let frame = if is_wrapped { in_answer(number, &bytes) } else { bytes.into() };
            match login.on_frame(&frame) {
                Ok(Progress::Say(_)) => number += 1,
                Ok(Progress::Done { .. }) => prop_assert!(false, "it is in"),
                Err(_) => break,
            }
        }
    }
}

/// A ticket whose exchange has so many steps, as a broker with these words for offers expects it.
#[derive(Debug)]
struct Paper {
    steps: usize,
}

impl TicketHolder for Paper {
    fn begin(&self, host: &str) -> Result<Box<dyn TicketExchange>, String> {
        if host == "host" { Ok(Box::new(Self { ..*self })) } else { Err(format!("none for {host}")) }
    }
}

impl TicketExchange for Paper {
    fn step(&mut self, token: &[u8]) -> Result<TicketStep, String> {
        if token == b"wrong" {
            return Err("it is wrong".to_owned());
        }
        self.steps -= 1;
        let is_done = self.steps == 0;
        Ok(TicketStep {
            token: if is_done && !token.is_empty() { Vec::new() } else { b"ticket".to_vec() },
            is_done,
        })
    }

    fn unwrap(&mut self, token: &[u8]) -> Result<Vec<u8>, String> {
        token.strip_prefix(b"signed ").map(<[u8]>::to_vec).ok_or_else(|| "it is not signed".to_owned())
    }

    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
        Ok([b"signed by us ", message].concat())
    }
}

#[test]
fn a_ticket_is_shown_and_no_layer_is_agreed_upon() {
    let tickets = |steps| Credentials::Tickets(Arc::new(Paper { steps }));
    for steps in [1, 2, 3] {
        let (mut login, mut number, first) = begun(&tickets(steps));
        assert_eq!(first, &b"ticket"[..]);
        let mut last = first;
        for _ in 1..steps {
            (number, last) = said(login.on_frame(&in_answer(number, b"token")));
        }
        assert_eq!(last.is_empty(), steps > 1, "an empty word says that the broker has shown who it is");
        let (number, choice) = said(login.on_frame(&in_answer(number, b"signed \x07\x00\x10\x00")));
        assert_eq!(choice, &b"signed by us \x01\x00\x00\x00"[..]);
        assert_eq!(login.on_frame(&in_answer(number, b"")), DONE);
    }
    let error = |steps, answer: &[u8]| {
        let (mut login, number, _) = begun(&tickets(steps));
        login.on_frame(&in_answer(number, answer)).expect_err("it is left")
    };
    assert_eq!(error(2, b"wrong"), LoginError::Impostor("it is wrong".to_owned()));
    assert_eq!(error(1, b"\x01\x00\x00\x00"), LoginError::Impostor("it is not signed".to_owned()));
    for offer in [&b"signed \x06\x00\x10\x00"[..], b"signed ", b"signed \x01\x00\x00\x00\x00"] {
        assert!(matches!(error(1, offer), LoginError::Form(_)));
    }
    let none = Login::begin(&tickets(1), "me", "elsewhere", [7; NONCE]).expect_err("there is no ticket");
    assert_eq!(none, LoginError::Ticket("none for elsewhere".to_owned()));
}
