//! What a signed token has to claim (RFC 7519), as Apache Kafka's `BrokerJwtValidator` asks for it.

use std::collections::BTreeSet;

use aplomb_model::Timestamp;

use super::fault::TokenFault;
use super::json::{Fields, Json, said};
use crate::config::ValidatedTokens;

/// Whom a token stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// The name of the principal.
    pub name: String,
    /// Until when.
    pub expires: Timestamp,
}

/// Looks at the claims of a token whose signature is right.
pub(super) fn bearer(claims: &Fields, rules: &ValidatedTokens, now: Timestamp) -> Result<Bearer, TokenFault> {
    audience(claims, &rules.audiences)?;
    issuer(claims, rules.issuer.as_deref())?;
    let expires = lifetime(claims, rules.skew_seconds, now)?;
    // Whatever else is asked, these two have to be texts.
    text(claims, "sub")?;
    text(claims, "jti")?;
    scope(claims, &rules.scope_claim)?;
    let name = match said(claims, &rules.sub_claim) {
        None => return Err(TokenFault::Missing("of its subject")),
        Some(value) => trimmed(value.text().ok_or(TokenFault::Claim("of its subject"))?),
    };
    let name = name.ok_or(TokenFault::Claim("of its subject"))?.to_owned();
    Ok(Bearer { name, expires })
}

fn audience(claims: &Fields, expected: &BTreeSet<String>) -> Result<(), TokenFault> {
    if expected.is_empty() {
        return Ok(());
    }
    let fits = match said(claims, "aud") {
        None => return Err(TokenFault::Missing("aud")),
        Some(Json::Text(one)) => expected.contains(one),
        Some(Json::List(several)) => {
            if !several.iter().all(|one| matches!(one, Json::Text(_) | Json::Null)) {
                return Err(TokenFault::Claim("aud"));
            }
            several.iter().filter_map(Json::text).any(|one| expected.contains(one))
        }
        Some(_) => return Err(TokenFault::Claim("aud")),
    };
    if fits { Ok(()) } else { Err(TokenFault::Audience) }
}

fn issuer(claims: &Fields, expected: Option<&str>) -> Result<(), TokenFault> {
    match (text(claims, "iss")?, expected) {
        (None, Some(_)) => Err(TokenFault::Missing("iss")),
        (Some(issuer), Some(expected)) if issuer != expected => Err(TokenFault::Issuer),
        _ => Ok(()),
    }
}

/// When it ends. Seconds are compared without their fractions.
fn lifetime(claims: &Fields, skew: i64, now: Timestamp) -> Result<Timestamp, TokenFault> {
    let expires = seconds(claims, "exp")?.ok_or(TokenFault::Missing("exp"))?;
    let issued = seconds(claims, "iat")?.ok_or(TokenFault::Missing("iat"))?;
    let begins = seconds(claims, "nbf")?;
    let now = now.0.div_euclid(1000);
    if now.saturating_sub(skew) >= expires {
        return Err(TokenFault::Expired);
    }
    if expires < issued || begins.is_some_and(|begins| expires < begins) {
        return Err(TokenFault::Backwards);
    }
    if begins.is_some_and(|begins| now.saturating_add(skew) < begins) {
        return Err(TokenFault::NotYet);
    }
    if issued < 0 {
        return Err(TokenFault::Claim("iat"));
    }
    let millis = expires.checked_mul(1000).filter(|millis| *millis >= 0);
    millis.map(Timestamp).ok_or(TokenFault::Claim("exp"))
}

fn seconds(claims: &Fields, name: &'static str) -> Result<Option<i64>, TokenFault> {
    /// More is in milliseconds not a number of 64 bits.
    const MOST: f64 = 9.2e15;
    match said(claims, name) {
        None => Ok(None),
        Some(Json::Whole(seconds)) => Ok(Some(*seconds)),
        #[expect(clippy::cast_possible_truncation, reason = "the fraction is cut off")]
        Some(Json::Real(seconds)) if seconds.abs() < MOST => Ok(Some(*seconds as i64)),
        Some(_) => Err(TokenFault::Claim(name)),
    }
}

/// A list of words or one text; each is there once, and none is empty.
fn scope(claims: &Fields, name: &str) -> Result<(), TokenFault> {
    let several = match said(claims, name) {
        Some(one @ Json::Text(_)) => std::slice::from_ref(one),
        Some(Json::List(several)) => several,
        _ => return Ok(()),
    };
    let mut seen = BTreeSet::new();
    for one in several {
        let word = one.text().and_then(trimmed).ok_or(TokenFault::Claim("of its scope"))?;
        if !seen.insert(word) {
            return Err(TokenFault::Claim("of its scope"));
        }
    }
    Ok(())
}

fn text<'c>(claims: &'c Fields, name: &'static str) -> Result<Option<&'c str>, TokenFault> {
    let value = said(claims, name);
    value.map(|value| value.text().ok_or(TokenFault::Claim(name))).transpose()
}

/// Without what Java calls white space at both ends; `None` if nothing is left.
pub(super) fn trimmed(text: &str) -> Option<&str> {
    Some(text.trim_matches(|c: char| c <= ' ')).filter(|text| !text.is_empty())
}
