//! An answer that lists delegation tokens, written in pieces: there may be very many tokens, and
//! who writes them has not all of them at a time.
//!
//! What always holds: the pieces together are what the generated codec writes.

use bytes::Bytes;

use crate::frame::ResponseFrame;
use crate::messages::DescribeDelegationTokenResponse;
use crate::messages::describe_delegation_token_response::DescribedDelegationToken;
use crate::primitives::ErrorTally;
use crate::{ApiKey, EncodeError, Message, Writer};

/// A `DescribeDelegationTokenResponse` without an error that is being written.
#[derive(Debug)]
pub struct DescribedTokens {
    version: i16,
    count: usize,
    pieces: Vec<Bytes>,
}

/// The bytes of such a response, with its length.
#[derive(Debug)]
pub struct TokensFrame {
    /// In their order.
    pub pieces: Vec<Bytes>,
    /// The error codes in them.
    pub errors: ErrorTally,
    /// Where in all of them the throttle time is.
    pub throttle_at: usize,
}

impl DescribedTokens {
    /// One of `version`, with no tokens yet.
    #[must_use]
    pub const fn new(version: i16) -> Self {
        Self { version, count: 0, pieces: Vec::new() }
    }

    /// More tokens: a piece of their own.
    ///
    /// # Errors
    /// Those of the message.
    pub fn push(&mut self, tokens: &[DescribedDelegationToken]) -> Result<(), EncodeError> {
        if !tokens.is_empty() {
            let mut writer = Writer::new();
            tokens.iter().try_for_each(|token| token.encode(&mut writer, self.version))?;
            self.pieces.push(writer.freeze());
            self.count += tokens.len();
        }
        Ok(())
    }

    /// The whole response.
    ///
    /// # Errors
    /// Those of the message, and [`EncodeError::TooLong`] when a length cannot say how many bytes
    /// it has.
    pub fn close(self, correlation_id: i32) -> Result<TokensFrame, EncodeError> {
        let Self { version, count, pieces } = self;
        let is_flexible = DescribeDelegationTokenResponse::FLEXIBLE_FROM.is_some_and(|from| version >= from);
        let mut frame = ResponseFrame::open(ApiKey::DescribeDelegationToken, version, correlation_id)?;
        frame.writer().error_code(0);
        frame.writer().count(count, is_flexible)?;
        let mut end = Writer::new();
        end.throttle_time(0);
        if is_flexible {
            end.no_tags();
        }
        let of_tokens: usize = pieces.iter().map(Bytes::len).sum();
        let errors = frame.writer().take_errors();
        let first = frame.close(of_tokens + end.len())?;
        let throttle_at = first.len() + of_tokens;
        let pieces = std::iter::once(first).chain(pieces).chain([end.freeze()]).collect();
        Ok(TokensFrame { pieces, errors, throttle_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::describe_delegation_token_response::DescribedDelegationTokenRenewer;

    fn token(n: usize) -> DescribedDelegationToken {
        let renewer = DescribedDelegationTokenRenewer {
            principal_type: "User".to_owned(),
            principal_name: "r".repeat(n),
        };
        DescribedDelegationToken {
            principal_type: "User".to_owned(),
            principal_name: format!("u{n}"),
            token_id: n.to_string(),
            hmac: Bytes::from(vec![7; n]),
            renewers: vec![renewer; n % 3],
            ..Default::default()
        }
    }

    #[test]
    fn pieces_are_what_the_generated_codec_writes() {
        for version in DescribeDelegationTokenResponse::VERSIONS.iter() {
            for count in [0, 1, 126, 127, 300] {
                let tokens: Vec<_> = (0..count).map(token).collect();
                let mut described = DescribedTokens::new(version);
                for some in tokens.chunks(100).chain([&[][..]]) {
                    described.push(some).expect("they can be written");
                }
                let frame = described.close(9).expect("it is not too long");
                let whole = DescribeDelegationTokenResponse { tokens, ..Default::default() };
                let mut expected =
                    ResponseFrame::open(ApiKey::DescribeDelegationToken, version, 9).expect("a version");
                whole.encode(expected.writer(), version).expect("it can be written");
                assert_eq!(Some(frame.throttle_at), expected.writer().throttle_at());
                assert_eq!(frame.errors, expected.writer().take_errors());
                assert_eq!(frame.pieces.concat(), expected.close(0).expect("it is not too long"));
                assert_eq!(frame.pieces.len(), count.div_ceil(100) + 2);
            }
        }
    }
}
