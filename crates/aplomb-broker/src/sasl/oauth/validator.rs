//! Looking at a signed token: its header, its key, its signature, its claims, in this order, so
//! that strangers have nothing looked at but a header.

use aplomb_model::Timestamp;

use super::claims::{Bearer, bearer};
use super::fault::TokenFault;
use super::json::{Fields, Json, said};
use super::jwks::{KeySet, Wanted};
use super::signature::Algorithm;
use super::token::{Compact, decode};
use crate::config::ValidatedTokens;

/// Whom a token stands for at `now`, if one of `keys` has signed it and it follows the rules.
///
/// # Errors
/// With what is wrong with it.
pub fn examine(
    token: &str,
    keys: &KeySet,
    rules: &ValidatedTokens,
    now: Timestamp,
) -> Result<Bearer, TokenFault> {
    let compact = Compact::split(token)?;
    let header = compact.header()?;
    let name = text(&header, "alg")?.ok_or(TokenFault::Algorithm)?;
    if name.eq_ignore_ascii_case("none") || compact.signature.is_empty() {
        return Err(TokenFault::Unsigned);
    }
    let algorithm = Algorithm::from_name(name).ok_or(TokenFault::Algorithm)?;
    understood(&header)?;
    let thumbs = [text(&header, "x5t")?, text(&header, "x5t#S256")?];
    let wanted = Wanted { id: text(&header, "kid")?, thumbs, algorithm, name };
    let key = keys.select(&wanted).ok_or(TokenFault::NoKey)?;
    let signature = decode(compact.signature)?;
    if !algorithm.verify(key, compact.signed.as_bytes(), &signature) {
        return Err(TokenFault::Signature);
    }
    bearer(&compact.claims()?, rules, now)
}

/// The id of the key that a token names.
pub(super) fn key_id(token: &str) -> Option<String> {
    let header = Compact::split(token).ok()?.header().ok()?;
    text(&header, "kid").ok()?.map(str::to_owned)
}

/// What the header asks for beside a key.
fn understood(header: &Fields) -> Result<(), TokenFault> {
    // The one extension that is understood is not used: what is not encoded cannot be in a message.
    let is_known = |one: &Json| one.text() == Some("b64");
    let is_understood = match said(header, "crit") {
        None => true,
        Some(Json::List(names)) => names.iter().all(is_known),
        Some(_) => false,
    };
    if !is_understood || header.get("b64") == Some(&Json::Flag(false)) {
        return Err(TokenFault::Critical);
    }
    let is_token =
        |kind: &str| kind.eq_ignore_ascii_case("jwt") || kind.eq_ignore_ascii_case("application/jwt");
    match said(header, "cty") {
        None => Ok(()),
        Some(Json::Text(kind)) if !is_token(kind) => Ok(()),
        Some(Json::Text(_)) => Err(TokenFault::Nested),
        Some(_) => Err(TokenFault::Header),
    }
}

fn text<'h>(header: &'h Fields, name: &str) -> Result<Option<&'h str>, TokenFault> {
    said(header, name).map(|value| value.text().ok_or(TokenFault::Header)).transpose()
}
