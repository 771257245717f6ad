//! Which tickets count.

use super::*;

const LINE: &str = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab='/k.keytab' principal='kafka/host@REALM'";
const JAAS: &str = "listener.name.in.gssapi.sasl.jaas.config";

fn of_tickets(pairs: &[(&str, &str)]) -> Result<(KerberosConfig, Vec<Warning>), String> {
    let (config, warnings) = of_listener(pairs).map_err(|error| error.to_string())?;
    let sasl = config.security.listeners["IN"].sasl.clone().expect("it has SASL");
    Ok((sasl.mechanisms[0].kerberos.clone().expect("it takes tickets"), warnings))
}

#[test]
fn a_listener_takes_tickets_if_nothing_else_is_said() {
    let line = format!("{LINE};");
    let named = [(JAAS, line.as_str()), ("sasl.kerberos.service.name", "kafka")];
    let (tickets, warnings) = of_tickets(&named).expect("all is said");
    assert_eq!(warnings, []);
    let principal = Some("kafka/host@REALM".to_owned());
    let rules = vec!["DEFAULT".to_owned()];
    let keytab = Some("/k.keytab".to_owned());
    assert_eq!(tickets, KerberosConfig { principal, keytab, rules });

    let any = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=TRUE storeKey='true' principal='*' serviceName=kafka debug=true;";
    let rules = ("listener.name.in.sasl.kerberos.principal.to.local.rules", "RULE:[1:$1]/L, DEFAULT");
    let (tickets, _) = of_tickets(&[(JAAS, any), rules]).expect("all is said");
    assert_eq!((tickets.principal, tickets.keytab), (None, None));
    assert_eq!(tickets.rules, ["RULE:[1:$1]/L", "DEFAULT"]);

    let (_, warnings) =
        of_tickets(&[&named[..], &[("sasl.kerberos.kinit.cmd", "/kinit")]].concat()).expect("accepted");
    assert!(warnings[0].text.contains("no ticket of its own"), "{}", warnings[0].text);
}

#[test]
fn what_tickets_cannot_be_read_with_is_refused_without_the_line() {
    let service = ("sasl.kerberos.service.name", "kafka");
    let refused = |line: &str| of_tickets(&[(JAAS, line), service]).expect_err(line);
    let full = format!("{LINE};");
    for (line, wanted) in [
        (full.replace("useKeyTab=true", ""), "useKeyTab=true"),
        (full.replace("storeKey=true", "storeKey=false"), "storeKey=true"),
        (full.replace("principal='kafka/host@REALM'", ""), "the principal that tickets are for"),
        (full.replace("com.sun", "com.ibm"), "com.sun.security.auth.module.Krb5LoginModule"),
    ] {
        let words = refused(&line);
        assert!(words.starts_with(JAAS) && words.contains(wanted), "{words}");
        assert!(!words.contains("/k.keytab"), "{words}");
    }
    let unnamed = of_tickets(&[(JAAS, &full)]).expect_err("no name");
    assert!(
        unnamed.starts_with("sasl.kerberos.service.name=") && unnamed.contains("serviceName"),
        "{unnamed}"
    );
    let other = full.replace("storeKey", "serviceName=other storeKey");
    let words = refused(&other);
    assert!(words.starts_with("sasl.kerberos.service.name=kafka") && words.contains("same name"), "{words}");
}
