//! `DescribeClientQuotasRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeClientQuotasRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeClientQuotasRequest`: request, key 48, versions 0-1, flexible 1+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeClientQuotasRequest {
    /// `Components`: []ComponentData, versions 0+.
    pub components: Vec<ComponentData>,
    /// `Strict`: bool, versions 0+.
    pub strict: bool,
}

impl Message for DescribeClientQuotasRequest {
    const NAME: &'static str = "DescribeClientQuotasRequest";
    const API_KEY: Option<i16> = Some(48);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(1);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        let components = r.array(flexible, |r| ComponentData::decode(r, v))?;
        let strict = r.bool()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { components, strict })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        w.array(&self.components, flexible, |w, it| it.encode(w, v))?;
        w.bool(self.strict);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `ComponentData` in `DescribeClientQuotasRequest`, versions 0-1.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentData {
    /// `EntityType`: string, versions 0+.
    pub entity_type: String,
    /// `MatchType`: int8, versions 0+.
    pub match_type: i8,
    /// `Match`: string, versions 0+, nullable in 0+.
    pub r#match: Option<String>,
}

impl Default for ComponentData {
    fn default() -> Self {
        Self { entity_type: String::new(), match_type: 0, r#match: Some(String::new()) }
    }
}

impl ComponentData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 1;
        let entity_type = r.string(flexible)?;
        let match_type = r.i8()?;
        let r#match = r.nullable_string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { entity_type, match_type, r#match })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 1;
        w.string(&self.entity_type, flexible)?;
        w.i8(self.match_type);
        w.nullable_string(self.r#match.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for DescribeClientQuotasRequest {
    const KEY: ApiKey = ApiKey::DescribeClientQuotas;
    type Response = super::DescribeClientQuotasResponse;
}
