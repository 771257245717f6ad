//! Hands frames to a connection's way in, as a client sends them: a length of two bytes before
//! each. The first byte says how long an authentication is good for.

#![no_main]

use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::{Mechanism, MechanismConfig, SaslConfig, Secret};
use aplomb_broker::metadata::Security;
use aplomb_broker::ports::Reply;
use aplomb_broker::sasl::{Authenticator, Passage, World};
use aplomb_model::{Instant, Timestamp};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&age, mut rest)) = data.split_first() else { return };
    let max_age = (age > 0).then(|| Duration::from_secs(u64::from(age)));
    let users = [("alice", "wonder"), ("bob", "builder")];
    let users = users.map(|(name, word)| (name.to_owned(), Secret::new(word.to_owned())));
    let mechanism = |mechanism| MechanismConfig {
        mechanism,
        max_age,
        users: users.clone().into(),
        tokens: None,
        kerberos: None,
    };
    let config = SaslConfig {
        mechanisms: Mechanism::ALL.map(mechanism).into(),
        max_receive: 1 << 19,
        failure_delay: Duration::from_millis(100),
    };
    let mut authenticator = Authenticator::new(Arc::new(config), None);
    let security = Security::default();
    let (mut who, mut over) = (None, false);
    for turn in 0.. {
        let [high, low, behind @ ..] = rest else { break };
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(behind.len());
        let (frame, behind) = behind.split_at(length);
        rest = behind;
        let now = Instant::START + Duration::from_millis(700 * turn);
        let mut chance = || [7; 16];
        let (secret, chance, wall) = (&[1; 16], &mut chance, &|| Timestamp(0));
        let mut world = World { security: &security, secret, chance, tokens: None, wall };
        let passage = authenticator.on_frame(&Bytes::copy_from_slice(frame), now, &mut world);
        assert!(!over || matches!(passage, Passage::Refused(_)), "a refusal is the last");
        match passage {
            Passage::Pass => {
                // Before it is known who it is, the versions only.
                assert!(who.is_some() || frame.starts_with(&[0, 18]));
            }
            Passage::Answer(reply) => written(&reply),
            Passage::Later(_) => panic!("there are no delegation tokens whose keys are waited for"),
            Passage::Authenticated { reply, principal, by_token, again } => {
                written(&reply);
                assert_eq!((again, by_token), (who.is_some(), false));
                let word =
                    if principal.name() == "alice" { &b"\0alice\0wonder"[..] } else { b"\0bob\0builder" };
                assert!(frame.windows(word.len()).any(|part| part == word), "by its password");
                let before = who.get_or_insert_with(|| principal.clone());
                assert_eq!(*before, principal, "who authenticates anew stays who it was");
            }
            Passage::Refused(refusal) => {
                refusal.reply.iter().for_each(written);
                assert!(!refusal.why.contains("wonder") || frame.windows(6).any(|part| part == b"wonder"));
                over = true;
            }
        }
        assert_eq!(authenticator.most().is_none(), who.is_some());
    }
});

/// An answer is one frame, and small.
fn written(reply: &Reply) {
    let Reply::Frame { parts, .. } = reply else { panic!("{reply:?} is no frame") };
    let bytes = parts.concat();
    let (length, rest) = bytes.split_first_chunk::<4>().expect("a length");
    assert_eq!(u32::from_be_bytes(*length) as usize, rest.len());
}
