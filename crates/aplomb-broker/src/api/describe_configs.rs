//! DescribeConfigs: the settings in force for a topic or for this broker, where each comes from,
//! and what else would apply.

use std::collections::HashSet;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::describe_configs_request::{DescribeConfigsRequest, DescribeConfigsResource};
use aplomb_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResponse, DescribeConfigsResult, DescribeConfigsSynonym,
};

use super::On;
use super::context::{Context, in_words};
use crate::config::{
    ConfigKey, ConfigType, Setting, Source, Update, behind_listener, broker_key, broker_keys,
    client_metrics_keys, effective_values, group_keys, is_of_the_authorizer, is_only_shown_when_set,
};
use crate::controller::{AdminError, check_topic_name};
use crate::metadata::Resource;
use crate::operation::{Api, Asked, Begun};
use crate::security::AclOperation;
use aplomb_protocol::{ApiKey, DecodeError};

/// The type of what is in no table (`DescribeConfigsResponse.ConfigType`).
const UNKNOWN_TYPE: i8 = 0;

/// Groups and subscriptions have settings whether they are there or not: so many of them a request
/// may name.
const MOST_NAMED: usize = 10_000;

pub(super) const API: Api = Api::of_controller(ApiKey::DescribeConfigs, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DescribeConfigsRequest = asked.decode()?;
    asked.answer(&handle(&request, &Context::of(asked)))
}

