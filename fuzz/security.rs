//! Where fuzzing begins of what strangers say before they are known, and of stores and their names.

use std::error::Error;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::put;

pub(super) fn seeds(corpus: &Path, stores: &Path) -> Result<(), Box<dyn Error>> {
    sasl(corpus)?;
    for (name, line) in [
        (
            "plain",
            "org.apache.kafka.common.security.plain.PlainLoginModule required user_alice=\"won\\\"der\";",
        ),
        ("words", "M REQUIRED a=b-1.c $d='\\101\\n' // rest\n;"),
        ("comments", "M /* x */ optional a='b' ;"),
        ("open", "M requisite a=\"b"),
        ("numbers", "M sufficient a=-1.5;"),
    ] {
        put(corpus, "jaas_lines", name, line.as_bytes())?;
    }
    for (name, rules, principal) in [
        ("usual", "DEFAULT", "alice@HERE"),
        ("service", "RULE:[2:$1-$2](a.*)s/a(.)/$1x/g/L\nDEFAULT", "ab/c@HERE"),
        ("realm", "RULE:[1:$1@$0](.*@THERE)s/@.*///U", "bob@THERE"),
        ("named", "RULE:[1:$1]s/(?<x>b)/${x}\\$/", "abcb@HERE"),
    ] {
        let seed = [&[rules.len() as u8][..], rules.as_bytes(), principal.as_bytes()].concat();
        put(corpus, "kerberos_names", name, &seed)?;
    }
    put(corpus, "kerberos_names", "layer", b"\x01\x00\x00\x00bob")?;
    for file in fs::read_dir(stores)? {
        let (path, name) = {
            let file = file?;
            (file.path(), file.file_name().to_string_lossy().into_owned())
        };
        let bytes = fs::read(path)?;
        match name.rsplit('.').next() {
            Some("jks") => {
                for kind in [0, 1, 2] {
                    put(corpus, "stores", &format!("{name}-{kind}"), &[&[kind][..], &bytes].concat())?;
                }
            }
            Some("p12") => put(corpus, "stores", &name, &[&[3][..], &bytes].concat())?,
            Some("pem") => {
                put(corpus, "stores", &name, &[&[4][..], &bytes].concat())?;
                let text = String::from_utf8_lossy(&bytes);
                let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
                put(corpus, "stores", &format!("{name}-der"), &[&[5][..], &STANDARD.decode(body)?].concat())?;
            }
            Some("der") if !name.contains("key") => {
                let pem = |label: &str, bytes: &[u8]| {
                    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(bytes))
                };
                let text = pem("CERTIFICATE", &bytes) + &pem("PRIVATE KEY", &bytes);
                put(corpus, "stores", &format!("{name}-pem"), &[&[4][..], text.as_bytes()].concat())?;
                for rules in
                    ["DEFAULT", "RULE:^CN=(.*?),O=.*$/$1@x/L,DEFAULT", "RULE:(.)(.)(.*)/$3\\/$12$9/U"]
                {
                    let seed = [&[rules.len() as u8][..], rules.as_bytes(), &bytes].concat();
                    put(corpus, "certificate_names", &format!("{name}-{}", rules.len()), &seed)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Conversations as clients have them, and some that they had better not have.
fn sasl(corpus: &Path) -> Result<(), Box<dyn Error>> {
    let sized = |parts: &[&[u8]]| -> Vec<u8> {
        let framed = |part: &&[u8]| [&(part.len() as u16).to_be_bytes()[..], part].concat();
        parts.iter().flat_map(framed).collect()
    };
    let request = |api: u8, version: u8, tail: &[u8]| {
        [&[0, api, 0, version, 0, 0, 0, 7, 0, 1, b'c'][..], tail].concat()
    };
    let handshake = |version: u8, name: &str| {
        request(17, version, &[&[0, name.len() as u8][..], name.as_bytes()].concat())
    };
    let token = |text: &[u8]| request(36, 1, &[&(text.len() as u32).to_be_bytes()[..], text].concat());
    let (alice, scram) = (token(b"\0alice\0wonder"), token(b"n,,n=alice,r=abc"));
    let versions = request(18, 0, &[]);
    let plain = handshake(1, "PLAIN");
    let conversations: [(&str, u8, Vec<&[u8]>); 5] = [
        ("plain", 0, vec![&versions, &plain, &alice, &versions]),
        ("again", 9, vec![&plain, &alice, &plain, &alice, &versions]),
        ("bare", 0, vec![&[0, 17, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 80, 76, 65, 73, 78], b"\0bob\0builder"]),
        ("wrong", 0, vec![&plain, &scram]),
        ("early", 0, vec![&alice]),
    ];
    for (name, age, frames) in conversations {
        put(corpus, "sasl_frames", name, &[&[age][..], &sized(&frames)].concat())?;
    }
    let challenged = handshake(1, "SCRAM-SHA-256");
    put(corpus, "sasl_frames", "scram", &[&[0][..], &sized(&[&challenged, &scram, &alice])].concat())?;
    let tokens: [(&str, Vec<&[u8]>); 6] = [
        ("plain", vec![b"\0alice\0wonder"]),
        ("other", vec![b"bob\0alice\0wonder"]),
        ("honest", vec![b"!", b"!"]),
        ("named", vec![b"n,a=alice,m=x,n=alice,r=abc,tokenauth=true", b"!"]),
        ("forged", vec![b"n,,n=alice,r=abc", b"c=biws,r=abc,p=AAEC"]),
        ("nobody", vec![b"n,,n=a=2C=3D,r=abc", b"!"]),
    ];
    for (name, said) in tokens {
        for mechanism in 0..3u8 {
            let seed = [&[mechanism][..], &sized(&said)].concat();
            put(corpus, "sasl_tokens", &format!("{name}-{mechanism}"), &seed)?;
        }
    }
    // A client's nonce is drawn; those of its fuzzing are all sevens.
    let nonce = STANDARD.encode([7; 24]);
    let challenge = format!("r={nonce}more,s=c2FsdA==,i=4096");
    let frame = b"?\x7f\xff\xff\xf8\0\0\0\0\0\x01\0\x05PLAIN";
    let answers: [(&str, Vec<&[u8]>); 6] = [
        ("honest", vec![b"!", b"!", b"!"]),
        ("forged", vec![b"!", challenge.as_bytes(), b"v=AAEC"]),
        ("refused", vec![b"!", challenge.as_bytes(), b"e=other-error"]),
        ("token", vec![b"!", b"{\"status\":\"invalid_token\"}", b""]),
        ("less", vec![b"PLAIN,wonder-of-wonders"]),
        ("frame", vec![frame, b"!"]),
    ];
    for (name, said) in answers {
        for mechanism in 0..4u8 {
            let seed = [&[mechanism][..], &sized(&said)].concat();
            put(corpus, "sasl_answers", &format!("{name}-{mechanism}"), &seed)?;
        }
    }
    Ok(())
}
