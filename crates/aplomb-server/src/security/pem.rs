//! PEM: blocks of base64 between two lines, with whatever else there is around them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::store::StoreError;

/// What stands between a block's lines.
#[derive(Debug)]
pub(super) struct Block {
    /// `CERTIFICATE`, for instance.
    pub(super) label: String,
    pub(super) bytes: Zeroizing<Vec<u8>>,
}

/// All blocks of a text.
pub(super) fn blocks(text: &[u8]) -> Result<Vec<Block>, StoreError> {
    // Settings that are written on one line have them without ends of lines.
    let text = Zeroizing::new(String::from_utf8_lossy(text).into_owned());
    let mut rest = text.as_str();
    let mut found = Vec::new();
    while let Some((_, behind)) = rest.split_once("-----BEGIN ") {
        let (label, behind) =
            behind.split_once("-----").ok_or(StoreError::Pem("a block has no first line"))?;
        let (body, behind) = behind
            .split_once(&format!("-----END {label}-----"))
            .ok_or(StoreError::Pem("a block has no last line"))?;
        let digits: Zeroizing<String> =
            Zeroizing::new(body.chars().filter(|c| !c.is_ascii_whitespace()).collect());
        let bytes = STANDARD.decode(&*digits).map_err(|_| StoreError::Pem("a block is not base64"))?;
        found.push(Block { label: label.to_owned(), bytes: Zeroizing::new(bytes) });
        rest = behind;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_among_other_text() {
        let text = "Bag Attributes\n-----BEGIN A B-----\nAAE\nC\n-----END A B-----\nx\n-----BEGIN C-----AAEC-----END C-----";
        let blocks = blocks(text.as_bytes()).expect("two blocks");
        let found: Vec<_> = blocks.iter().map(|block| (block.label.as_str(), &block.bytes[..])).collect();
        assert_eq!(found, [("A B", &[0, 1, 2][..]), ("C", &[0, 1, 2])]);
    }

    #[test]
    fn half_a_block_is_an_error() {
        for text in ["-----BEGIN A", "-----BEGIN A-----\nAAEC\n", "-----BEGIN A-----?-----END A-----"] {
            assert!(blocks(text.as_bytes()).is_err(), "{text}");
        }
        assert!(blocks(b"nothing").expect("no block").is_empty());
    }
}
