//! Looks at a token of OAUTHBEARER: as it comes, and, since nothing is read of one whose signature
//! is wrong, at header and claims, with a zero byte between them, that are signed here.

#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use aplomb_broker::config::{KeySource, KeyUrl, UnsecuredTokens, ValidatedTokens};
use aplomb_broker::sasl::oauth::{KeySet, examine, examine_unsecured};
use aplomb_model::Timestamp;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use libfuzzer_sys::fuzz_target;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

const NOW: Timestamp = Timestamp(1_800_000_000_000);

static KEY: LazyLock<Ed25519KeyPair> =
    LazyLock::new(|| Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("a key"));

static KEYS: LazyLock<KeySet> = LazyLock::new(|| {
    let x = URL_SAFE_NO_PAD.encode(KEY.public_key().as_ref());
    let set = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"k","x":"{x}"}}]}}"#);
    KeySet::parse(set.as_bytes()).expect("a set")
});

static RULES: LazyLock<ValidatedTokens> = LazyLock::new(|| ValidatedTokens {
    keys: KeySource {
        url: KeyUrl::File("/keys".to_owned()),
        refresh: Duration::from_secs(1),
        backoff: Duration::ZERO,
        backoff_max: Duration::ZERO,
        truststore: None,
    },
    audiences: ["kafka".to_owned()].into(),
    issuer: Some("idp".to_owned()),
    skew_seconds: 30,
    scope_claim: "scope".to_owned(),
    sub_claim: "sub".to_owned(),
});

static UNSECURED: LazyLock<UnsecuredTokens> = LazyLock::new(|| UnsecuredTokens {
    principal_claim: "sub".to_owned(),
    scope_claim: "scope".to_owned(),
    required_scope: vec!["a".to_owned()],
    skew_millis: 1000,
});

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(examine(text, &KEYS, &RULES, NOW).is_err(), "a signature was guessed");
        let _ = examine_unsecured(text, &UNSECURED, NOW);
    }
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(header), Some(claims)) = (parts.next(), parts.next()) else { return };
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(KEY.sign(message.as_bytes()));
    if let Ok(bearer) = examine(&format!("{message}.{signature}"), &KEYS, &RULES, NOW) {
        assert!(!bearer.name.is_empty() && bearer.expires.0 > NOW.0 - 31_000);
    }
    let _ = examine_unsecured(&format!("{message}."), &UNSECURED, NOW);
});
