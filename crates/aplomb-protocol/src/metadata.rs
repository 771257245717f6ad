//! Records of the metadata log in their frame: the value of a record in `__cluster_metadata` is an
//! unsigned varint frame version (1), the record's type and version as unsigned varints, and the
//! message.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, MetadataRecord, Reader, Writer};

/// The only version of the frame.
const FRAME_VERSION: u32 = 1;

impl MetadataRecord {
    /// Reads a record's value, which it has to fill. Also returns the version it was written in.
    ///
    /// # Errors
    /// When the frame or the type is unknown, or the bytes are not the message.
    pub fn decode(value: Bytes) -> Result<(Self, i16), DecodeError> {
        let mut r = Reader::new(value);
        let frame = r.uvarint()?;
        if frame != FRAME_VERSION {
            return Err(DecodeError::UnknownFrameVersion(frame));
        }
        let key = r.uvarint()?;
        // A version that is no int16 is one that no record has; -1 is neither.
        let version = i16::try_from(r.uvarint()?).unwrap_or(-1);
        let record = Self::decode_body(key, &mut r, version)?;
        r.finish()?;
        Ok((record, version))
    }

    /// Writes a record's value.
    ///
    /// # Errors
    /// When the version does not exist or cannot express the record.
    pub fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.uvarint(FRAME_VERSION);
        w.uvarint(u32::from(self.key().unsigned_abs()));
        w.uvarint(u32::from(version.unsigned_abs()));
        self.encode_body(w, version)
    }

    /// The record's value alone, as bytes.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        let mut w = Writer::new();
        self.encode(&mut w, version)?;
        Ok(w.freeze())
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::Uuid;

    use super::*;
    use crate::messages::TopicRecord;

    #[test]
    fn a_record_reads_back_from_its_frame() {
        let record = MetadataRecord::from(TopicRecord { name: "t".to_owned(), topic_id: Uuid::from_u128(7) });
        let bytes = record.to_bytes(0).unwrap();
        assert_eq!(bytes[..5], [1, 2, 0, 2, b't']);
        assert_eq!(MetadataRecord::decode(bytes), Ok((record, 0)));
    }

    #[test]
    fn what_is_unknown_is_named() {
        let decode = |raw: &'static [u8]| MetadataRecord::decode(Bytes::from_static(raw)).unwrap_err();
        assert_eq!(decode(&[2, 2, 0]), DecodeError::UnknownFrameVersion(2));
        assert_eq!(decode(&[1, 99, 0]), DecodeError::UnknownRecordType(99));
        assert_eq!(
            decode(&[1, 2, 9]),
            DecodeError::UnsupportedVersion { message: "TopicRecord", version: 9 }
        );
        assert_eq!(
            decode(&[1, 2, 0xff, 0xff, 0x03]),
            DecodeError::UnsupportedVersion { message: "TopicRecord", version: -1 }
        );
        assert_eq!(decode(&[1, 20, 0, 0, 5]), DecodeError::TrailingBytes(1));
    }
}
