//! What `server.properties` becomes.

use std::time::Duration;

use aplomb_model::{BrokerId, ByteCount};

use super::*;

fn properties(pairs: &[(&str, &str)]) -> Properties {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn read(pairs: &[(&str, &str)]) -> Result<(BrokerConfig, Vec<Warning>), ConfigError> {
    BrokerConfig::from_properties(&properties(pairs))
}

fn refusal(pairs: &[(&str, &str)]) -> String {
    read(pairs).expect_err("refused").to_string()
}

#[test]
fn nothing_at_all_is_a_single_broker_on_this_machine() {
    let (config, warnings) = read(&[]).expect("defaults");
    assert_eq!(warnings, []);
    assert_eq!(config.node_id, BrokerId(1));
    assert_eq!(config.network.listeners[0].to_string(), "PLAINTEXT://localhost:9092");
    assert_eq!(config.network.advertised, config.network.listeners);
    assert_eq!((config.network.shards, config.network.most_shards), (None, None));
    assert_eq!(config.storage.log_dirs, ["./aplomb-data"]);
    assert_eq!(config.storage.metadata_log_dir, "./aplomb-data");
    assert_eq!(config.storage.tail_bytes, ByteCount(256 << 20));
    assert_eq!(config.storage.flush_interval, Duration::from_secs(1));
    assert_eq!(config.storage.recovery_point_checkpoint, Duration::from_secs(5));
    assert_eq!(config.guard, Guard::Log);
    assert!(!config.metadata.dynamic_voters);
    assert!(config.metadata.auto_create_topics && config.metadata.delete_topics);
}

#[test]
fn there_is_an_event_loop_for_every_two_processors_unless_somebody_knows_better() {
    let shards = |settings: &[(&str, &str)], processors| {
        let (config, _) = read(settings).expect("numbers");
        config.network.shards_on(processors)
    };
    assert_eq!([1, 2, 3, 4, 64].map(|processors| shards(&[], processors)), [1, 1, 1, 2, 32]);
    // As in the file that Apache Kafka ships.
    let shipped = [("num.network.threads", "3")];
    assert_eq!([2, 4, 64].map(|processors| shards(&shipped, processors)), [1, 2, 3]);
    let exact = [("num.network.threads", "3"), ("aplomb.shards", "5")];
    assert_eq!([2, 64].map(|processors| shards(&exact, processors)), [5, 5]);
}

#[test]
fn a_combined_nodes_file_from_apache_kafka_is_taken_as_it_is() {
    let (config, warnings) = read(&[
        ("process.roles", "broker,controller"),
        ("node.id", "7"),
        ("controller.quorum.bootstrap.servers", "localhost:9093"),
        ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
        ("inter.broker.listener.name", "PLAINTEXT"),
        ("advertised.listeners", "PLAINTEXT://kafka.example.com:19092,CONTROLLER://localhost:9093"),
        ("controller.listener.names", "CONTROLLER"),
        (
            "listener.security.protocol.map",
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        ),
        ("num.network.threads", "3"),
        ("num.io.threads", "8"),
        ("log.dirs", "/a, /b"),
        ("offsets.topic.replication.factor", "1"),
        ("log.retention.hours", "168"),
    ])
    .expect("a usual file");
    assert_eq!(config.node_id, BrokerId(7));
    assert_eq!(config.network.advertised.len(), 1);
    assert_eq!(config.network.advertised[0].to_string(), "PLAINTEXT://kafka.example.com:19092");
    assert_eq!(config.network.controller_listeners[0].to_string(), "CONTROLLER://:9093");
    assert_eq!((config.network.shards, config.network.most_shards), (None, Some(3)));
    assert_eq!(config.storage.log_dirs, ["/a", "/b"]);
    assert!(config.metadata.dynamic_voters);
    let warned: Vec<_> = warnings.iter().map(|warning| warning.name.as_str()).collect();
    assert_eq!(warned, ["inter.broker.listener.name"]);
}

#[test]
fn a_name_that_nobody_knows_gets_the_nearest_one() {
    assert_eq!(refusal(&[("log.dirz", "/x")]), "log.dirz: there is no such key; did you mean log.dir?");
    assert_eq!(refusal(&[("colour", "red")]), "colour: there is no such key");
}

#[test]
fn a_value_that_is_none_is_named_with_what_would_be_accepted() {
    assert_eq!(
        refusal(&[("aplomb.guard", "maybe")]),
        "Invalid value maybe for configuration aplomb.guard: String must be one of: off, log, enforce"
    );
    assert_eq!(
        refusal(&[("node.id", "1"), ("broker.id", "2")]),
        "broker.id=2 cannot be used: accepted is the value of node.id, 1, or none"
    );
    assert!(refusal(&[("listeners", "SSL://:9093")]).contains("ssl.keystore.location"));
    assert!(refusal(&[("authorizer.class.name", "x.Y")]).contains("Java classes cannot be loaded"));
    assert!(refusal(&[("super.users", "admin")]).contains("User:admin"));
    assert!(refusal(&[("process.roles", "broker")]).contains("broker,controller"));
    assert!(read(&[("process.roles", "controller,broker")]).is_ok());
    assert!(refusal(&[("default.replication.factor", "2")]).contains("a cluster of its own"));
    assert!(refusal(&[("controller.quorum.voters", "1@a:1,2@b:1")]).contains("this node alone"));
    assert!(refusal(&[("log.dirs", "/a,/a")]).contains("each of them once"));
    let inside = refusal(&[("log.dirs", "/a/b/c,/a/bc,/a/b")]);
    assert!(inside.contains("not inside of each other, as /a/b/c is"), "{inside}");
    assert!(refusal(&[("advertised.listeners", "PLAINTEXT://0.0.0.0:1")]).contains("0.0.0.0"));
    assert!(refusal(&[("queued.max.request.bytes", "1")]).contains("socket.request.max.bytes"));
    assert!(
        refusal(&[("log.cleaner.min.compaction.lag.ms", "2"), ("log.cleaner.max.compaction.lag.ms", "1")])
            .contains("min.compaction.lag.ms (2) > max.compaction.lag.ms (1)")
    );
}

#[test]
fn what_topics_inherit_has_their_limits() {
    assert_eq!(
        refusal(&[("log.roll.ms", "0")]),
        "the settings that topics inherit cannot be used: log.roll.ms=0 is no value for segment.ms: \
         Invalid value 0 for configuration segment.ms: Value must be at least 1"
    );
    assert!(read(&[("log.retention.hours", "-1")]).is_ok());
}

#[test]
fn the_old_name_of_the_node_id_still_counts() {
    assert_eq!(read(&[("broker.id", "4")]).expect("valid").0.node_id, BrokerId(4));
}

#[test]
fn idle_and_queue_limits_lose_their_sentinels() {
    let (config, _) =
        read(&[("connections.max.idle.ms", "-1"), ("queued.max.request.bytes", "-1")]).expect("valid");
    assert_eq!(config.network.max_idle, None);
    assert_eq!(config.network.frames, ByteCount(256 << 20));
}

#[test]
fn what_is_changed_at_run_time_is_in_force_beside_what_was_written() {
    let (config, _) = read(&[("max.connections", "7"), ("log.dirs", "/a,/b")]).expect("valid");
    let for_all = properties(&[
        ("max.connections", "8"),
        ("producer.id.expiration.ms", "9"),
        ("listeners", "SSL://:1"),
        ("node.id", "12"),
        ("some.plugins.key", "x"),
    ]);
    let for_this = properties(&[("cordoned.log.dirs", "/b")]);
    let layers = Layers { file: &config.properties, for_all: &for_all, for_this: &for_this };
    let changed = config.in_force(&layers).expect("valid");
    assert_eq!(changed.network.max_connections, 8);
    assert_eq!(changed.storage.producer_id_expiration, Duration::from_millis(9));
    assert_eq!(changed.storage.cordoned_log_dirs, ["/b"]);
    assert_eq!((changed.node_id, &changed.network.listeners), (config.node_id, &config.network.listeners));
    assert_eq!(changed.properties, config.properties);

    let for_this = properties(&[("cordoned.log.dirs", "/c")]);
    let error = config.in_force(&Layers { for_this: &for_this, ..layers }).expect_err("no such directory");
    assert_eq!(error.to_string(), "cordoned.log.dirs=/c cannot be used: accepted is * or some of /a,/b");
}

/// A value that a key takes and that is not its default, and what else has to be set for it to
/// count.
fn another_value(key: &ConfigKey) -> (String, Vec<(&'static str, &'static str)>) {
    const LISTENERS: (&str, &str) = ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093");
    const CONTROLLER: (&str, &str) = ("controller.listener.names", "CONTROLLER");
    const SERVERS: (&str, &str) = ("controller.quorum.bootstrap.servers", "localhost:9093");
    const AUTHORIZER: (&str, &str) =
        ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
    let default = key.default.unwrap_or_default();
    let other = |texts: &[&str]| texts.iter().find(|text| **text != default).expect("two values").to_string();
    let (value, beside) = match key.name {
        "listeners" => ("PLAINTEXT://localhost:19092", vec![]),
        "advertised.listeners" => ("PLAINTEXT://elsewhere:9092", vec![]),
        "listener.security.protocol.map" => ("LAN:PLAINTEXT", vec![("listeners", "LAN://:9092")]),
        "controller.listener.names" => ("CONTROLLER", vec![LISTENERS]),
        "controller.quorum.bootstrap.servers" => ("localhost:9093", vec![LISTENERS, CONTROLLER]),
        "controller.quorum.voters" => ("1@localhost:9093", vec![LISTENERS, CONTROLLER, SERVERS]),
        "authorizer.class.name" => (AUTHORIZER.1, vec![]),
        "super.users" => ("User:admin", vec![AUTHORIZER]),
        "allow.everyone.if.no.acl.found" => ("true", vec![AUTHORIZER]),
        "cordoned.log.dirs" => ("*", vec![]),
        "max.connections.per.ip.overrides" => ("10.0.0.1:3", vec![]),
        "queued.max.request.bytes" => ("200000000", vec![]),
        "log.flush.offset.checkpoint.interval.ms" => ("1000", vec![]),
        "aplomb.shards" => ("3", vec![]),
        "group.consumer.assignors" => ("range", vec![]),
        "group.coordinator.rebalance.protocols" => ("classic", vec![]),
        "group.consumer.session.timeout.ms" => ("50000", vec![]),
        "group.consumer.min.session.timeout.ms" => ("44000", vec![]),
        "group.consumer.min.heartbeat.interval.ms" => ("4000", vec![]),
        "compression.gzip.level" => ("5", vec![("compression.type", "gzip")]),
        "compression.lz4.level" => ("5", vec![("compression.type", "lz4")]),
        "compression.zstd.level" => ("5", vec![("compression.type", "zstd")]),
        _ => ("", vec![]),
    };
    let value = match (key.valid, key.kind) {
        _ if !value.is_empty() => value.to_owned(),
        (Valid::OneOf(texts) | Valid::OneOfIgnoringCase(texts) | Valid::ListOf(texts), _) => other(texts),
        (_, ConfigType::Boolean) => other(&["true", "false"]),
        (_, ConfigType::Double) => "0.25".to_owned(),
        // Below the greatest, and above most others.
        _ => match default.parse::<i64>() {
            Ok(number) if number > 1_000_000_000 => (number - 1).to_string(),
            Ok(number) => (number + 1).to_string(),
            Err(_) => "12345".to_owned(),
        },
    };
    (value, beside)
}

/// What a field looks like: `storage.tail_bytes` of the broker, or behind `topic.` one of a topic
/// without overrides.
fn field(path: &str, config: &BrokerConfig, topic: &TopicConfig) -> String {
    let (text, path) = match path.strip_prefix("topic.") {
        Some(path) => (format!("{topic:#?}"), path),
        None => (format!("{config:#?}"), path),
    };
    let mut lines = text.lines().skip(1);
    let mut found = String::new();
    let mut wrapped = 0;
    for (depth, name) in path.split('.').enumerate() {
        let indent = "    ".repeat(depth + 1 + wrapped);
        let begins = format!("{indent}{name}: ");
        let first = lines.find(|line| line.starts_with(&begins));
        found = first.unwrap_or_else(|| panic!("there is no field {path}")).to_owned();
        wrapped += usize::from(found.ends_with(": Some("));
        if depth == path.matches('.').count() {
            found.extend(lines.by_ref().take_while(|line| line.starts_with(&format!("{indent} "))));
        }
    }
    found
}

/// The field after the change, or why there is none.
fn read_field(path: &str, pairs: &[(&str, &str)]) -> Result<String, String> {
    let (config, _) = read(pairs).map_err(|error| error.to_string())?;
    let none = Properties::new();
    let layers = Layers { file: &config.properties, for_all: &none, for_this: &none };
    let topic = TopicConfig::from_overrides(&none, &layers).map_err(|error| error.to_string())?;
    Ok(field(path, &config, &topic))
}

/// What listeners with SASL or TLS have, that of the metrics among them; tests of their own say
/// what they mean.
const OF_LISTENERS: [&str; 2] = ["security.listeners", "network.metrics_access"];

#[test]
fn every_used_key_changes_the_field_that_it_names() {
    for key in broker_keys() {
        let Meaning::Used(path) = key.meaning else { continue };
        if OF_LISTENERS.contains(&path) {
            continue;
        }
        let (value, mut pairs) = another_value(key);
        let before = read_field(path, &pairs);
        pairs.push((key.name, &value));
        let after = read_field(path, &pairs);
        assert!(after.is_ok(), "{}={value}: {after:?}", key.name);
        assert_ne!(after, before, "{}={value} does not change {path}", key.name);
    }
}

#[test]
fn every_used_key_of_topics_changes_the_field_that_it_names() {
    let (config, _) = read(&[]).expect("defaults");
    let none = Properties::new();
    let layers = Layers { file: &config.properties, for_all: &none, for_this: &none };
    let of = |pairs: &[(&str, &str)], path| {
        let topic = TopicConfig::from_overrides(&properties(pairs), &layers).expect("valid");
        field(path, &config, &topic)
    };
    for TopicKey { key, .. } in topic_keys() {
        let Meaning::Used(path) = key.meaning else { continue };
        assert!(path.starts_with("topic."), "{} belongs to a topic, not to {path}", key.name);
        let (value, mut pairs) = another_value(key);
        let before = of(&pairs, path);
        pairs.push((key.name, &value));
        assert_ne!(of(&pairs, path), before, "{}={value} does not change {path}", key.name);
    }
}

#[test]
fn every_key_that_can_change_at_run_time_changes_its_field_then() {
    let none = Properties::new();
    for key in broker_keys().filter(|key| key.update != Update::ReadOnly && !is_of_the_file_alone(key)) {
        let Meaning::Used(path) = key.meaning else { continue };
        if OF_LISTENERS.contains(&path) {
            continue;
        }
        let (value, beside) = another_value(key);
        let (config, _) = read(&beside).expect("valid");
        let in_force = |for_this: &Properties| {
            let layers = Layers { file: &config.properties, for_all: &none, for_this };
            let topic = TopicConfig::from_overrides(&none, &layers).expect("valid");
            field(path, &config.in_force(&layers).expect("valid"), &topic)
        };
        assert_ne!(
            in_force(&properties(&[(key.name, &value)])),
            in_force(&none),
            "{}={value} does not change {path}",
            key.name
        );
    }
}

#[test]
fn what_nothing_reads_is_accepted_with_a_warning() {
    let warned = |name: &str, value: &str| {
        let (_, warnings) = read(&[(name, value)]).expect("accepted");
        warnings.into_iter().map(|warning| warning.text).collect::<Vec<_>>()
    };
    assert_eq!(
        warned("unclean.leader.election.enable", "true"),
        ["unclean.leader.election.enable does nothing: this broker does not replicate yet"]
    );
    assert_eq!(
        warned("inter.broker.listener.name", "PLAINTEXT"),
        ["inter.broker.listener.name does nothing: this broker calls no other node yet"]
    );
    assert_eq!(warned("log.cleaner.min.cleanable.ratio", "0.5"), [""; 0], "it is the default");
}

const USERS: &str = "org.apache.kafka.common.security.plain.PlainLoginModule required user_alice=\"wonder\";";

fn of_listener(pairs: &[(&str, &str)]) -> Result<(BrokerConfig, Vec<Warning>), ConfigError> {
    let listener = [("listeners", "IN://:9092"), ("listener.security.protocol.map", "IN:SASL_PLAINTEXT")];
    read(&[&listener, pairs].concat())
}

#[test]
fn a_listener_has_its_own_mechanisms_users_and_times() {
    let (config, warnings) = of_listener(&[
        ("sasl.enabled.mechanisms", "SCRAM-SHA-512"),
        ("listener.name.in.sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256"),
        ("listener.name.in.plain.sasl.jaas.config", USERS),
        ("connections.max.reauth.ms", "1000"),
        ("listener.name.in.scram-sha-256.connections.max.reauth.ms", "0"),
        ("listener.name.in.connection.failed.authentication.delay.ms", "7"),
    ])
    .expect("a listener with SASL");
    assert_eq!(warnings, []);
    let sasl = config.security.listeners["IN"].sasl.clone().expect("it has SASL");
    let ages: Vec<_> = sasl.mechanisms.iter().map(|one| (one.mechanism, one.max_age)).collect();
    assert_eq!(ages, [(Mechanism::Plain, Some(Duration::from_secs(1))), (Mechanism::ScramSha256, None)]);
    assert_eq!(sasl.mechanisms[0].users["alice"].reveal(), "wonder");
    assert_eq!((sasl.failure_delay, sasl.max_receive), (Duration::from_millis(7), 524_288));
    assert!(!format!("{:?}", config.security).contains("wonder"));
}

#[test]
fn what_cannot_be_spoken_is_refused_with_what_can() {
    let refused = |pairs: &[(&str, &str)]| of_listener(pairs).expect_err("refused").to_string();
    let unknown = refused(&[("sasl.enabled.mechanisms", "SCRAM-SHA-1")]);
    assert!(
        unknown.contains("PLAIN, SCRAM-SHA-256, SCRAM-SHA-512") && unknown.contains("SCRAM-SHA-1 is"),
        "{unknown}"
    );
    let usual = refused(&[]);
    assert!(
        usual.starts_with("listener.name.in.gssapi.sasl.jaas.config=")
            && usual.contains("Krb5LoginModule required useKeyTab=true"),
        "{usual}"
    );
    let no_users = refused(&[("sasl.enabled.mechanisms", "PLAIN")]);
    assert!(no_users.starts_with("listener.name.in.plain.sasl.jaas.config="), "{no_users}");
    let line = refused(&[
        ("sasl.enabled.mechanisms", "PLAIN"),
        ("listener.name.in.plain.sasl.jaas.config", "x.PlainLoginModule required user_a=\"secret\""),
    ]);
    assert!(line.contains("semicolon") && !line.contains("secret"), "{line}");
    let other = refused(&[
        ("sasl.enabled.mechanisms", "PLAIN"),
        ("listener.name.in.plain.sasl.jaas.config", "com.sun.security.auth.module.JndiLoginModule required;"),
    ]);
    assert!(other.contains("PlainLoginModule"), "{other}");
    let class = refused(&[
        ("sasl.enabled.mechanisms", "SCRAM-SHA-256"),
        ("listener.name.in.sasl.server.callback.handler.class", "com.example.Handler"),
    ]);
    assert!(class.contains("kafka-configs.sh"), "{class}");
    let slip = refused(&[
        ("sasl.enabled.mechanisms", "SCRAM-SHA-256"),
        ("listener.name.in.sasl.jaas.confg", "secret"),
    ]);
    assert!(slip.contains("there is no such key") && !slip.contains("secret"), "{slip}");
}

#[test]
fn a_setting_of_a_listener_that_there_is_not_does_nothing_and_is_named() {
    let (_, warnings) = read(&[("listener.name.other.ssl.keystore.type", "PEM")]).expect("accepted");
    assert!(warnings[0].text.ends_with("there is no listener OTHER"), "{}", warnings[0].text);
}

#[test]
fn what_a_listener_with_tls_needs_is_said() {
    let listener = [("listeners", "OUT://:9093"), ("listener.security.protocol.map", "OUT:SSL")];
    let with = |pairs: &[(&str, &str)]| read(&[&listener, pairs].concat());
    let refused = |pairs: &[(&str, &str)]| with(pairs).expect_err("refused").to_string();
    let pem = [
        ("listener.name.out.ssl.keystore.type", "PEM"),
        ("listener.name.out.ssl.keystore.location", "/k.pem"),
    ];
    let (config, _) = with(&pem).expect("a key is enough");
    let tls = config.security.listeners["OUT"].tls.clone().expect("it has TLS");
    assert_eq!((tls.client_auth, tls.versions.len(), tls.rules.as_str()), (ClientAuth::None, 2, "DEFAULT"));
    assert!(refused(&[]).contains("ssl.keystore.location"));
    assert!(refused(&[("ssl.keystore.location", "/k.jks")]).contains("ssl.keystore.password"));
    let password = refused(&[pem[0], pem[1], ("ssl.keystore.password", "secret")]);
    assert!(password.contains("ssl.key.password") && !password.contains("secret"), "{password}");
    assert!(refused(&[pem[0], pem[1], ("ssl.client.auth", "required")]).contains("trust store"));
    assert!(refused(&[pem[0], pem[1], ("ssl.enabled.protocols", "TLSv1.1")]).contains("not safe"));
    let half = refused(&[("ssl.keystore.type", "PEM"), ("ssl.keystore.key", "secret")]);
    assert!(half.contains("certificate.chain") && !half.contains("secret"), "{half}");
}

#[test]
fn a_reference_to_a_file_or_the_environment_stays_what_is_written() {
    for reference in ["${file:/etc/passwd:root}", "${env:HOME}", "${dir:/etc:passwd}"] {
        let (config, _) = read(&[
            ("aplomb.metrics.listener", "127.0.0.1:9404"),
            ("aplomb.metrics.user", &reference.replace(':', "/")),
            ("aplomb.metrics.password", reference),
        ])
        .expect("text like any other");
        let login = config.network.metrics_access.login.expect("there is one");
        assert_eq!(login.1.reveal(), reference);
    }
}

#[test]
fn the_metrics_listener_has_its_own_key_and_nothing_of_what_all_listeners_have() {
    let file = ("aplomb.metrics.ssl.keystore.location", "/m.pem");
    let kind = ("aplomb.metrics.ssl.keystore.type", "PEM");
    let of_all = [("ssl.keystore.location", "/k.jks"), ("ssl.keystore.password", "secret")];
    let others = [("ssl.enabled.protocols", "TLSv1.3"), ("ssl.truststore.location", "/t.jks")];
    let (config, _) = read(&[of_all, others].concat()).expect("no listener has TLS");
    assert_eq!(config.network.metrics_access, MetricsAccess::default());
    let (config, _) = read(&[&of_all[..1], &others, &[file, kind]].concat()).expect("a key is enough");
    let tls = config.network.metrics_access.tls.expect("there is a key");
    assert_eq!((tls.keystore.password.clone(), tls.truststore.clone(), tls.versions.len()), (None, None, 2));
    let refused = |pairs: &[(&str, &str)]| read(pairs).expect_err("refused").to_string();
    assert!(refused(&[kind]).contains("aplomb.metrics.ssl.keystore.location"));
    assert!(refused(&[file]).contains("aplomb.metrics.ssl.keystore.password"));
    assert!(refused(&[file, kind, ("aplomb.metrics.ssl.client.auth", "required")]).contains("trust store"));
    assert!(refused(&[("aplomb.metrics.user", "prom")]).contains("aplomb.metrics.password"));
    let lonely = refused(&[("aplomb.metrics.password", "secret")]);
    assert!(lonely.contains("aplomb.metrics.user") && !lonely.contains("secret"), "{lonely}");
    let colon = refused(&[("aplomb.metrics.user", "a:b"), ("aplomb.metrics.password", "secret")]);
    assert!(colon.contains("colon") && !colon.contains("secret"), "{colon}");
}

mod client;
mod kerberos;
mod oauth;
