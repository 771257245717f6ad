//! Settings of access control (Apache Kafka 4.4.0: `StandardAuthorizer`).

use std::sync::Arc;

use super::error::ConfigError;
use super::reading::Reading;
use crate::security::Authorizer;

/// The class whose rules are kept here.
const STANDARD: &str = "org.apache.kafka.metadata.authorizer.StandardAuthorizer";

/// Settings of access control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessConfig {
    /// `authorizer.class.name`, with the settings of the class; without it every client may do
    /// everything.
    pub authorizer: Option<Arc<Authorizer>>,
    /// `aplomb.audit.grants`
    pub audits_grants: bool,
}

impl AccessConfig {
    pub(super) fn read(reading: &Reading) -> Result<Self, ConfigError> {
        let name = "authorizer.class.name";
        let class = reading.text(name);
        if !class.is_empty() && class != STANDARD {
            let accepted = format!(
                "{STANDARD}, or no value: Java classes cannot be loaded, and that one's rules are kept here"
            );
            return Err(reading.conflict(name, accepted));
        }
        let users = reading.text("super.users");
        let users = users.split(';').map(str::trim).filter(|user| !user.is_empty());
        let super_users = users.map(str::to_owned).collect();
        let authorizer =
            Authorizer { super_users, allows_without_acl: reading.flag("allow.everyone.if.no.acl.found") };
        if !authorizer.super_users.iter().all(|user| user.contains(':')) {
            return Err(reading.conflict("super.users", "Type:name;Type:name;..., as in User:admin"));
        }
        Ok(Self {
            authorizer: (!class.is_empty()).then(|| Arc::new(authorizer)),
            audits_grants: reading.flag("aplomb.audit.grants"),
        })
    }
}
