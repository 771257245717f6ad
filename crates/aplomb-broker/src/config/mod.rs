//! Settings: which keys there are, what their values mean, and who overrides whom.
//!
//! `keys` are the tables; [`BrokerConfig`] is `server.properties`, understood; [`TopicConfig`] a
//! topic's settings, understood; [`Layers`] is where both look, and where DescribeConfigs does.
//! Code outside of this folder meets no sentinel.

mod access;
mod broker;
mod cleaner;
mod client;
mod error;
mod groups;
mod jaas;
mod kerberos;
mod key;
mod keys;
mod layers;
mod listener_limits;
mod listeners;
mod mechanism;
mod metrics_access;
mod oauth;
mod of_listener;
mod quotas;
mod reading;
mod scope;
mod security;
mod tls;
mod tokens;
mod topic;
mod transactions;
mod url;
mod value;

pub use access::AccessConfig;
pub use aplomb_security::Secret;
pub use broker::{BrokerConfig, DiskEngineChoice, Guard, MetadataConfig, NetworkConfig, StorageConfig};
pub use cleaner::CleanerConfig;
pub use client::{ClientLogin, ClientSettings, ClientTickets, ClientTlsConfig, TicketCache};
pub use error::{ConfigError, Warning};
pub use groups::GroupsConfig;
pub use jaas::{JaasError, LoginModule, parse_jaas};
pub use kerberos::KerberosConfig;
pub use key::{ConfigKey, ConfigType, GroupKey, Importance, Meaning, TopicKey, Update, Valid};
pub(crate) use keys::is_of_a_listeners_stores;
pub use keys::{
    behind_listener, broker_key, broker_keys, broker_synonyms, client_metrics_keys, group_key, group_keys,
    is_changed_by_listener, is_of_the_authorizer, is_of_the_file_alone, is_only_shown_when_set, not_at_once,
    topic_key, topic_keys,
};
pub use layers::{Layers, Properties, Setting, Source};
pub use listener_limits::ListenerLimits;
pub use listeners::{Listener, ListenerError, SecurityProtocol};
pub use mechanism::Mechanism;
pub use metrics_access::MetricsAccess;
pub use oauth::{KeySource, TokenConfig, UnsecuredTokens, ValidatedTokens};
pub use quotas::{QuotaWindows, QuotasConfig};
pub use security::{ListenerSecurity, MechanismConfig, SaslConfig, SecurityConfig};
pub use tls::{ClientAuth, StoreConfig, StoreKind, StorePlace, TlsConfig, TlsVersion};
pub use tokens::TokensConfig;
pub use topic::{CleanupPolicy, TopicCompaction, TopicConfig, TopicConfigError, effective_values};
pub use transactions::TransactionsConfig;
pub use url::{HttpUrl, KeyUrl};
pub use value::{Value, ValueError};

#[cfg(test)]
mod tests;
