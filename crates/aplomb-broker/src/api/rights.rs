//! What a client may do to topics of which requests name the partitions one after the other: it is
//! decided once for all of them.

use aplomb_model::ErrorCode;
use aplomb_protocol::hot::{TopicKey, TopicRef};

use super::{Access, On};
use crate::metadata::MetadataImage;
use crate::security::AclOperation;

/// What may be done to topics.
pub(super) struct TopicRights<'a> {
    image: &'a MetadataImage,
    access: Access<'a>,
    operation: AclOperation,
    /// Of a broker that follows: it may fetch all or nothing.
    follows: Option<Result<(), ErrorCode>>,
    last: Option<(TopicKey, Result<(), ErrorCode>)>,
}

impl<'a> TopicRights<'a> {
    pub(super) fn new(image: &'a MetadataImage, access: Access<'a>, operation: AclOperation) -> Self {
        Self { image, access, operation, follows: None, last: None }
    }

    pub(super) fn to_fetch(image: &'a MetadataImage, access: Access<'a>, is_follower: bool) -> Self {
        let follows = is_follower.then(|| {
            let may = access.may(AclOperation::ClusterAction, On::Cluster);
            if may { Ok(()) } else { Err(ErrorCode::TopicAuthorizationFailed) }
        });
        Self { follows, ..Self::new(image, access, AclOperation::Read) }
    }

    /// Whether it may be done to this one.
    ///
    /// # Errors
    /// The code for its partitions.
    pub(super) fn check(&mut self, topic: &TopicKey) -> Result<(), ErrorCode> {
        if self.access.is_open() {
            return Ok(());
        }
        if let Some(of_all) = self.follows {
            return of_all;
        }
        if let Some((_, allowed)) = self.last.as_ref().filter(|(known, _)| known == topic) {
            return *allowed;
        }
        let check = |on: On<'_>| self.access.check(self.operation, on);
        let allowed = authorize(self.image, topic.as_ref(), check);
        self.last = Some((topic.clone(), allowed));
        allowed
    }
}

/// Whether a client may do something to the topic that a request names, there or not. One that is
/// named by an id which no topic has is refused for that.
///
/// # Errors
/// The code for a client that may not.
pub(super) fn authorize(
    image: &MetadataImage,
    topic: TopicRef<'_>,
    check: impl FnOnce(On<'_>) -> Result<(), ErrorCode>,
) -> Result<(), ErrorCode> {
    match topic {
        TopicRef::Name(name) => check(On::Topic(name)),
        TopicRef::Id(id) => image.topics.by_id(id).map_or(Ok(()), |topic| check(On::Topic(&topic.name))),
    }
}
