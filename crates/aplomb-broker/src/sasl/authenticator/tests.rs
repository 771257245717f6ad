//! Frames in, steps out.

use aplomb_model::Timestamp;
use aplomb_protocol::frame::encode_request;
use aplomb_protocol::messages::MetadataRequest;
use aplomb_protocol::messages::api_versions_request::ApiVersionsRequest;
use aplomb_protocol::request::decode_any_response;
use aplomb_protocol::{AnyResponse, Request as Body};
use base64::Engine as _;
use proptest::prelude::*;

use super::*;
use crate::config::Secret;
use crate::metadata::Security;

const DELAY: Duration = Duration::from_millis(100);
const AGE: Duration = Duration::from_secs(60);

fn authenticator(max_age: Option<Duration>) -> Authenticator {
    let users = [("alice", "wonder"), ("bob", "builder")];
    let users = users.map(|(name, word)| (name.to_owned(), Secret::new(word.to_owned()))).into();
    let plain = MechanismConfig { mechanism: Mechanism::Plain, max_age, users, tokens: None, kerberos: None };
    let scram = MechanismConfig {
        mechanism: Mechanism::ScramSha256,
        max_age,
        users: [].into(),
        tokens: None,
        kerberos: None,
    };
    Authenticator::new(
        Arc::new(SaslConfig { mechanisms: vec![plain, scram], max_receive: 1000, failure_delay: DELAY }),
        None,
    )
}

fn framed<T: Body>(request: &T, version: i16) -> Bytes {
    encode_request(request, version, 7, "test").expect("a request").slice(4..)
}

fn handshake(mechanism: &str) -> Bytes {
    framed(&SaslHandshakeRequest { mechanism: mechanism.to_owned() }, 1)
}

fn plain(name: &str, word: &str) -> Bytes {
    framed(&SaslAuthenticateRequest { auth_bytes: format!("\0{name}\0{word}").into_bytes().into() }, 2)
}

fn at(seconds: u64) -> Instant {
    Instant::START + Duration::from_secs(seconds)
}

fn say(authenticator: &mut Authenticator, frame: &Bytes, seconds: u64) -> Passage {
    let security = Security::default();
    let (mut chance, wall) = (|| [3; 16], || Timestamp(1_000_000));
    let (secret, chance, wall) = (&[1; 16], &mut chance, &wall);
    let mut world = World { security: &security, secret, chance, tokens: None, wall };
    authenticator.on_frame(frame, at(seconds), &mut world)
}

fn log_in(authenticator: &mut Authenticator, name: &str, word: &str, seconds: u64) -> Passage {
    assert!(matches!(say(authenticator, &handshake("PLAIN"), seconds), Passage::Answer(_)));
    say(authenticator, &plain(name, word), seconds)
}

fn refusal(step: Passage) -> TurnedAway {
    let Passage::Refused(refusal) = step else { panic!("{step:?} is no refusal") };
    refusal
}

