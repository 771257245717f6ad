//! Which tokens of OAUTHBEARER count on a listener (Apache Kafka 4.4.0:
//! `OAuthBearerValidatorCallbackHandler`, `BrokerJwtValidator`).
//!
//! What always holds: tokens without a signature count only where the settings ask for them by
//! name; what is not looked at is what the settings say.

use std::collections::BTreeSet;
use std::time::Duration;

use aplomb_security::Secret;

use super::error::ConfigError;
use super::jaas::LoginModule;
use super::mechanism::Mechanism;
use super::scope::{OfListener, refused};
use super::tls::{StoreConfig, StoreKind, StorePlace};
use super::url::{KeyUrl, parse_url};
use super::value::Value;

const HANDLER: &str = "sasl.server.callback.handler.class";
const VALIDATED: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler";
const UNSECURED: &str = "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler";
const VALIDATORS: [&str; 2] = [
    "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
    "org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator",
];
/// What the options of tokens without a signature begin with.
const OPTION: &str = "unsecuredValidator";
const OAUTH: Option<Mechanism> = Some(Mechanism::OauthBearer);

/// Which tokens count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenConfig {
    /// Those that an issuer has signed.
    Validated(Box<ValidatedTokens>),
    /// Those that nothing vouches for.
    Unsecured(UnsecuredTokens),
}

/// What a signed token has to say, and whose signature counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatedTokens {
    /// Where the issuer's keys are.
    pub keys: KeySource,
    /// `sasl.oauthbearer.expected.audience`; empty: it is not looked at.
    pub audiences: BTreeSet<String>,
    /// `sasl.oauthbearer.expected.issuer`; without it, it is not looked at.
    pub issuer: Option<String>,
    /// `sasl.oauthbearer.clock.skew.seconds`
    pub skew_seconds: i64,
    /// `sasl.oauthbearer.scope.claim.name`
    pub scope_claim: String,
    /// `sasl.oauthbearer.sub.claim.name`
    pub sub_claim: String,
}

/// Where keys come from, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySource {
    /// `sasl.oauthbearer.jwks.endpoint.url`
    pub url: KeyUrl,
    /// `sasl.oauthbearer.jwks.endpoint.refresh.ms`
    pub refresh: Duration,
    /// `sasl.oauthbearer.jwks.endpoint.retry.backoff.ms`
    pub backoff: Duration,
    /// `sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms`
    pub backoff_max: Duration,
    /// Whose certificates the server may have; without it, those that the system trusts.
    pub truststore: Option<StoreConfig>,
}

/// What a token without a signature has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsecuredTokens {
    /// `unsecuredValidatorPrincipalClaimName`
    pub principal_claim: String,
    /// `unsecuredValidatorScopeClaimName`
    pub scope_claim: String,
    /// `unsecuredValidatorRequiredScope`
    pub required_scope: Vec<String>,
    /// `unsecuredValidatorAllowableClockSkewMs`
    pub skew_millis: i64,
}

