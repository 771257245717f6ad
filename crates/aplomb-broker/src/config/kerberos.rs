//! Which tickets of GSSAPI count on a listener (Apache Kafka 4.4.0: `KerberosLogin`,
//! `Krb5LoginModule` of Java).

use super::error::ConfigError;
use super::jaas::LoginModule;
use super::mechanism::Mechanism;
use super::scope::{OfListener, refused};

const SERVICE: &str = "sasl.kerberos.service.name";
const RULES: &str = "sasl.kerberos.principal.to.local.rules";

/// Whose tickets count, and for whom they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KerberosConfig {
    /// `principal` of the JAAS line: whom tickets are for. `None`: `*`, any of the keytab.
    pub principal: Option<String>,
    /// `keyTab`; without it, the one that Kerberos has for the machine.
    pub keytab: Option<String>,
    /// `sasl.kerberos.principal.to.local.rules`
    pub rules: Vec<String>,
}

impl OfListener<'_> {
    /// As the JAAS line of this name has it.
    pub(super) fn kerberos(
        &self,
        name: &str,
        module: Option<&LoginModule>,
    ) -> Result<KerberosConfig, ConfigError> {
        let class = Mechanism::Gssapi.login_module();
        let example = format!(
            "{class} required useKeyTab=true storeKey=true keyTab=\"/etc/aplomb/kafka.keytab\" principal=\"kafka/host.example@EXAMPLE\";"
        );
        let Some(LoginModule { options, .. }) = module else {
            return Err(refused(name.to_owned(), String::new(), example));
        };
        let wrong = |accepted: &str| refused(name.to_owned(), "[hidden]".to_owned(), accepted.to_owned());
        let option = |name: &str| options.get(name).map(|text| text.trim()).filter(|text| !text.is_empty());
        for flag in ["useKeyTab", "storeKey"] {
            if !option(flag).is_some_and(|text| text.eq_ignore_ascii_case("true")) {
                return Err(wrong(&format!(
                    "a line with {flag}=true: the keys that tickets are read with come from a keytab, as in {example}"
                )));
            }
        }
        let principal = option("principal").ok_or_else(|| {
            wrong(&format!("a line with the principal that tickets are for, or \"*\", as in {example}"))
        })?;
        let named = self.text(None, SERVICE).1.filter(|text| !text.is_empty());
        match (option("serviceName"), named) {
            (None, None) => {
                return Err(self.refuse(SERVICE, "the name of the service, which is kafka for the principal kafka/host.example@EXAMPLE: it is neither here nor in the JAAS line (serviceName)"));
            }
            (Some(line), Some(text)) if line != text => {
                return Err(self.refuse(SERVICE, "the same name as the JAAS line (serviceName) has"));
            }
            _ => {}
        }
        Ok(KerberosConfig {
            principal: Some(principal).filter(|text| *text != "*").map(str::to_owned),
            keytab: option("keyTab").map(str::to_owned),
            rules: self.list(RULES),
        })
    }
}