fn error_of(reply: Option<Reply>, api: ApiKey, version: i16) -> i16 {
    let Some(Reply::Frame { parts, .. }) = reply else { panic!("an answer") };
    // Length and correlation id, and a section of tags in flexible versions.
    let skip = if api == ApiKey::SaslAuthenticate && version >= 2 { 9 } else { 8 };
    let body = parts.concat()[skip..].to_vec();
    match decode_any_response(api.key(), version, body.into()).expect("a response") {
        AnyResponse::SaslAuthenticate(response) => response.error_code,
        AnyResponse::SaslHandshake(response) => response.error_code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_way_in_is_versions_handshake_and_proof() {
    let mut door = authenticator(None);
    assert_eq!(door.most(), Some(1000));
    let versions = framed(&ApiVersionsRequest::default(), 0);
    assert!(matches!(say(&mut door, &versions, 1), Passage::Pass));
    let Passage::Authenticated { principal, again, .. } = log_in(&mut door, "alice", "wonder", 1) else {
        panic!("the password is right");
    };
    assert_eq!((principal.as_str(), again, door.most()), ("User:alice", false, None));
    assert_eq!(principal.name(), "alice");
    // From here on all of it is the broker's, for ever.
    for frame in [versions, handshake("PLAIN"), plain("alice", "wonder")] {
        assert!(matches!(say(&mut door, &frame, 1_000_000), Passage::Pass));
    }
}

#[test]
fn nothing_but_the_way_in_passes_before_its_end() {
    let metadata = framed(&MetadataRequest::default(), 1);
    let versions = framed(&ApiVersionsRequest::default(), 0);
    for frames in [
        vec![metadata.clone()],
        vec![plain("alice", "wonder")],
        vec![versions.clone(), versions],
        vec![handshake("PLAIN"), metadata],
        vec![handshake("PLAIN"), handshake("PLAIN")],
        vec![Bytes::from_static(b"\x00")],
    ] {
        let mut door = authenticator(None);
        let last = frames.iter().map(|frame| say(&mut door, frame, 1)).last();
        refusal(last.expect("a frame"));
        let after = refusal(say(&mut door, &handshake("PLAIN"), 1));
        assert!(after.reply.is_none(), "a refusal is the last");
    }
}

#[test]
fn who_fails_waits_and_is_told_once() {
    let mut door = authenticator(None);
    let failed = refusal(log_in(&mut door, "alice", "wander", 1));
    assert_eq!((failed.delay, failed.kind), (DELAY, RefusalKind::Failed));
    assert_eq!(error_of(failed.reply, ApiKey::SaslAuthenticate, 2), 58);
    let mut door = authenticator(None);
    let unknown = refusal(say(&mut door, &handshake("SCRAM-SHA-512"), 1));
    assert_eq!(error_of(unknown.reply, ApiKey::SaslHandshake, 1), 33);
}

#[test]
fn a_session_ends_unless_it_is_renewed_by_the_same_user_with_the_same_mechanism() {
    let metadata = framed(&MetadataRequest::default(), 1);
    let mut door = authenticator(Some(AGE));
    log_in(&mut door, "alice", "wonder", 0);
    assert!(matches!(say(&mut door, &metadata, 59), Passage::Pass));
    assert!(matches!(log_in(&mut door, "alice", "wonder", 59), Passage::Authenticated { again: true, .. }));
    assert!(matches!(say(&mut door, &metadata, 118), Passage::Pass));
    assert_eq!(refusal(say(&mut door, &metadata, 119)).kind, RefusalKind::Expired);

    let mut door = authenticator(Some(AGE));
    log_in(&mut door, "alice", "wonder", 0);
    let other = refusal(log_in(&mut door, "bob", "builder", 10));
    assert_eq!(other.kind, RefusalKind::FailedAgain);
    assert!(other.why.contains("Cannot change principals"), "{}", other.why);

    let mut door = authenticator(Some(AGE));
    log_in(&mut door, "alice", "wonder", 0);
    assert!(matches!(say(&mut door, &handshake("SCRAM-SHA-256"), 10), Passage::Answer(_)));
    assert!(refusal(say(&mut door, &plain("alice", "wonder"), 10)).reply.is_none());
}

#[test]
fn a_session_is_not_renewed_twice_in_a_second() {
    let mut door = authenticator(Some(AGE));
    log_in(&mut door, "alice", "wonder", 0);
    log_in(&mut door, "alice", "wonder", 10);
    assert!(matches!(say(&mut door, &handshake("PLAIN"), 10), Passage::Pass), "the broker refuses it");
    assert!(matches!(say(&mut door, &handshake("PLAIN"), 11), Passage::Answer(_)));
}

proptest! {
    #[test]
    fn whatever_comes_nobody_gets_in_without_a_password(frames in prop::collection::vec(any_frame(), 1..8)) {
        let mut door = authenticator(Some(AGE));
        for frame in frames {
            let step = say(&mut door, &frame, 1);
            let got_in = matches!(step, Passage::Authenticated { .. });
            prop_assert!(!got_in);
        }
        prop_assert!(!door.is_somebody());
    }
}

/// Frames that a client might send, and some that it would not.
fn any_frame() -> impl Strategy<Value = Bytes> {
    let token = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60).prop_map(Bytes::from),
        prop::sample::select(vec!["PLAIN", "SCRAM-SHA-256", "X"]).prop_map(handshake),
        token.prop_map(|auth_bytes| framed(&SaslAuthenticateRequest { auth_bytes: auth_bytes.into() }, 1)),
        "[a-z]{0,3}\0(alice|bob)\0[a-v]{0,8}".prop_map(|text| {
            framed(&SaslAuthenticateRequest { auth_bytes: text.into_bytes().into() }, 2)
        }),
        "n,,n=[a-z=,]{0,6},r=[a-z]{0,4}".prop_map(|text| {
            framed(&SaslAuthenticateRequest { auth_bytes: text.into_bytes().into() }, 0)
        }),
        Just(framed(&ApiVersionsRequest::default(), 0)),
    ]
}

