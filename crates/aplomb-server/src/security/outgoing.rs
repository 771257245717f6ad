//! Our client against our server: logins, in TLS and not, whose bytes come in pieces, are changed
//! on the way, or are another's.

mod certificates;
mod ends;

use std::sync::Arc;

use aplomb_broker::config::{Mechanism, Secret};
use aplomb_security::client::{Credentials, LoginError, ScramPassword};
use aplomb_security::scram::ScramHash;

use self::ends::{Ends, Outcome, gate};

fn scram(password: &str) -> Credentials {
    let password = Secret::new(password.to_owned());
    Credentials::Scram(Arc::new(ScramPassword::new(ScramHash::Sha256, "alice".to_owned(), password, false)))
}

fn plain(password: &str) -> Credentials {
    Credentials::Plain { user: "alice".to_owned(), password: Secret::new(password.to_owned()) }
}

#[test]
fn who_knows_the_password_is_let_in_and_who_does_not_is_told_so() {
    let gate = gate("localhost", None);
    for tls in [None, Some(&gate)] {
        for (mechanism, credentials) in
            [(Mechanism::Plain, &plain as &dyn Fn(&str) -> Credentials), (Mechanism::ScramSha256, &scram)]
        {
            let ends = |password| Ends::new(tls, mechanism, &credentials(password));
            assert_eq!(ends("wonder").talk(), Ok(Outcome::In("alice".to_owned())));
            let refused = ends("wander").talk();
            let Ok(Outcome::Refused(LoginError::Refused(why))) = refused else { panic!("{refused:?}") };
            assert!(why.starts_with("Authentication failed") && !why.contains("wander"), "{why}");
        }
    }
    let other = Ends::new(Some(&gate), Mechanism::Plain, &scram("wonder")).talk();
    let offered = "PLAIN".to_owned();
    assert_eq!(other, Ok(Outcome::Refused(LoginError::Mechanism { wanted: "SCRAM-SHA-256", offered })));
}

#[test]
fn a_login_goes_through_wherever_its_bytes_are_cut() {
    let gate = gate("localhost", None);
    let credentials = scram("wonder");
    for tls in [None, Some(&gate)] {
        let mut whole = Ends::new(tls, Mechanism::ScramSha256, &credentials);
        assert_eq!(whole.talk(), Ok(Outcome::In("alice".to_owned())));
        let (down, up) = whole.carried();
        for place in 1..down.max(up) {
            let mut ends = Ends::new(tls, Mechanism::ScramSha256, &credentials);
            ends.cut = Some(place);
            assert_eq!(ends.talk(), Ok(Outcome::In("alice".to_owned())), "cut behind {place} bytes");
        }
    }
}

#[test]
fn what_is_changed_on_the_way_in_tls_is_never_taken_for_what_was_said() {
    let gate = gate("localhost", None);
    let credentials = scram("wonder");
    let mut whole = Ends::new(Some(&gate), Mechanism::ScramSha256, &credentials);
    whole.talk().expect("it goes through");
    let (down, _) = whole.carried();
    let mut kept_out = 0;
    for place in 0..down {
        let mut ends = Ends::new(Some(&gate), Mechanism::ScramSha256, &credentials);
        ends.changed = Some((place, 1 << (place % 8)));
        match ends.talk() {
            Err(_) => kept_out += 1,
            // A bit of no meaning, as those that name an old version.
            Ok(outcome) => assert_eq!(outcome, Outcome::In("alice".to_owned()), "bit {place}"),
        }
        assert!(ends.said().starts_with(ends.heard()), "bit {place}");
    }
    assert!(kept_out > down * 9 / 10, "{kept_out} of {down}");
}
