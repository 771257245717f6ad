//! Taking a token in its compact form (RFC 7515) apart.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::fault::TokenFault;
use super::json::{Fields, parse_object};

/// More of a header is not read: strangers write it, and nothing of it is signed when it is read.
const LONGEST_HEADER: usize = 16 * 1024;

/// Left-over bits are taken as Java's readers take them: whatever they are.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes base64url, with padding or without.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, TokenFault> {
    BASE64URL.decode(text.trim_end_matches('=')).map_err(|_| TokenFault::Base64)
}

/// The parts of a token, as they are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compact<'t> {
    header: &'t str,
    payload: &'t str,
    /// Empty where nothing has signed it.
    pub(super) signature: &'t str,
    /// Header and payload, with the point between them.
    pub(super) signed: &'t str,
}

impl<'t> Compact<'t> {
    /// Three parts, of which the first two are there.
    pub(super) fn split(token: &'t str) -> Result<Self, TokenFault> {
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenFault::Parts)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenFault::Parts)?;
        if header.is_empty() || payload.is_empty() || payload.contains('.') {
            return Err(TokenFault::Parts);
        }
        Ok(Self { header, payload, signature, signed })
    }

    pub(super) fn header(&self) -> Result<Fields, TokenFault> {
        if self.header.len() > LONGEST_HEADER {
            return Err(TokenFault::HeaderTooLong);
        }
        object(self.header)
    }

    pub(super) fn claims(&self) -> Result<Fields, TokenFault> {
        object(self.payload)
    }
}

fn object(part: &str) -> Result<Fields, TokenFault> {
    parse_object(&decode(part)?).ok_or(TokenFault::Json)
}
