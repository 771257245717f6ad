//! The login of a connection that never waits: what is to be sent stays behind it, the first time
//! and each time that it has to be renewed.
//!
//! What always holds: nothing is sent between the frames of a login; answers to what was sent
//! before one come before those of the login.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use aplomb_model::Instant;
use aplomb_security::client::{Login, Progress};
use bytes::Bytes;

use crate::entry::{Entry, not_let_in};

/// A login is renewed after this share of its lifetime, and a little more for some, so that those
/// that began together do not come back together (Kafka's clients take the same shares).
const RENEWED: f64 = 0.85;
const SPREAD: f64 = 0.10;

#[derive(Debug)]
pub(crate) struct Door {
    /// The login under way.
    login: Option<Login>,
    /// Answers that come before its own.
    before: usize,
    /// What was to be sent meanwhile.
    held: VecDeque<Bytes>,
    renew_at: Option<Instant>,
    /// This connection's place in the spread, from 0 to 1.
    place: f64,
}

/// What a frame that has come was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Knock {
    /// An answer to what was sent before the login.
    Other(Bytes),
    /// The login's: this is its next frame.
    Say(Bytes),
    /// The login's last: what was held can be sent.
    Open(VecDeque<Bytes>),
}

impl Door {
    /// Closed, with the first frame to send to `address`; `None` where no login is asked for.
    pub(crate) fn closed(entry: &Entry, address: &str) -> io::Result<Option<(Self, Bytes)>> {
        let Some((login, first)) = entry.login(address)? else { return Ok(None) };
        let mut chance = [0];
        getrandom::fill(&mut chance).map_err(|error| io::Error::other(error.to_string()))?;
        let place = f64::from(chance[0]) / 255.0;
        let door = Self { login: Some(login), before: 0, held: VecDeque::new(), renew_at: None, place };
        Ok(Some((door, first)))
    }

    /// Whether a login is under way.
    pub(crate) fn is_closed(&self) -> bool {
        self.login.is_some()
    }

    /// Whether it is time to log in again.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.login.is_none() && self.renew_at.is_some_and(|at| at <= now)
    }

    /// Closes for another login, before which so many answers have yet to come.
    pub(crate) fn close(&mut self, login: Login, before: usize) {
        self.login = Some(login);
        self.before = before;
    }

    /// Keeps a frame until the door is open.
    pub(crate) fn hold(&mut self, frame: Bytes) {
        self.held.push_back(frame);
    }

    /// What a frame is that has come while the door was closed.
    pub(crate) fn on_frame(&mut self, frame: Bytes, now: Instant) -> io::Result<Knock> {
        let Some(login) = self.login.as_mut().filter(|_| self.before == 0) else {
            self.before = self.before.saturating_sub(1);
            return Ok(Knock::Other(frame));
        };
        match login.on_frame(&frame).map_err(not_let_in)? {
            Progress::Say(frame) => Ok(Knock::Say(frame)),
            Progress::Done { lifetime } => {
                self.login = None;
                self.renew_at = lifetime.map(|lifetime| now + self.share_of(lifetime));
                Ok(Knock::Open(std::mem::take(&mut self.held)))
            }
        }
    }

    fn share_of(&self, lifetime: Duration) -> Duration {
        lifetime.mul_f64(SPREAD.mul_add(self.place, RENEWED))
    }
}

#[cfg(test)]
mod tests {
    use aplomb_protocol::ApiKey;
    use aplomb_protocol::frame::ResponseFrame;
    use aplomb_protocol::messages::{SaslAuthenticateResponse, SaslHandshakeResponse};
    use aplomb_security::Secret;
    use aplomb_security::client::{ClientSecurity, Credentials};

    use super::*;

    fn entry() -> Entry {
        let login = Credentials::Plain { user: "alice".into(), password: Secret::new("wonder".into()) };
        Entry::new("me", &ClientSecurity { tls: None, login: Some(login) })
    }

    /// The number of a request, behind its length, API and version.
    fn number(frame: &Bytes) -> i32 {
        i32::from_be_bytes(*frame[8..].first_chunk().expect("a request"))
    }

    fn handshaken(number: i32) -> Bytes {
        let body = SaslHandshakeResponse::default();
        ResponseFrame::encode(ApiKey::SaslHandshake, 1, number, &body).expect("an answer").slice(4..)
    }

    fn let_in(number: i32, session_lifetime_ms: i64) -> Bytes {
        let body = SaslAuthenticateResponse { session_lifetime_ms, ..Default::default() };
        ResponseFrame::encode(ApiKey::SaslAuthenticate, 1, number, &body).expect("an answer").slice(4..)
    }

    #[test]
    fn what_is_to_be_sent_waits_for_each_login_and_answers_from_before_it_go_through() {
        let entry = entry();
        let (mut door, first) = Door::closed(&entry, "host:1").expect("chance").expect("a login");
        let now = Instant::START;
        let log_in = |door: &mut Door, first: &Bytes, now| {
            let Knock::Say(next) = door.on_frame(handshaken(number(first)), now).expect("it goes on") else {
                panic!("the password is to be said")
            };
            let Knock::Open(held) = door.on_frame(let_in(number(&next), 10_000), now).expect("it is in")
            else {
                panic!("it is to be open")
            };
            held
        };
        door.hold(Bytes::from_static(b"one"));
        door.hold(Bytes::from_static(b"two"));
        assert_eq!(log_in(&mut door, &first, now), [&b"one"[..], b"two"]);
        assert!(!door.is_closed() && !door.is_due(now + Duration::from_millis(8499)));
        let later = now + Duration::from_millis(9501);
        assert!(door.is_due(later));
        let (login, first) = entry.login("host:1").expect("chance").expect("a login");
        door.close(login, 2);
        assert!(door.is_closed() && !door.is_due(later));
        for answer in [&b"first"[..], b"second"] {
            let answer = Bytes::from_static(answer);
            assert_eq!(door.on_frame(answer.clone(), later).expect("it goes through"), Knock::Other(answer));
        }
        assert!(log_in(&mut door, &first, later).is_empty());
        assert!(!door.is_due(later + Duration::from_millis(8499)), "it counts from the last login");
    }

    #[test]
    fn who_needs_no_login_has_no_door_and_who_is_refused_is_told_why() {
        let open = Entry::new("me", &ClientSecurity::default());
        assert!(Door::closed(&open, "host:1").expect("nothing is drawn").is_none());
        let (mut door, first) = Door::closed(&entry(), "host:1").expect("chance").expect("a login");
        let body = SaslHandshakeResponse { error_code: 33, mechanisms: vec!["GSSAPI".into()] };
        let refused = ResponseFrame::encode(ApiKey::SaslHandshake, 1, number(&first), &body);
        let error =
            door.on_frame(refused.expect("an answer").slice(4..), Instant::START).expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("GSSAPI"), "{error}");
    }
}
