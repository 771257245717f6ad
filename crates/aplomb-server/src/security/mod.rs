//! TLS: stores of keys and certificates, what is made of them, and who a certificate's owner is;
//! and whom a Kerberos principal stands for.
//!
//! What always holds: nothing here opens a file; threads that may wait for one hand its bytes in.
//! What cannot be used is said in a sentence without a secret.

mod backlog;
mod client;
mod der;
#[cfg(test)]
mod golden;
mod jks;
mod local_names;
mod names;
#[cfg(test)]
mod outgoing;
mod owner;
mod pbe;
mod pem;
mod pkcs12;
mod pkcs8;
mod read;
mod store;
mod tls;

pub(crate) use backlog::Unsent;
pub use client::{ClientTlsSettings, client_config, client_tls};
pub use local_names::{LocalNames, LocalRuleError, NameFault};
pub use names::{PrincipalRules, RuleError};
pub use owner::OwnerRules;
pub use store::StoreError;
pub(crate) use tls::principal;
pub use tls::{Gate, Material, Prepared, TlsError, TlsSettings, cipher_suites};
