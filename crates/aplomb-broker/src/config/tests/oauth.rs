//! Which tokens count.

use super::*;

const VALIDATED: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler";
const UNSECURED: &str = "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler";
const OAUTH: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required";

fn of_tokens(pairs: &[(&str, &str)]) -> Result<TokenConfig, String> {
    let mechanism = [("sasl.enabled.mechanisms", "OAUTHBEARER")];
    let (config, _) = of_listener(&[&mechanism, pairs].concat()).map_err(|error| error.to_string())?;
    let sasl = config.security.listeners["IN"].sasl.clone().expect("it has SASL");
    Ok(sasl.mechanisms[0].tokens.clone().expect("it takes tokens"))
}

#[test]
fn which_tokens_count_is_said_by_the_mechanisms_own_settings() {
    let line = format!("{OAUTH} ssl.truststore.type=PEM ssl.truststore.location='/ca.pem';");
    let TokenConfig::Validated(rules) = of_tokens(&[
        ("listener.name.in.oauthbearer.sasl.server.callback.handler.class", VALIDATED),
        ("listener.name.in.oauthbearer.sasl.jaas.config", &line),
        ("sasl.oauthbearer.jwks.endpoint.url", "https://base/"),
        ("listener.name.in.sasl.oauthbearer.jwks.endpoint.url", "https://listener/"),
        ("listener.name.in.oauthbearer.sasl.oauthbearer.jwks.endpoint.url", "https://mechanism/keys"),
        ("sasl.oauthbearer.expected.audience", "a,b"),
        ("sasl.oauthbearer.expected.issuer", " https://idp "),
        ("listener.name.in.sasl.oauthbearer.sub.claim.name", "email"),
    ])
    .expect("all is said") else {
        panic!("signed ones");
    };
    assert_eq!(rules.keys.url.to_string(), "https://mechanism/keys");
    assert_eq!((rules.keys.refresh, rules.skew_seconds), (Duration::from_secs(3600), 30));
    assert_eq!((rules.audiences.len(), rules.issuer.as_deref()), (2, Some("https://idp")));
    assert_eq!((rules.sub_claim.as_str(), rules.scope_claim.as_str()), ("email", "scope"));
    assert!(rules.keys.truststore.is_some_and(|store| store.kind == StoreKind::Pem));
}

#[test]
fn tokens_without_a_signature_count_only_when_they_are_asked_for_by_name() {
    let line = |options: &str| format!("{OAUTH} {options};");
    let jaas = "listener.name.in.oauthbearer.sasl.jaas.config";
    let class = "listener.name.in.oauthbearer.sasl.server.callback.handler.class";
    for bare in
        [&[][..], &[(jaas, line("").as_str())], &[(jaas, line("unsecuredLoginStringClaim_sub=a").as_str())]]
    {
        let refused = of_tokens(bare).expect_err("it is not said which");
        assert!(refused.starts_with(class) && refused.contains(VALIDATED), "{refused}");
    }
    let asked = line("unsecuredValidatorRequiredScope='a b' unsecuredValidatorAllowableClockSkewMs=\"7\"");
    let TokenConfig::Unsecured(rules) = of_tokens(&[(jaas, &asked)]).expect("by an option") else {
        panic!("unsigned ones");
    };
    assert_eq!(
        (rules.required_scope.len(), rules.skew_millis, rules.principal_claim.as_str()),
        (2, 7, "sub")
    );
    assert!(matches!(of_tokens(&[(class, UNSECURED)]), Ok(TokenConfig::Unsecured(_))));
    for wrong in ["unsecuredValidatorAllowableClockSkewMs='-1'", "unsecuredValidatorRequiredScope='\"'"] {
        assert!(of_tokens(&[(jaas, &line(wrong))]).is_err(), "{wrong}");
    }
}

#[test]
fn what_checks_too_little_of_a_token_is_refused_with_what_it_needs() {
    let all = [
        ("listener.name.in.oauthbearer.sasl.server.callback.handler.class", VALIDATED),
        ("sasl.oauthbearer.jwks.endpoint.url", "file:/keys"),
        ("sasl.oauthbearer.expected.audience", "a"),
        ("sasl.oauthbearer.expected.issuer", "b"),
    ];
    assert!(of_tokens(&all).is_ok());
    let refused = |left_out: &str, more: &[(&str, &str)]| {
        let rest: Vec<_> =
            all.into_iter().filter(|(key, _)| *key != left_out).chain(more.iter().copied()).collect();
        of_tokens(&rest).expect_err("refused")
    };
    for (key, need) in [
        ("sasl.oauthbearer.jwks.endpoint.url", "https://host/path"),
        ("sasl.oauthbearer.expected.audience", "allow.unverified.audience=true"),
        ("sasl.oauthbearer.expected.issuer", "allow.unverified.issuer=true"),
    ] {
        let sentence = refused(key, &[]);
        assert!(sentence.starts_with(key) && sentence.contains(need), "{sentence}");
    }
    for (key, value) in [
        ("sasl.oauthbearer.jwks.endpoint.url", "ftp://idp/"),
        ("sasl.oauthbearer.jwt.validator.class", "com.example.Validator"),
        ("sasl.oauthbearer.jwks.endpoint.refresh.ms", "0"),
        ("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", "-1"),
        ("sasl.oauthbearer.clock.skew.seconds", "-1"),
        ("sasl.oauthbearer.sub.claim.name", " "),
        ("sasl.server.callback.handler.class", VALIDATED),
        ("listener.name.in.sasl.server.callback.handler.class", VALIDATED),
        ("listener.name.in.oauthbearer.sasl.server.callback.handler.class", "com.example.Handler"),
    ] {
        let sentence = refused(key, &[(key, value)]);
        assert!(sentence.starts_with(&format!("{key}=")), "{sentence}");
    }
    let open = [
        ("sasl.oauthbearer.allow.unverified.audience", "true"),
        ("sasl.oauthbearer.allow.unverified.issuer", "true"),
    ];
    assert!(of_tokens(&[&all[..2], &open].concat()).is_ok());
    let jaas = "listener.name.in.oauthbearer.sasl.jaas.config";
    for line in [
        "ssl.keystore.location=x",
        "ssl.truststore.type=BKS ssl.truststore.location=x",
        "ssl.truststore.certificates=secret",
    ] {
        let sentence = refused("", &[(jaas, &format!("{OAUTH} {line};"))]);
        assert!(sentence.starts_with(jaas) && !sentence.contains("secret"), "{sentence}");
    }
}
