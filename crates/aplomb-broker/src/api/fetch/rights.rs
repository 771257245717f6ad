//! Which topics a fetch may read. A request names a topic's partitions one after the other: it is
//! decided once for all of them.

use aplomb_model::ErrorCode;
use aplomb_protocol::hot::TopicKey;

use super::super::{Access, On};
use crate::metadata::MetadataImage;
use crate::operation::authorize;
use crate::security::AclOperation;

/// What a fetch may read.
pub(super) struct ReadRights<'a> {
    image: &'a MetadataImage,
    access: Access<'a>,
    /// Of a broker that follows: it may read all or nothing.
    follows: Option<Result<(), ErrorCode>>,
    last: Option<(TopicKey, Result<(), ErrorCode>)>,
}

impl<'a> ReadRights<'a> {
    pub(super) fn new(image: &'a MetadataImage, access: Access<'a>, is_follower: bool) -> Self {
        let follows = is_follower.then(|| {
            let may = access.may(AclOperation::ClusterAction, On::Cluster);
            if may { Ok(()) } else { Err(ErrorCode::TopicAuthorizationFailed) }
        });
        Self { image, access, follows, last: None }
    }

    /// Whether the topic may be read.
    ///
    /// # Errors
    /// The code for its partitions.
    pub(super) fn check(&mut self, topic: &TopicKey) -> Result<(), ErrorCode> {
        if self.access.is_open() {
            return Ok(());
        }
        if let Some(all) = self.follows {
            return all;
        }
        if let Some((_, allowed)) = self.last.as_ref().filter(|(known, _)| known == topic) {
            return *allowed;
        }
        let check = |on: On<'_>| self.access.check(AclOperation::Read, on);
        let allowed = authorize(self.image, topic.as_ref(), check);
        self.last = Some((topic.clone(), allowed));
        allowed
    }
}
