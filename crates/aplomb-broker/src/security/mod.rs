//! Who may do what: ACLs, and decisions by them, as Apache Kafka 4.4's `StandardAuthorizer` makes
//! them.
//!
//! [`Authorizer`] has the settings and decides; [`Acls`] is what the metadata log says, with an
//! index that every shard reads without a lock: a change makes a new one that shares what did not
//! change. [`AclOperation`] and [`ResourceKind`] are the words.

mod acl;
mod acls;
mod audit;
mod authorizer;
mod filter;
mod host;
mod of_principal;
mod patterns;
mod shared_map;
pub mod tokens;
mod words;

#[cfg(test)]
mod tests;

pub use acl::Acl;
pub use acls::Acls;
pub use audit::Audit;
pub use authorizer::{Authorizer, Rule};
pub use filter::AclFilter;
pub use host::{NetworkError, check_network};
pub use of_principal::Who;
pub use tokens::{DelegationTokens, TokenKey};
pub use words::{
    AclOperation, CLUSTER_NAME, PatternKind, PermissionKind, ResourceKind, WILDCARD, WILDCARD_USER,
};
