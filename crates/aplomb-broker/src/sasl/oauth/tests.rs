//! Tokens as issuers make them, and as attackers would.

use aplomb_model::{Instant, Timestamp};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use ring::rand::SystemRandom;
use ring::signature::{self as ring_signature, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RsaKeyPair};
use std::time::Duration;

use super::*;
use crate::config::{KeySource, KeyUrl, TokenConfig, UnsecuredTokens, ValidatedTokens};
use crate::sasl::said::{Denied, Said};

/// When the tests take place.
const NOW: i64 = 1_800_000_000;

const CLAIMS: &str = r#""sub":"alice","aud":"kafka","iss":"https://idp""#;

fn rules() -> ValidatedTokens {
    ValidatedTokens {
        keys: KeySource {
            url: KeyUrl::File("/keys".to_owned()),
            refresh: Duration::from_secs(3600),
            backoff: Duration::ZERO,
            backoff_max: Duration::ZERO,
            truststore: None,
        },
        audiences: ["kafka".to_owned(), "other".to_owned()].into(),
        issuer: Some("https://idp".to_owned()),
        skew_seconds: 30,
        scope_claim: "scope".to_owned(),
        sub_claim: "sub".to_owned(),
    }
}

/// A key of a test.
enum Signer {
    Rsa(RsaKeyPair),
    Curve(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
}

fn rsa() -> Signer {
    Signer::Rsa(RsaKeyPair::from_pkcs8(include_bytes!("test_key.p8")).expect("a key"))
}

fn curve(algorithm: &'static ring_signature::EcdsaSigningAlgorithm) -> Signer {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
    Signer::Curve(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("a key"))
}

fn edwards() -> Signer {
    let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    Signer::Edwards(Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key"))
}

impl Signer {
    fn jwk(&self, id: &str) -> String {
        let text = |bytes: &[u8]| BASE64URL.encode(bytes);
        let parts = match self {
            Self::Rsa(key) => {
                let public = ring_signature::RsaPublicKeyComponents::<Vec<u8>>::from(key.public_key());
                format!(r#""kty":"RSA","n":"{}","e":"{}""#, text(&public.n), text(&public.e))
            }
            Self::Curve(key) => {
                let point = &key.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let name = if x.len() == 32 { "P-256" } else { "P-384" };
                format!(r#""kty":"EC","crv":"{name}","x":"{}","y":"{}""#, text(x), text(y))
            }
            Self::Edwards(key) => {
                format!(r#""kty":"OKP","crv":"Ed25519","x":"{}""#, text(key.public_key().as_ref()))
            }
        };
        format!(r#"{{"kid":"{id}",{parts}}}"#)
    }

    fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key) => {
                let padding: &dyn ring_signature::RsaEncoding = match algorithm {
                    "RS384" => &ring_signature::RSA_PKCS1_SHA384,
                    "RS512" => &ring_signature::RSA_PKCS1_SHA512,
                    "PS256" => &ring_signature::RSA_PSS_SHA256,
                    "PS384" => &ring_signature::RSA_PSS_SHA384,
                    "PS512" => &ring_signature::RSA_PSS_SHA512,
                    _ => &ring_signature::RSA_PKCS1_SHA256,
                };
                let mut signed = vec![0; key.public().modulus_len()];
                key.sign(padding, &random, message, &mut signed).expect("signed");
                signed
            }
            Self::Curve(key) => key.sign(&random, message).expect("signed").as_ref().to_vec(),
            Self::Edwards(key) => key.sign(message).as_ref().to_vec(),
        }
    }

    fn token(&self, header: &str, claims: &str) -> String {
        let algorithm = header.split(r#""alg":""#).nth(1).and_then(|rest| rest.split('"').next());
        let message = format!("{}.{}", BASE64URL.encode(header), BASE64URL.encode(claims));
        let signed = self.sign(algorithm.unwrap_or_default(), message.as_bytes());
        format!("{message}.{}", BASE64URL.encode(signed))
    }
}

fn set(keys: &[String]) -> KeySet {
    KeySet::parse(format!(r#"{{"keys":[{}]}}"#, keys.join(",")).as_bytes()).expect("a set of keys")
}

fn header(algorithm: &str) -> String {
    format!(r#"{{"alg":"{algorithm}","kid":"k","typ":"JWT"}}"#)
}

/// With these claims beside those that have to be there.
fn claims(more: &str) -> String {
    format!(r#"{{{CLAIMS},"iat":{},"exp":{}{more}}}"#, NOW - 10, NOW + 3600)
}

fn looked_at(token: &str, keys: &KeySet) -> Result<Bearer, TokenFault> {
    examine(token, keys, &rules(), Timestamp(NOW * 1000 + 999))
}

/// What becomes of a token with these claims, signed as it should be.
fn claimed(claims: &str) -> Result<Bearer, TokenFault> {
    let key = edwards();
    looked_at(&key.token(&header("EdDSA"), claims), &set(&[key.jwk("k")]))
}

fn alice() -> Result<Bearer, TokenFault> {
    Ok(Bearer { name: "alice".to_owned(), expires: Timestamp((NOW + 3600) * 1000) })
}

#[test]
fn every_algorithm_that_is_taken_is_understood() {
    let (rsa, edwards) = (rsa(), edwards());
    let p256 = curve(&ring_signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let p384 = curve(&ring_signature::ECDSA_P384_SHA384_FIXED_SIGNING);
    for (key, algorithms) in [
        (&rsa, &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"][..]),
        (&p256, &["ES256"]),
        (&p384, &["ES384"]),
        (&edwards, &["EdDSA"]),
    ] {
        let keys = set(&[key.jwk("other"), key.jwk("k")]);
        for algorithm in algorithms {
            let token = key.token(&header(algorithm), &claims(""));
            assert_eq!(looked_at(&token, &keys), alice(), "{algorithm}");
            // Padding is none of Java's concern.
            assert_eq!(looked_at(&format!("{token}=="), &keys), alice(), "{algorithm}");
            let other =
                token.replacen(&BASE64URL.encode(claims("")), &BASE64URL.encode(claims(r#","x":1"#)), 1);
            assert_eq!(looked_at(&other, &keys), Err(TokenFault::Signature), "{algorithm}");
        }
    }
    // A signature of one algorithm is none of another, and a curve has one algorithm.
    let mixed = rsa.token(&header("RS256"), &claims(""));
    let mixed = mixed.replacen(&BASE64URL.encode(header("RS256")), &BASE64URL.encode(header("PS256")), 1);
    assert_eq!(looked_at(&mixed, &set(&[rsa.jwk("k")])), Err(TokenFault::Signature));
    let token = p384.token(&header("ES256"), &claims(""));
    assert_eq!(looked_at(&token, &set(&[p384.jwk("k")])), Err(TokenFault::Signature));
}

#[test]
fn what_is_not_signed_or_with_a_secret_is_refused() {
    let key = rsa();
    let keys = set(&[key.jwk("k")]);
    for algorithm in ["none", "None", "NONE"] {
        let bare = format!("{}.{}.", BASE64URL.encode(header(algorithm)), BASE64URL.encode(claims("")));
        assert_eq!(looked_at(&bare, &keys), Err(TokenFault::Unsigned));
        assert_eq!(looked_at(&format!("{bare}AAAA"), &keys), Err(TokenFault::Unsigned));
    }
    let signed = key.token(&header("RS256"), &claims(""));
    let without = &signed[..=signed.rfind('.').expect("three parts")];
    assert_eq!(looked_at(without, &keys), Err(TokenFault::Unsigned));
    // The public key, which all know, as the secret of an HMAC.
    let message = format!("{}.{}", BASE64URL.encode(header("HS256")), BASE64URL.encode(claims("")));
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.jwk("k").as_bytes());
    let tag = ring::hmac::sign(&secret, message.as_bytes());
    let confused = format!("{message}.{}", BASE64URL.encode(tag.as_ref()));
    assert_eq!(looked_at(&confused, &keys), Err(TokenFault::Algorithm));
    let octets = KeySet::parse(br#"{"keys":[{"kty":"oct","kid":"k","k":"c2VjcmV0"}]}"#).expect("a set");
    assert_eq!((octets.len(), octets.unused()), (0, 1));
    for header in [r#"{"kid":"k"}"#, r#"{"alg":null}"#, r#"{"alg":"RS1"}"#, r#"{"alg":"ES512","kid":"k"}"#] {
        assert_eq!(looked_at(&key.token(header, &claims("")), &keys), Err(TokenFault::Algorithm), "{header}");
    }
}

#[test]
fn the_key_that_a_token_names_has_to_have_signed_it() {
    let (key, other) = (edwards(), edwards());
    let keys = set(&[other.jwk("other"), key.jwk("k")]);
    let with = |header: &str| looked_at(&key.token(header, &claims("")), &keys);
    assert_eq!(with(&header("EdDSA")), alice());
    assert_eq!(with(r#"{"alg":"EdDSA","kid":"other"}"#), Err(TokenFault::Signature));
    assert_eq!(with(r#"{"alg":"EdDSA","kid":"third"}"#), Err(TokenFault::NoKey));
    assert_eq!(with(r#"{"alg":"EdDSA","kid":""}"#), Err(TokenFault::NoKey));
    assert_eq!(with(r#"{"alg":"EdDSA","kid":["k"]}"#), Err(TokenFault::Header));
    assert_eq!(with(r#"{"alg":"EdDSA","kid":7}"#), Err(TokenFault::Header));
    // Without an id the first that can be meant is, as in Apache Kafka.
    assert_eq!(with(r#"{"alg":"EdDSA"}"#), Err(TokenFault::Signature));
    assert_eq!(looked_at(&key.token(r#"{"alg":"EdDSA"}"#, &claims("")), &set(&[key.jwk("k")])), alice());
    let understood = r#"{"alg":"EdDSA","kid":"k","crit":["b64"],"b64":true}"#;
    assert_eq!(with(understood), alice());
    // A key in the token vouches for nothing.
    let own = format!(r#"{{"alg":"EdDSA","kid":"other","jwk":{}}}"#, key.jwk("other"));
    assert_eq!(with(&own), Err(TokenFault::Signature));
    // An RSA key of the same id is not meant by another algorithm.
    assert_eq!(
        looked_at(&key.token(&header("EdDSA"), &claims("")), &set(&[rsa().jwk("k")])),
        Err(TokenFault::NoKey)
    );
}

#[test]
fn among_several_keys_their_use_algorithm_curve_and_certificate_decide() {
    let (wrong, right) = (rsa(), curve(&ring_signature::ECDSA_P256_SHA256_FIXED_SIGNING));
    let p384 = curve(&ring_signature::ECDSA_P384_SHA384_FIXED_SIGNING);
    let stranger = curve(&ring_signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let more = |key: &Signer, more: &str| key.jwk("k").replacen('{', &format!("{{{more},"), 1);
    let keys = set(&[
        wrong.jwk("k"),
        p384.jwk("k"),
        more(&stranger, r#""use":"enc""#),
        more(&stranger, r#""key_ops":["sign"]"#),
        more(&stranger, r#""alg":"ES384""#),
        more(&stranger, r#""x5t":"aaaa""#),
        more(&right, r#""use":"sig","key_ops":["verify"],"alg":"ES256","x5t":"bbbb""#),
    ]);
    assert_eq!((keys.len(), keys.unused()), (5, 2));
    let header = r#"{"alg":"ES256","kid":"k","x5t":"bbbb"}"#;
    assert_eq!(looked_at(&right.token(header, &claims("")), &keys), alice());
}

#[test]
fn what_is_no_token_is_refused() {
    let key = edwards();
    let keys = set(&[key.jwk("k")]);
    let token = key.token(&header("EdDSA"), &claims(""));
    let parts: Vec<&str> = token.split('.').collect();
    for broken in [
        "",
        ".",
        "..",
        "...",
        parts[0],
        &parts[..2].join("."),
        &format!("{token}.x"),
        &format!(".{token}"),
        &format!("{}..{}", parts[0], parts[2]),
    ] {
        assert_eq!(looked_at(broken, &keys), Err(TokenFault::Parts), "{broken}");
    }
    for (broken, fault) in [
        (format!("{}+.{}.{}", parts[0], parts[1], parts[2]), TokenFault::Base64),
        (format!("~{token}"), TokenFault::Base64),
        (format!("{}.{}.{}~", parts[0], parts[1], parts[2]), TokenFault::Base64),
        (key.token("[]", &claims("")), TokenFault::Json),
        (key.token("{", &claims("")), TokenFault::Json),
        (key.token(r#"{"alg":"EdDSA","alg":"none"}"#, &claims("")), TokenFault::Json),
        (key.token(&header("EdDSA"), r#"{"sub":"alice","sub":"bob"}"#), TokenFault::Json),
        (key.token(&header("EdDSA"), r#"{"a":{"b":1,"b":2}}"#), TokenFault::Json),
        (key.token(&header("EdDSA"), &format!("{{\"a\":{}", "[".repeat(100_000))), TokenFault::Json),
        (
            key.token(&header("EdDSA"), &format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200))),
            TokenFault::Json,
        ),
        (key.token(&header("EdDSA"), "7"), TokenFault::Json),
        (key.token(r#"{"alg":"EdDSA","kid":"k","crit":["x"]}"#, &claims("")), TokenFault::Critical),
        (key.token(r#"{"alg":"EdDSA","kid":"k","b64":false}"#, &claims("")), TokenFault::Critical),
        (key.token(r#"{"alg":"EdDSA","kid":"k","cty":"JWT"}"#, &claims("")), TokenFault::Nested),
        (
            key.token(&format!(r#"{{"alg":"EdDSA","kid":"{}"}}"#, "k".repeat(13_000)), &claims("")),
            TokenFault::HeaderTooLong,
        ),
    ] {
        assert_eq!(looked_at(&broken, &keys), Err(fault), "{broken:.80}");
    }
}

#[test]
fn times_are_compared_in_seconds_and_with_leeway() {
    let timed =
        |iat: &str, exp: &str, more: &str| claimed(&format!(r#"{{{CLAIMS},"iat":{iat},"exp":{exp}{more}}}"#));
    let at = |seconds: i64| (NOW + seconds).to_string();
    assert!(timed(&at(-10), &at(-29), "").is_err(), "it ends before it begins");
    assert_eq!(timed(&at(-99), &at(-29), "").map(|bearer| bearer.expires.0), Ok((NOW - 29) * 1000));
    assert_eq!(timed(&at(-99), &at(-30), ""), Err(TokenFault::Expired));
    assert_eq!(timed(&at(10), &at(9), ""), Err(TokenFault::Backwards));
    assert!(timed(&at(1000), &at(2000), "").is_ok(), "as in Apache Kafka");
    assert!(timed(&at(0), &at(99), &format!(r#","nbf":{}"#, at(30))).is_ok());
    assert_eq!(timed(&at(0), &at(99), &format!(r#","nbf":{}"#, at(31))), Err(TokenFault::NotYet));
    assert_eq!(timed(&at(0), &at(99), &format!(r#","nbf":{}"#, at(100))), Err(TokenFault::Backwards));
    assert_eq!(
        timed(&at(0), &format!("{}.9", at(9)), "").map(|bearer| bearer.expires.0),
        Ok((NOW + 9) * 1000)
    );
    assert_eq!(timed("-1", &at(9), ""), Err(TokenFault::Claim("iat")));
    for huge in [
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551616",
        "1e300",
        "-1e300",
        "1e18",
        "9e15",
    ] {
        let refused = timed(&at(0), huge, "");
        assert!(refused.is_err() || huge == "9e15", "{huge}");
        assert!(timed(huge, huge, "").is_err() || huge == "9e15", "{huge}");
        let _ = timed(&at(0), &at(9), &format!(r#","nbf":{huge}"#));
    }
    for (wrong, fault) in [
        (format!(r#"{{{CLAIMS},"exp":{}}}"#, NOW + 9), TokenFault::Missing("iat")),
        (format!(r#"{{{CLAIMS},"iat":{NOW}}}"#), TokenFault::Missing("exp")),
        (format!(r#"{{{CLAIMS},"iat":{NOW},"exp":null}}"#), TokenFault::Missing("exp")),
        (format!(r#"{{{CLAIMS},"iat":{NOW},"exp":"{}"}}"#, NOW + 9), TokenFault::Claim("exp")),
        (format!(r#"{{{CLAIMS},"iat":{NOW},"exp":1e400}}"#), TokenFault::Json),
    ] {
        assert_eq!(claimed(&wrong), Err(fault), "{wrong}");
    }
}

#[test]
fn audience_issuer_subject_and_scope_are_what_they_have_to_be() {
    let with = |from: &str, to: &str| claimed(&claims("").replacen(from, to, 1));
    for aud in [r#""other""#, r#"["x","kafka"]"#, r#"[null,"kafka"]"#] {
        assert_eq!(with(r#""kafka""#, aud), alice(), "{aud}");
    }
    for (aud, fault) in [
        (r#""kafk""#, TokenFault::Audience),
        (r#""Kafka""#, TokenFault::Audience),
        ("[]", TokenFault::Audience),
        ("null", TokenFault::Missing("aud")),
        ("7", TokenFault::Claim("aud")),
        (r#"["kafka",7]"#, TokenFault::Claim("aud")),
    ] {
        assert_eq!(with(r#""kafka""#, aud), Err(fault), "{aud}");
    }
    for (iss, fault) in [
        (r#""https://idp/""#, TokenFault::Issuer),
        ("null", TokenFault::Missing("iss")),
        (r#"["https://idp"]"#, TokenFault::Claim("iss")),
    ] {
        assert_eq!(with(r#""https://idp""#, iss), Err(fault), "{iss}");
    }
    assert_eq!(with(r#""alice""#, r#""\talice ""#), alice(), "as Java trims it");
    for sub in ["null", "7", r#"" ""#, r#""""#, r#"["alice"]"#] {
        assert!(with(r#""alice""#, sub).is_err(), "{sub}");
    }
    for scope in [r#""a b""#, r#"["a","b"]"#, "null", "7", "[]"] {
        assert_eq!(claimed(&claims(&format!(r#","scope":{scope}"#))), alice(), "{scope}");
    }
    for scope in [r#""""#, r#"" ""#, r#"["a","a "]"#, r#"["a",7]"#, r#"["a",null]"#] {
        let refused = claimed(&claims(&format!(r#","scope":{scope}"#)));
        assert_eq!(refused, Err(TokenFault::Claim("of its scope")), "{scope}");
    }
    assert_eq!(claimed(&claims(r#","jti":7"#)), Err(TokenFault::Claim("jti")));
    let open =
        ValidatedTokens { audiences: [].into(), issuer: None, sub_claim: "name".to_owned(), ..rules() };
    let key = edwards();
    let token = key.token(&header("EdDSA"), &format!(r#"{{"name":"bob","iat":{NOW},"exp":{}}}"#, NOW + 1));
    let bob = examine(&token, &set(&[key.jwk("k")]), &open, Timestamp(NOW * 1000));
    assert_eq!(bob.map(|bearer| bearer.name).as_deref(), Ok("bob"));
}

#[test]
fn a_set_of_keys_is_bounded_and_what_is_of_no_use_in_it_is_passed_over() {
    let parse = |text: &str| KeySet::parse(text.as_bytes());
    for text in ["", "[]", "{", r#"{"keys":[],"keys":[]}"#] {
        assert_eq!(parse(text), Err(KeySetError::Json), "{text}");
    }
    for text in ["{}", r#"{"keys":{}}"#, r#"{"keys":null}"#] {
        assert_eq!(parse(text), Err(KeySetError::NoKeys), "{text}");
    }
    assert_eq!(parse(&" ".repeat((1 << 20) + 1)), Err(KeySetError::TooLarge((1 << 20) + 1)));
    let many = |count: usize| format!(r#"{{"keys":[{}]}}"#, vec!["{}"; count].join(","));
    assert_eq!(parse(&many(257)), Err(KeySetError::TooMany(257)));
    assert_eq!(parse(&many(256)).map(|keys| keys.unused()), Ok(256));
    let useless = [
        r#"7"#,
        r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#,
        r#"{"kty":"RSA","n":"????","e":"AQAB"}"#,
        r#"{"kty":"RSA","e":"AQAB"}"#,
        r#"{"kty":"EC","crv":"P-521","x":"AA","y":"AA"}"#,
        r#"{"kty":"EC","crv":"P-256","x":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB","y":"AA"}"#,
        r#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#,
        r#"{"kty":"OKP","crv":"X25519","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,
        r#"{"kty":"OKP","crv":"Ed25519","kid":7,"x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,
    ];
    let keys = parse(&format!(r#"{{"keys":[{}]}}"#, useless.join(","))).expect("a set");
    assert_eq!((keys.len(), keys.unused(), keys.is_empty()), (0, useless.len(), true));
    // A point that is on no curve checks nothing.
    let off = parse(r#"{"keys":[{"kty":"EC","crv":"P-256","kid":"k","x":"AQ","y":"AQ"}]}"#).expect("a set");
    let key = curve(&ring_signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    assert_eq!(looked_at(&key.token(&header("ES256"), &claims("")), &off), Err(TokenFault::Signature));
}

fn unsecured(header: &str, claims: &str, more: &str) -> Result<Bearer, TokenFault> {
    let rules = UnsecuredTokens {
        principal_claim: "sub".to_owned(),
        scope_claim: "scope".to_owned(),
        required_scope: if more.is_empty() { Vec::new() } else { vec![more.to_owned()] },
        skew_millis: 500,
    };
    let token = format!("{}.{}.", BASE64URL.encode(header), BASE64URL.encode(claims));
    examine_unsecured(&token, &rules, Timestamp(NOW * 1000))
}

#[test]
fn a_token_without_a_signature_is_believed_where_that_is_asked_for() {
    const NONE: &str = r#"{"alg":"none"}"#;
    assert_eq!(unsecured(NONE, &claims(""), ""), alice());
    assert_eq!(unsecured(NONE, &claims(r#","scope":["a","b"]"#), "b"), alice());
    assert_eq!(unsecured(NONE, &claims(r#","scope":"a b""#), "b"), Err(TokenFault::Scope));
    assert_eq!(unsecured(NONE, &claims(""), "b"), Err(TokenFault::Scope));
    assert_eq!(unsecured(r#"{"alg":"RS256"}"#, &claims(""), ""), Err(TokenFault::Signed));
    assert_eq!(unsecured("{}", &claims(""), ""), Err(TokenFault::Algorithm));
    let at =
        |iat: &str, exp: &str| unsecured(NONE, &format!(r#"{{"sub":"alice","iat":{iat},"exp":{exp}}}"#), "");
    let now = NOW as f64;
    assert_eq!(
        at(&NOW.to_string(), &(now + 0.25).to_string()).map(|bearer| bearer.expires.0),
        Ok(NOW * 1000 + 250)
    );
    assert_eq!(at(&(now - 9.0).to_string(), &(now - 0.5).to_string()), Err(TokenFault::Expired));
    assert_eq!(at(&(now + 0.75).to_string(), &(now + 9.0).to_string()), Err(TokenFault::NotYet));
    assert_eq!(at(&NOW.to_string(), &NOW.to_string()), Err(TokenFault::Backwards));
    assert_eq!(at("0", "1e300").map(|bearer| bearer.expires.0), Ok(i64::MAX));
    assert!(unsecured(NONE, r#"{"sub":" ","exp":9e9}"#, "").is_err());
    assert!(unsecured(NONE, r#"{"sub":7,"exp":9e9}"#, "").is_err());
    assert!(unsecured(NONE, r#"{"exp":9e9}"#, "").is_err());
}

#[test]
fn who_is_challenged_is_refused_when_it_says_nothing_more_and_may_try_again_otherwise() {
    let key = edwards();
    let cache = JwksCache::new(Box::new(|| {}));
    cache.put(set(&[key.jwk("k")]));
    let config = TokenConfig::Validated(Box::new(rules()));
    let message = |header: &str, who: &str| {
        let token = key.token(header, &claims(""));
        format!("n,{who},\x01auth=Bearer {token}\x01\x01").into_bytes()
    };
    let mut server = OauthServer::default();
    let mut say = |message: &[u8]| {
        server.on_message(message, (&config, Some(&cache)), Instant::START, &|| Timestamp(NOW * 1000))
    };
    assert!(matches!(say(b"\x01"), Err(Denied::Unsaid(_))), "before anything else it says nothing");
    let challenge = "{\"status\":\"invalid_token\"}";
    assert_eq!(say(&message(r#"{"alg":"EdDSA","kid":"x"}"#, "")), Ok(Said::More(challenge.into())));
    assert!(cache.take_wish(), "newer keys may have it");
    assert!(matches!(say(b"\x01"), Err(Denied::Told { told, .. }) if told == challenge));
    assert_eq!(say(&message(r#"{"alg":"EdDSA","kid":"x"}"#, "")), Ok(Said::More(challenge.into())));
    assert!(!cache.take_wish(), "asked for already");
    let proved = say(&message(&header("EdDSA"), "a=alice"));
    assert!(
        matches!(proved, Ok(Said::Proved { user, ends: Some(_), by_token: false, .. }) if user == "alice")
    );
    let other = say(&message(&header("EdDSA"), "a=bob")).expect_err("another name");
    assert!(matches!(other, Denied::Said(why) if why.contains("(bob)") && why.contains("(alice)")));
}
