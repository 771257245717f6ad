//! Delegation tokens, in the log and behind it.

use aplomb_protocol::messages::FeatureLevelRecord;
use bytes::Bytes;

use super::*;

const NOW: Timestamp = Timestamp(1_000);

impl Lab {
    fn token(&mut self, owner: &str) -> Bytes {
        let new = NewToken {
            owner: owner.to_owned(),
            requester: owner.to_owned(),
            renewers: Vec::new(),
            max_lifetime: 100,
        };
        let mut draft = self.controller.draft();
        let rules = TokenRules { config: &self.config.tokens, now: NOW };
        let (_, hmac) = draft.create_token(new, rules, &mut *self.random).expect("there is room");
        let records = self.controller.take(draft);
        self.write(&records);
        hmac
    }

    fn change(&mut self, hmac: &[u8], change: TokenChange, now: i64) -> Result<i64, ErrorCode> {
        let rules = TokenRules { config: &self.config.tokens, now: Timestamp(now) };
        let key = self.config.tokens.key().expect("there are tokens");
        while !self.controller.index_tokens(&key) {}
        let (draft, until) = self.controller.change_token(hmac, "User:alice", change, rules)?;
        let records = self.controller.take(draft);
        self.write(&records);
        Ok(until)
    }
}

fn lab() -> Lab {
    Lab::with(&[("delegation.token.secret.key", "secret")])
}

#[test]
fn the_log_says_of_tokens_what_the_controller_knows_and_a_restart_finds_them() {
    let mut lab = lab();
    let (first, second) = (lab.token("User:alice"), lab.token("User:alice"));
    assert_eq!(lab.change(&first, TokenChange::Renew(50), 1_000), Ok(1_050));
    let third = lab.token("User:alice");
    assert_eq!(lab.change(&second, TokenChange::Expire(-1), 1_001), Ok(1_001));
    assert_eq!(lab.change(&second, TokenChange::Renew(-1), 1_001), Err(ErrorCode::DelegationTokenNotFound));
    assert_log_says_the_same(&lab);
    // It is known by what its holder knows before and after there is an index, and after a start.
    assert_eq!(lab.change(&third, TokenChange::Expire(3), 1_001), Ok(1_004));
    lab.controller = Controller::new(lab.replayed());
    assert_eq!(lab.change(&third, TokenChange::Expire(4), 1_002), Ok(1_006));
    assert_eq!(lab.change(&first, TokenChange::Expire(1_000), 1_002), Ok(1_100), "no longer than it can be");
    assert_log_says_the_same(&lab);
}

#[test]
fn tokens_whose_time_is_up_are_taken_away_so_many_at_once() {
    let mut lab = lab();
    for _ in 0..1_500 {
        lab.token("User:alice");
    }
    let count = |lab: &Lab| lab.controller.image().security.tokens.len();
    assert!(lab.controller.sweep_tokens(Timestamp(1_100)).0.records().is_empty(), "they are good up to then");
    for (more, left) in [(true, 500), (false, 0), (false, 0)] {
        let (draft, has_more) = lab.controller.sweep_tokens(Timestamp(1_101));
        let records = lab.controller.take(draft);
        lab.write(&records);
        assert_eq!((has_more, count(&lab)), (more, left));
    }
    assert_log_says_the_same(&lab);
    assert_eq!(lab.controller.image().security.tokens.bytes(), 0);
}

#[test]
fn a_snapshot_has_tokens_where_the_metadata_version_knows_them() {
    let mut lab = lab();
    lab.token("User:alice");
    lab.token("User:bob");
    let of_tokens = |image: &MetadataImage| {
        let records = image.to_records().into_iter();
        records.filter(|record| matches!(record, MetadataRecord::DelegationToken(_))).count()
    };
    let image = lab.controller.image().clone();
    assert_eq!(of_tokens(&image), 2);
    let mut again = Replay::from_image(MetadataImage::empty("cluster"));
    image.to_records().iter().for_each(|record| again.apply(record).expect("fits"));
    assert_eq!(again.image().security, image.security);
    let level = |level| FeatureLevelRecord { name: "metadata.version".to_owned(), feature_level: level };
    for (version, count) in [(14, 2), (13, 0)] {
        again.apply(&level(version).into()).expect("fits");
        assert_eq!(of_tokens(again.image()), count);
    }
    lab.controller = Controller::new(again.into_image());
    assert_eq!(lab.change(b"x", TokenChange::Renew(-1), 1), Err(ErrorCode::UnsupportedVersion));
}