/// Answers.
#[must_use]
pub fn handle(request: &DescribeConfigsRequest, ctx: &Context<'_>) -> DescribeConfigsResponse {
    // One answer a resource: a short request must not ask for the same long list over and over.
    let (mut seen, mut named) = (HashSet::new(), 0);
    let results = request
        .resources
        .iter()
        .map(|resource| {
            named +=
                usize::from(matches!(resource.resource_type, Resource::GROUP | Resource::CLIENT_METRICS));
            let described = if named > MOST_NAMED {
                let text = format!("A request may name {MOST_NAMED} groups and subscriptions at most.");
                Err(AdminError::Request(text))
            } else if seen.insert((resource.resource_type, resource.resource_name.as_str())) {
                let wanted = resource.configuration_keys.iter().flatten().map(String::as_str).collect();
                OneResource { request, resource, wanted, ctx }.describe()
            } else {
                Err(AdminError::Request("Each resource must appear at most once.".to_owned()))
            };
            let (configs, error) = match described {
                Ok(configs) => (configs, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            DescribeConfigsResult {
                error_code: error.as_ref().map_or(ErrorCode::None, ErrorCode::from).to_wire(),
                error_message: Some(error.map_or_else(String::new, |error| in_words(&error))),
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
                configs,
            }
        })
        .collect();
    DescribeConfigsResponse { results, ..Default::default() }
}

/// One resource of a request.
struct OneResource<'a> {
    request: &'a DescribeConfigsRequest,
    resource: &'a DescribeConfigsResource,
    /// The settings that are asked for; none at all is everything.
    wanted: HashSet<&'a str>,
    ctx: &'a Context<'a>,
}

impl OneResource<'_> {
    fn describe(&self) -> Result<Vec<DescribeConfigsResourceResult>, AdminError> {
        self.authorize()?;
        let name = self.resource.resource_name.as_str();
        let request = |text: String| Err(AdminError::Request(text));
        match self.resource.resource_type {
            Resource::TOPIC => {
                check_topic_name(name)?;
                match self.ctx.image.topics.by_name(name) {
                    Some(_) => Ok(self.topic(name)),
                    None => Err(AdminError::UnknownTopic(name.to_owned())),
                }
            }
            Resource::BROKER if name.is_empty() => Ok(self.all_brokers()),
            Resource::BROKER => self.check_is_this_broker(" or empty string").map(|()| self.broker()),
            Resource::BROKER_LOGGER if name.is_empty() => request("Broker id must not be empty".to_owned()),
            // Log levels are not settings of this broker: there is nothing to list.
            Resource::BROKER_LOGGER => self.check_is_this_broker("").map(|()| Vec::new()),
            Resource::CLIENT_METRICS if name.is_empty() => {
                request("Client metrics subscription name must not be empty".to_owned())
            }
            Resource::CLIENT_METRICS => Ok(self.client_metrics(name)),
            Resource::GROUP if name.is_empty() => request("Group name must not be empty".to_owned()),
            Resource::GROUP => Ok(self.group(name)),
            other => request(format!("Unexpected resource type {other} for resource {name}")),
        }
    }

    fn authorize(&self) -> Result<(), AdminError> {
        let on = match self.resource.resource_type {
            Resource::TOPIC => On::Topic(&self.resource.resource_name),
            Resource::GROUP => On::Group(&self.resource.resource_name),
            Resource::BROKER | Resource::BROKER_LOGGER | Resource::CLIENT_METRICS => On::Cluster,
            _ => return Ok(()),
        };
        self.ctx.access.check(AclOperation::DescribeConfigs, on).map_err(AdminError::Denied)
    }

    fn check_is_this_broker(&self, alternative: &str) -> Result<(), AdminError> {
        let (name, this) = (&self.resource.resource_name, self.ctx.config.node_id);
        match name.parse::<i32>() {
            // Not "+1" or "01": see `handle` on how often one may ask.
            Ok(_) if *name == this.to_string() => Ok(()),
            Ok(_) => Err(AdminError::Request(format!(
                "Unexpected broker id, expected {this}{alternative}, but received {name}"
            ))),
            Err(_) => Err(AdminError::Request(format!("Broker id must be an integer, but it is: {name}"))),
        }
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.contains(name)
    }

    fn topic(&self, name: &str) -> Vec<DescribeConfigsResourceResult> {
        let overrides = self.ctx.image.topic_overrides(name);
        let layers = self.ctx.image.layers(self.ctx.config);
        effective_values(overrides, &layers)
            .filter(|(topic, ..)| self.is_wanted(topic.key.name))
            .map(|(topic, value, is_own)| {
                let value = value.to_string();
                let mut settings = Vec::new();
                if is_own {
                    let value = value.clone();
                    let name = topic.key.name.to_owned();
                    settings.push(Setting { name, value, source: Source::Topic });
                }
                if let Some(broker) = topic.broker_keys.first() {
                    settings.extend(layers.settings(broker));
                }
                self.result(&Shown { value: Some(value), ..Shown::of(&topic.key) }, &settings)
            })
            .collect()
    }

    fn broker(&self) -> Vec<DescribeConfigsResourceResult> {
        let layers = self.ctx.image.layers(self.ctx.config);
        let is_shown = |key: &&ConfigKey| !is_only_shown_when_set(key) || layers.set(key.name).is_some();
        let mut results: Vec<_> = broker_keys()
            .filter(|key| self.is_wanted(key.name))
            .filter(is_shown)
            .map(|key| {
                if is_of_the_authorizer(key) {
                    let mut settings = layers.settings(key.name);
                    settings.retain(|setting| setting.source != Source::Default);
                    return self.without_a_table(key.name, &settings);
                }
                let value = layers.value(key).map(|value| value.to_string());
                let read_only = key.update == Update::ReadOnly;
                self.result(&Shown { value, read_only, ..Shown::of(key) }, &layers.settings(key.name))
            })
            .collect();
        let set = layers.for_this.keys().chain(layers.for_all.keys()).chain(layers.file.keys());
        let mut others: Vec<&String> =
            set.filter(|name| broker_key(name).is_none() && self.is_wanted(name)).collect();
        others.sort_unstable();
        others.dedup();
        results.extend(others.into_iter().map(|name| self.without_a_table(name, &layers.settings(name))));
        results.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        results
    }

    /// What was set under a name that no table has. A listener's own is as the one behind its
    /// prefix; that of a plug-in may be a password, and is not shown.
    fn without_a_table(&self, name: &str, settings: &[Setting]) -> DescribeConfigsResourceResult {
        let key = behind_listener(name).and_then(broker_key);
        let value = settings.first().map(|setting| setting.value.clone());
        let kind = key.map(|key| key.kind);
        self.result(&Shown { name, kind, value, read_only: true, documentation: None }, settings)
    }

    /// Only what was changed at run time for all brokers.
    fn all_brokers(&self) -> Vec<DescribeConfigsResourceResult> {
        let layers = self.ctx.image.layers(self.ctx.config);
        let set = layers.for_all.iter().filter(|(name, _)| self.is_wanted(name));
        set.map(|(name, value)| {
            let mut settings = layers.settings(name);
            settings.retain(|setting| setting.source == Source::DynamicDefault);
            let Some(key) = broker_key(name) else { return self.without_a_table(name, &settings) };
            let read_only = key.update == Update::ReadOnly;
            self.result(&Shown { value: Some(value.clone()), read_only, ..Shown::of(key) }, &settings)
        })
        .collect()
    }

    /// Also of a subscription that there is not: all of it is as by default, as in Apache Kafka.
    fn client_metrics(&self, name: &str) -> Vec<DescribeConfigsResourceResult> {
        let resource = Resource { kind: Resource::CLIENT_METRICS, name: name.to_owned() };
        let set = self.ctx.image.configs.of(&resource);
        let keys = client_metrics_keys().iter().filter(|key| self.is_wanted(key.name));
        keys.map(|key| {
            let own = set.get(key.name).cloned();
            let name = key.name.to_owned();
            let settings: Vec<Setting> = own
                .iter()
                .map(|value| Setting {
                    name: name.clone(),
                    value: value.clone(),
                    source: Source::ClientMetrics,
                })
                .collect();
            let value = own.or_else(|| key.default.map(str::to_owned));
            self.result(&Shown { value, ..Shown::of(key) }, &settings)
        })
        .collect()
    }

    /// Also of a group that there is not, as in Apache Kafka.
    fn group(&self, name: &str) -> Vec<DescribeConfigsResourceResult> {
        let resource = Resource { kind: Resource::GROUP, name: name.to_owned() };
        let set = self.ctx.image.configs.of(&resource);
        let layers = self.ctx.image.layers(self.ctx.config);
        let keys = group_keys().iter().filter(|group| self.is_wanted(group.key.name));
        keys.map(|group| {
            let name = group.key.name.to_owned();
            let own = set.get(group.key.name).cloned();
            let own = own.map(|value| Setting { name: name.clone(), value, source: Source::Group });
            let otherwise = match group.broker_key {
                Some(broker) => layers.settings(broker),
                None => {
                    let value = group.key.default.expect("who has it alone has a default").to_owned();
                    vec![Setting { name, value, source: Source::Default }]
                }
            };
            let settings: Vec<Setting> = own.into_iter().chain(otherwise).collect();
            let value = settings.first().map(|setting| match group.key.kind {
                // Of the broker's list of assignors it is the first.
                ConfigType::Text => setting.value.split(',').next().unwrap_or_default().to_owned(),
                _ => setting.value.clone(),
            });
            self.result(&Shown { value, ..Shown::of(&group.key) }, &settings)
        })
        .collect()
    }

    fn result(&self, shown: &Shown<'_>, settings: &[Setting]) -> DescribeConfigsResourceResult {
        let is_sensitive = shown.kind.is_none_or(ConfigType::is_sensitive);
        let unless_secret = |value: &String| (!is_sensitive).then(|| value.clone());
        let synonym = |setting: &Setting| DescribeConfigsSynonym {
            name: setting.name.clone(),
            value: unless_secret(&setting.value),
            source: setting.source as i8,
        };
        let synonyms = if self.request.include_synonyms { settings } else { &[] };
        let documentation = shown.documentation.filter(|_| self.request.include_documentation);
        DescribeConfigsResourceResult {
            name: shown.name.to_owned(),
            value: shown.value.as_ref().and_then(unless_secret),
            read_only: shown.read_only,
            config_source: settings.first().map_or(Source::Default, |setting| setting.source) as i8,
            is_sensitive,
            synonyms: synonyms.iter().map(synonym).collect(),
            config_type: shown.kind.map_or(UNKNOWN_TYPE, ConfigType::to_wire),
            documentation: documentation.map(str::to_owned),
        }
    }
}

/// A setting as it is described.
struct Shown<'a> {
    name: &'a str,
    /// `None` where it is not known; it is as secret as a password then.
    kind: Option<ConfigType>,
    value: Option<String>,
    read_only: bool,
    documentation: Option<&'a str>,
}

impl<'a> Shown<'a> {
    /// A setting without a value, which can be changed.
    fn of(key: &'a ConfigKey) -> Self {
        let (name, kind, documentation) = (key.name, Some(key.kind), Some(key.documentation));
        Self { name, kind, value: None, read_only: false, documentation }
    }
}
