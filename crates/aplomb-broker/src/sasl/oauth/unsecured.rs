//! Tokens that no key has signed, for tests and for networks in which all are believed: taken
//! only where the settings ask for them by name (`OAuthBearerUnsecuredValidatorCallbackHandler`).

use std::collections::BTreeSet;

use aplomb_model::Timestamp;

use super::claims::{Bearer, trimmed};
use super::fault::TokenFault;
use super::json::{Fields, Json, said};
use super::token::Compact;
use crate::config::UnsecuredTokens;

/// Whom a token without a signature says to stand for at `now`.
///
/// # Errors
/// With what is wrong with it.
pub fn examine_unsecured(token: &str, rules: &UnsecuredTokens, now: Timestamp) -> Result<Bearer, TokenFault> {
    let compact = Compact::split(token)?;
    let (header, claims) = (compact.header()?, compact.claims()?);
    match header.get("alg").and_then(Json::text) {
        Some("none") if compact.signature.is_empty() => {}
        Some(_) => return Err(TokenFault::Signed),
        None => return Err(TokenFault::Algorithm),
    }
    let expires = seconds(&claims, "exp")?.ok_or(TokenFault::Missing("exp"))?;
    let name = said(&claims, &rules.principal_claim).ok_or(TokenFault::Missing("of its principal"))?;
    let name = name.text().filter(|name| trimmed(name).is_some());
    let name = name.ok_or(TokenFault::Claim("of its principal"))?.to_owned();
    let issued = seconds(&claims, "iat")?;
    #[expect(clippy::cast_precision_loss, reason = "times of this age are exact")]
    let (now, skew) = (now.0 as f64, rules.skew_millis as f64);
    if issued.is_some_and(|issued| issued * 1000.0 > now + skew) {
        return Err(TokenFault::NotYet);
    }
    if now - skew >= expires * 1000.0 {
        return Err(TokenFault::Expired);
    }
    if issued.is_some_and(|issued| expires <= issued) {
        return Err(TokenFault::Backwards);
    }
    let scopes = scopes(&claims, &rules.scope_claim)?;
    if !rules.required_scope.iter().all(|required| scopes.contains(required.as_str())) {
        return Err(TokenFault::Scope);
    }
    #[expect(clippy::cast_possible_truncation, reason = "a time too late to be told is the last one")]
    let expires = Timestamp((expires * 1000.0).round() as i64);
    Ok(Bearer { name, expires })
}

fn seconds(claims: &Fields, name: &'static str) -> Result<Option<f64>, TokenFault> {
    match said(claims, name) {
        None => Ok(None),
        #[expect(clippy::cast_precision_loss, reason = "times of this age are exact")]
        Some(Json::Whole(seconds)) => Ok(Some(*seconds as f64)),
        Some(Json::Real(seconds)) => Ok(Some(*seconds)),
        Some(_) => Err(TokenFault::Claim(name)),
    }
}

/// One text is one scope, blanks and all.
fn scopes<'c>(claims: &'c Fields, name: &str) -> Result<BTreeSet<&'c str>, TokenFault> {
    match said(claims, name) {
        None => Ok(BTreeSet::new()),
        Some(Json::Text(one)) => Ok(trimmed(one).into_iter().collect()),
        Some(Json::List(several)) => Ok(several.iter().filter_map(Json::text).filter_map(trimmed).collect()),
        Some(_) => Err(TokenFault::Claim("of its scope")),
    }
}