fn bearer(sub: &str, exp: u64) -> Bytes {
    let part = |text: String| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let claims = part(format!("{{\"sub\":\"{sub}\",\"exp\":{exp}}}"));
    let token = format!("n,,\x01auth=Bearer {}.{claims}.\x01\x01", part("{\"alg\":\"none\"}".to_owned()));
    framed(&SaslAuthenticateRequest { auth_bytes: token.into_bytes().into() }, 2)
}

#[test]
fn a_token_is_good_until_it_expires_or_for_as_long_as_any_authentication_is() {
    let tokens = crate::config::UnsecuredTokens {
        principal_claim: "sub".to_owned(),
        scope_claim: "scope".to_owned(),
        required_scope: Vec::new(),
        skew_millis: 60_000,
    };
    let tokens = Some(crate::config::TokenConfig::Unsecured(tokens));
    let with = |max_age| {
        let mechanism = Mechanism::OauthBearer;
        let oauth =
            MechanismConfig { mechanism, max_age, users: [].into(), tokens: tokens.clone(), kerberos: None };
        let config = SaslConfig { mechanisms: vec![oauth], max_receive: 1000, failure_delay: DELAY };
        Authenticator::new(Arc::new(config), None)
    };
    // It is second 1000 of that clock.
    for (exp, max_age, good_for) in [
        (1010, None, 10),
        (1010, Some(AGE), 10),
        (1090, Some(AGE), 60),
        (960, None, 0),
        (9_000_000_000_000_000, None, LONGEST.as_secs()),
    ] {
        let mut door = with(max_age);
        say(&mut door, &handshake("OAUTHBEARER"), 5);
        let step = say(&mut door, &bearer("alice", exp), 5);
        assert!(matches!(step, Passage::Authenticated { .. }), "{step:?}");
        assert_eq!(door.identity.as_ref().and_then(|identity| identity.expires), Some(at(5 + good_for)));
    }
    let mut door = with(None);
    say(&mut door, &handshake("OAUTHBEARER"), 5);
    assert!(matches!(say(&mut door, &bearer("alice", 1010), 5), Passage::Authenticated { .. }));
    say(&mut door, &handshake("OAUTHBEARER"), 7);
    let other = refusal(say(&mut door, &bearer("bob", 1010), 7));
    assert!(other.why.contains("Cannot change principals"), "{}", other.why);
    let mut door = with(None);
    say(&mut door, &handshake("OAUTHBEARER"), 5);
    assert!(matches!(say(&mut door, &bearer("alice", 900), 5), Passage::Answer(_)), "a challenge");
    let nothing = framed(&SaslAuthenticateRequest { auth_bytes: Bytes::from_static(b"\x01") }, 2);
    let failed = refusal(say(&mut door, &nothing, 5));
    assert!(failed.why.ends_with("it has expired"), "{}", failed.why);
    assert_eq!(error_of(failed.reply, ApiKey::SaslAuthenticate, 2), 58);
}
