//! Settings of clients.

use std::collections::BTreeMap;

use crate::config::{
    ClientLogin, ClientSettings, ClientTickets, ClientTlsConfig, Properties, Secret, StoreConfig, StoreKind,
    StorePlace, TicketCache, TlsVersion,
};
use crate::scram::ScramHash;

const KERBEROS: &str = "com.sun.security.auth.module.Krb5LoginModule";
const PLAIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";
const SCRAM: &str = "org.apache.kafka.common.security.scram.ScramLoginModule";
const OAUTH: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule";
const HANDLER: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler";

fn read(lines: &[&str]) -> Result<ClientSettings, String> {
    let pair = |line: &&str| line.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    let properties: Properties = lines.iter().filter_map(pair).collect();
    ClientSettings::from_properties(&properties).map_err(|error| error.to_string())
}

fn refused(lines: &[&str]) -> String {
    read(lines).expect_err("it is refused")
}

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

#[test]
fn without_a_protocol_a_client_comes_as_it_is() {
    let open = ClientSettings { tls: None, login: None };
    assert_eq!(read(&[]), Ok(open.clone()));
    assert_eq!(read(&["group.id=x", "acks=all", "security.protocol=plaintext"]), Ok(open));
}

#[test]
fn tls_checks_hosts_unless_it_is_told_not_to() {
    let tls = |lines: &[&str]| read(&[&["security.protocol=SSL"], lines].concat()).map(|read| read.tls);
    let usual = ClientTlsConfig {
        truststore: None,
        keystore: None,
        key_password: None,
        checks_host: true,
        versions: vec![TlsVersion::V12, TlsVersion::V13],
        suites: Vec::new(),
    };
    assert_eq!(tls(&[]), Ok(Some(usual.clone())));
    let lax = ClientTlsConfig { checks_host: false, ..usual.clone() };
    assert_eq!(tls(&["ssl.endpoint.identification.algorithm="]), Ok(Some(lax)));
    let store = |kind, path: &str, password: Option<&str>| {
        Some(StoreConfig { kind, place: StorePlace::File(path.to_owned()), password: password.map(secret) })
    };
    let mutual = ClientTlsConfig {
        truststore: store(StoreKind::Pkcs12, "/t.p12", Some("t")),
        keystore: store(StoreKind::Pem, "/k.pem", None),
        key_password: Some(secret("k")),
        versions: vec![TlsVersion::V13],
        ..usual
    };
    let lines = [
        "ssl.truststore.type=PKCS12",
        "ssl.truststore.location=/t.p12",
        "ssl.truststore.password=t",
        "ssl.keystore.type=PEM",
        "ssl.keystore.location=/k.pem",
        "ssl.key.password=k",
        "ssl.enabled.protocols=TLSv1.3",
    ];
    assert_eq!(tls(&lines), Ok(Some(mutual)));
}

#[test]
fn each_mechanism_has_its_line() {
    let login = |mechanism: &str, lines: &[&str]| {
        let mechanism = format!("sasl.mechanism={mechanism}");
        read(&[&["security.protocol=SASL_PLAINTEXT", &mechanism], lines].concat()).map(|read| read.login)
    };
    let line = format!("sasl.jaas.config={PLAIN} required username=\"alice\" password=\"wonder\";");
    let (user, password) = ("alice".to_owned(), secret("wonder"));
    let plain = ClientLogin::Plain { user: user.clone(), password: password.clone() };
    assert_eq!(login("PLAIN", &[&line]), Ok(Some(plain)));
    let line =
        format!("sasl.jaas.config={SCRAM} required username=alice password=wonder tokenauth=\"true\";");
    let scram = ClientLogin::Scram { hash: ScramHash::Sha512, user, password, by_token: true };
    assert_eq!(login("SCRAM-SHA-512", &[&line]), Ok(Some(scram)));
    let line = format!("sasl.jaas.config={OAUTH} required extension_a=\"b\" clientId=x;");
    let handler = format!("sasl.login.callback.handler.class={HANDLER}");
    let place = "sasl.oauthbearer.token.endpoint.url=file:///run/token";
    let extensions = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let token = ClientLogin::Token { file: "/run/token".to_owned(), extensions };
    assert_eq!(login("OAUTHBEARER", &[&line, &handler, place]), Ok(Some(token)));
    let service = "sasl.kerberos.service.name=kafka";
    let tickets = |cache, keytab: Option<&str>, principal: Option<&str>| {
        let owned = |text: &str| text.to_owned();
        let (keytab, principal) = (keytab.map(owned), principal.map(owned));
        Ok(Some(ClientLogin::Tickets(ClientTickets { service: owned("kafka"), principal, cache, keytab })))
    };
    let line = format!("sasl.jaas.config={KERBEROS} required useTicketCache=true renewTGT=true;");
    assert_eq!(login("GSSAPI", &[&line, service]), tickets(Some(TicketCache::Usual), None, None));
    let line = format!(
        "sasl.jaas.config={KERBEROS} required useTicketCache=true ticketCache='/cc' serviceName=kafka useKeyTab=TRUE keyTab='/a.keytab' principal='a@B';"
    );
    let cache = Some(TicketCache::File("/cc".to_owned()));
    assert_eq!(login("GSSAPI", &[&line]), tickets(cache, Some("/a.keytab"), Some("a@B")));
}