impl OfListener<'_> {
    /// Which tokens count here, by the mechanism's own settings and its JAAS line.
    pub(super) fn tokens(&self, module: Option<&LoginModule>) -> Result<TokenConfig, ConfigError> {
        self.refuse_broad_handler()?;
        let name = self.handler_name(Mechanism::OauthBearer);
        let asks_for_unsecured =
            || module.is_some_and(|module| module.options.keys().any(|option| option.starts_with(OPTION)));
        match self.reading.as_written(&name).map(str::trim).filter(|class| !class.is_empty()) {
            Some(VALIDATED) => Ok(TokenConfig::Validated(Box::new(self.validated(module)?))),
            Some(UNSECURED) => self.unsecured(module).map(TokenConfig::Unsecured),
            None if asks_for_unsecured() => self.unsecured(module).map(TokenConfig::Unsecured),
            class => {
                let accepted = format!(
                    "{VALIDATED}, and tokens are checked by the keys of {}; or, for tests, {UNSECURED}, and whatever a token says is believed",
                    "sasl.oauthbearer.jwks.endpoint.url"
                );
                Err(refused(name, class.unwrap_or_default().to_owned(), accepted))
            }
        }
    }

    /// Other mechanisms have no class of this kind here.
    pub(super) fn refuse_handler(&self, mechanism: Mechanism) -> Result<(), ConfigError> {
        self.refuse_broad_handler()?;
        let name = self.handler_name(mechanism);
        match self.reading.as_written(&name).filter(|class| !class.trim().is_empty()) {
            None => Ok(()),
            Some(class) => Err(refused(
                name,
                class.to_owned(),
                "no value: Java classes cannot be loaded here; users of PLAIN are in listener.name.<name>.plain.sasl.jaas.config, those of SCRAM in the metadata log (kafka-configs.sh --entity-type users)".to_owned(),
            )),
        }
    }

    /// Apache Kafka looks for this class under the mechanism's name alone, and says nothing of one
    /// that it does not see.
    fn refuse_broad_handler(&self) -> Result<(), ConfigError> {
        for name in [format!("{}{HANDLER}", self.prefix), HANDLER.to_owned()] {
            if let Some(class) = self.reading.as_written(&name).filter(|class| !class.trim().is_empty()) {
                let accepted = format!(
                    "no value: it counts as {} alone, where it is {VALIDATED}; users of SCRAM are in the metadata log (kafka-configs.sh --entity-type users)",
                    self.handler_name(Mechanism::OauthBearer)
                );
                return Err(refused(name, class.to_owned(), accepted));
            }
        }
        Ok(())
    }

    fn handler_name(&self, mechanism: Mechanism) -> String {
        format!("{}{}.{HANDLER}", self.prefix, mechanism.name().to_lowercase())
    }

    fn validated(&self, module: Option<&LoginModule>) -> Result<ValidatedTokens, ConfigError> {
        let key = "sasl.oauthbearer.jwt.validator.class";
        let validator = self.text(OAUTH, key).1.map(str::trim).filter(|class| !class.is_empty());
        if validator.is_some_and(|class| !VALIDATORS.contains(&class)) {
            return Err(self.refuse_token(key, &VALIDATORS.join(" or ")));
        }
        let key = "sasl.oauthbearer.expected.audience";
        let audiences = match self.value(OAUTH, key) {
            Some(Value::List(names)) => names.into_iter().collect(),
            _ => BTreeSet::new(),
        };
        if audiences.is_empty() && !self.flag("sasl.oauthbearer.allow.unverified.audience") {
            return Err(self.refuse_token(key, "the audience that tokens for this cluster have, or any at all with sasl.oauthbearer.allow.unverified.audience=true"));
        }
        let key = "sasl.oauthbearer.expected.issuer";
        let issuer = self.word(key);
        if issuer.is_none() && !self.flag("sasl.oauthbearer.allow.unverified.issuer") {
            return Err(self.refuse_token(key, "the issuer that tokens have, or any at all with sasl.oauthbearer.allow.unverified.issuer=true"));
        }
        let named = |key: &str| self.word(key).ok_or_else(|| self.refuse_token(key, "the name of a claim"));
        let key = "sasl.oauthbearer.clock.skew.seconds";
        let skew_seconds = self.number(key);
        if skew_seconds < 0 {
            return Err(self.refuse_token(key, "0 or more"));
        }
        Ok(ValidatedTokens {
            keys: self.key_source(module)?,
            audiences,
            issuer,
            skew_seconds,
            scope_claim: named("sasl.oauthbearer.scope.claim.name")?,
            sub_claim: named("sasl.oauthbearer.sub.claim.name")?,
        })
    }

    fn key_source(&self, module: Option<&LoginModule>) -> Result<KeySource, ConfigError> {
        let key = "sasl.oauthbearer.jwks.endpoint.url";
        let url = self.word(key).and_then(|text| parse_url(&text));
        let url = url.ok_or_else(|| {
            self.refuse_token(
                key,
                "where the issuer's keys are: https://host/path, http://host/path or file:///path",
            )
        })?;
        let millis = |key: &str, least: i64| {
            let millis = u64::try_from(self.number(key)).ok().filter(|_| self.number(key) >= least);
            millis
                .map(Duration::from_millis)
                .ok_or_else(|| self.refuse_token(key, &format!("{least} or more")))
        };
        let truststore = module.map(|module| self.truststore_of(module)).transpose()?.flatten();
        Ok(KeySource {
            url,
            refresh: millis("sasl.oauthbearer.jwks.endpoint.refresh.ms", 1)?,
            backoff: millis("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", 0)?,
            backoff_max: millis("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 0)?,
            truststore,
        })
    }

    /// The trust store for the server with the keys, which Apache Kafka has in the JAAS line.
    fn truststore_of(&self, module: &LoginModule) -> Result<Option<StoreConfig>, ConfigError> {
        const KNOWN: [&str; 4] = [
            "ssl.truststore.type",
            "ssl.truststore.location",
            "ssl.truststore.password",
            "ssl.truststore.certificates",
        ];
        let name = || format!("{}oauthbearer.sasl.jaas.config", self.prefix);
        let wrong = |accepted: &str| refused(name(), "[hidden]".to_owned(), accepted.to_owned());
        if let Some(other) =
            module.options.keys().find(|key| key.starts_with("ssl.") && !KNOWN.contains(&key.as_str()))
        {
            return Err(wrong(&format!("a line without {other}; of ssl.* it may have {}", KNOWN.join(", "))));
        }
        let [kind, location, password, certificates] =
            KNOWN.map(|key| module.options.get(key).filter(|text| !text.is_empty()));
        let kind = match kind.map(|kind| kind.to_ascii_uppercase()).as_deref() {
            None | Some("JKS") => StoreKind::Jks,
            Some("PKCS12") => StoreKind::Pkcs12,
            Some("PEM") => StoreKind::Pem,
            Some(_) => return Err(wrong("a line with ssl.truststore.type JKS, PKCS12 or PEM")),
        };
        let place = match (location, certificates) {
            (None, None) => return Ok(None),
            (Some(path), None) => StorePlace::File(path.clone()),
            (None, Some(text)) if kind == StoreKind::Pem => {
                StorePlace::Inline { certificates: Secret::new(text.clone()), key: None }
            }
            _ => {
                return Err(wrong(
                    "a line with ssl.truststore.location, or with ssl.truststore.certificates and the type PEM",
                ));
            }
        };
        Ok(Some(StoreConfig { kind, place, password: password.map(|text| Secret::new(text.clone())) }))
    }

    fn unsecured(&self, module: Option<&LoginModule>) -> Result<UnsecuredTokens, ConfigError> {
        let option = |name: &str| {
            let text = module.and_then(|module| module.options.get(&format!("{OPTION}{name}")));
            text.map(|text| text.trim()).filter(|text| !text.is_empty())
        };
        let wrong = |accepted: String| {
            refused(format!("{}oauthbearer.sasl.jaas.config", self.prefix), "[hidden]".to_owned(), accepted)
        };
        let required = option("RequiredScope").unwrap_or_default().split(' ').filter(|word| !word.is_empty());
        let required_scope: Vec<String> = required.map(str::to_owned).collect();
        let is_scope =
            |word: &String| word.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
        if !required_scope.iter().all(is_scope) {
            return Err(wrong(format!(
                "a line whose {OPTION}RequiredScope is of words, with blanks between them"
            )));
        }
        let skew = option("AllowableClockSkewMs").map_or(Ok(0), str::parse::<i32>);
        let skew = skew.ok().filter(|millis| *millis >= 0);
        let skew =
            skew.ok_or_else(|| wrong(format!("a line whose {OPTION}AllowableClockSkewMs is 0 or more")))?;
        Ok(UnsecuredTokens {
            principal_claim: option("PrincipalClaimName").unwrap_or("sub").to_owned(),
            scope_claim: option("ScopeClaimName").unwrap_or("scope").to_owned(),
            required_scope,
            skew_millis: skew.into(),
        })
    }

    fn word(&self, key: &str) -> Option<String> {
        let text = self.value(OAUTH, key)?.to_string();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn flag(&self, key: &str) -> bool {
        self.value(OAUTH, key) == Some(Value::Boolean(true))
    }

    fn number(&self, key: &str) -> i64 {
        match self.value(OAUTH, key) {
            Some(Value::Number(number)) => number,
            _ => 0,
        }
    }

    fn refuse_token(&self, key: &str, accepted: &str) -> ConfigError {
        let (name, text) = self.text(OAUTH, key);
        refused(name, text.unwrap_or_default().to_owned(), accepted.to_owned())
    }
}