#[test]
fn a_slip_is_an_error_that_names_the_setting_and_no_secret() {
    let wrong = refused(&["security.protocl=SSL"]);
    assert!(wrong.starts_with("security.protocl: there is no such key"), "{wrong}");
    let wrong = refused(&["ssl.truststore.locaton=/x"]);
    assert!(wrong.contains("did you mean ssl.truststore.location?"), "{wrong}");
    let wrong = refused(&["security.protocol=TLS"]);
    assert!(wrong.contains("accepted is PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"), "{wrong}");
    let wrong = refused(&["security.protocol=SSL", "ssl.endpoint.identification.algorithm=ldaps"]);
    assert!(wrong.contains("accepted is https"), "{wrong}");
    let sasl = |lines: &[&str]| refused(&[&["security.protocol=SASL_SSL"], lines].concat());
    let wrong = sasl(&[]);
    assert!(wrong.starts_with("sasl.jaas.config=") && wrong.contains("a line for GSSAPI"), "{wrong}");
    for options in
        ["", "useTicketCache=false", "useKeyTab=true keyTab='/hush'", "useKeyTab=true principal=hush"]
    {
        let wrong = sasl(&[&format!("sasl.jaas.config={KERBEROS} required {options};")]);
        assert!(wrong.contains("useTicketCache=true;, or") && !wrong.contains("hush"), "{wrong}");
    }
    let line = format!("sasl.jaas.config={KERBEROS} required useTicketCache=true;");
    let wrong = sasl(&[&line]);
    assert!(wrong.starts_with("sasl.kerberos.service.name="), "{wrong}");
    let wrong = sasl(&[&line.replace(";", " serviceName=other;"), "sasl.kerberos.service.name=kafka"]);
    assert!(wrong.contains("the same name as the JAAS line"), "{wrong}");
    let wrong = sasl(&["sasl.mechanism=PLAIN"]);
    assert!(wrong.contains(PLAIN), "{wrong}");
    for line in [
        format!("sasl.jaas.config={SCRAM} required username=a password=hush;"),
        format!("sasl.jaas.config={PLAIN} required username=a;"),
        format!("sasl.jaas.config={PLAIN} required password=hush;"),
        format!("sasl.jaas.config={PLAIN} required username=a password=\"hush\""),
    ] {
        let wrong = sasl(&["sasl.mechanism=PLAIN", &line]);
        assert!(wrong.starts_with("sasl.jaas.config=[hidden]") && !wrong.contains("hush"), "{wrong}");
    }
    let line = format!("sasl.jaas.config={OAUTH} required;");
    let handler = format!("sasl.login.callback.handler.class={HANDLER}");
    let wrong = sasl(&["sasl.mechanism=OAUTHBEARER", &line]);
    assert!(wrong.starts_with("sasl.login.callback.handler.class"), "{wrong}");
    let wrong = sasl(&[
        "sasl.mechanism=OAUTHBEARER",
        &line,
        &handler,
        "sasl.oauthbearer.token.endpoint.url=https://x/hush",
    ]);
    assert!(wrong.contains("file:///path") && !wrong.contains("hush"), "{wrong}");
    let wrong = refused(&["sasl.login.class=x.Y"]);
    assert!(wrong.starts_with("sasl.login.class=x.Y cannot be used"), "{wrong}");
}
