//! Delegation tokens: who gets one, who may renew and see it, and how it ends.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::create_delegation_token_request::CreatableRenewers;
use aplomb_protocol::messages::create_delegation_token_response::CreateDelegationTokenResponse;
use aplomb_protocol::messages::describe_delegation_token_request::DescribeDelegationTokenOwner;
use aplomb_protocol::messages::describe_delegation_token_response::DescribedDelegationToken;
use bytes::Bytes;

use crate::support::{AsIs, Broker, Client, MS, SECOND, Setup};

const DAY: i64 = 86_400_000;
const SETTINGS: [(&str, &str); 2] =
    [("delegation.token.secret.key", "a secret"), ("delegation.token.expiry.check.interval.ms", "10000")];

fn with_tokens(more: &[(&'static str, &'static str)]) -> Broker {
    let settings = SETTINGS.iter().chain(more).copied().collect();
    Broker::of(Setup { shards: 2, settings, ..Setup::default() })
}

fn create(client: &Client, owner: Option<&str>, renewers: &[&str]) -> CreateDelegationTokenResponse {
    let renewer = |name: &&str| CreatableRenewers {
        principal_type: "User".to_owned(),
        principal_name: (*name).to_owned(),
    };
    client.ask(AsIs::<_, 3>(m::CreateDelegationTokenRequest {
        owner_principal_type: owner.map(|_| "User".to_owned()),
        owner_principal_name: owner.map(str::to_owned),
        renewers: renewers.iter().map(renewer).collect(),
        max_lifetime_ms: -1,
    }))
}

fn renew(client: &Client, hmac: &Bytes, period: i64) -> (i16, i64) {
    let request = m::RenewDelegationTokenRequest { hmac: hmac.clone(), renew_period_ms: period };
    let told = client.ask(AsIs::<_, 2>(request));
    (told.error_code, told.expiry_timestamp_ms)
}

fn expire(client: &Client, hmac: &Bytes, period: i64) -> (i16, i64) {
    let request = m::ExpireDelegationTokenRequest { hmac: hmac.clone(), expiry_time_period_ms: period };
    let told = client.ask(AsIs::<_, 2>(request));
    (told.error_code, told.expiry_timestamp_ms)
}

fn described(client: &Client, owners: Option<&[&str]>) -> (i16, Vec<DescribedDelegationToken>) {
    let owner = |name: &&str| DescribeDelegationTokenOwner {
        principal_type: "User".to_owned(),
        principal_name: (*name).to_owned(),
    };
    let owners = owners.map(|owners| owners.iter().map(owner).collect());
    let told = client.ask(AsIs::<_, 3>(m::DescribeDelegationTokenRequest { owners }));
    (told.error_code, told.tokens)
}

fn owners(client: &Client, asked: Option<&[&str]>) -> Vec<String> {
    let (code, tokens) = described(client, asked);
    assert_eq!(code, 0);
    let mut owners: Vec<String> = tokens.into_iter().map(|token| token.principal_name).collect();
    owners.sort_unstable();
    owners
}

const fn code(error: ErrorCode) -> i16 {
    error.to_wire()
}

#[test]
fn a_token_is_its_owners_and_outlives_a_kill() {
    let broker = with_tokens(&[]);
    let alice = broker.client_of_user("alice", false);
    let token = create(&alice, None, &["bob"]);
    assert_eq!((token.error_code, token.principal_name.as_str()), (0, "alice"));
    assert_eq!((token.token_id.len(), token.hmac.len()), (22, 64));
    assert_eq!(token.max_timestamp_ms - token.issue_timestamp_ms, 7 * DAY);
    assert_eq!(token.expiry_timestamp_ms - token.issue_timestamp_ms, DAY);
    broker.kill();
    broker.restart();
    let (_, tokens) = described(&broker.client_of_user("alice", false), None);
    assert_eq!(tokens.len(), 1);
    assert_eq!((&tokens[0].token_id, &tokens[0].hmac), (&token.token_id, &token.hmac));
    assert_eq!(tokens[0].token_requester_principal_name, "alice");
    assert_eq!(tokens[0].renewers[0].principal_name, "bob");
}

#[test]
fn owners_and_renewers_say_how_long_a_token_is_good_and_nobody_else() {
    let broker = with_tokens(&[]);
    let [alice, bob, eve] = ["alice", "bob", "eve"].map(|user| broker.client_of_user(user, false));
    let token = create(&alice, None, &["bob"]);
    let hmac = &token.hmac;
    assert_eq!(renew(&eve, hmac, -1), (code(ErrorCode::DelegationTokenOwnerMismatch), 0));
    assert_eq!(expire(&eve, hmac, -1), (code(ErrorCode::DelegationTokenOwnerMismatch), 0));
    let unknown = Bytes::from_static(b"nothing");
    assert_eq!(renew(&alice, &unknown, -1), (code(ErrorCode::DelegationTokenNotFound), 0));
    let now = broker.wall_ms();
    assert_eq!(renew(&bob, hmac, 5000), (0, now + 5000));
    assert_eq!(renew(&alice, hmac, 3 * DAY), (0, broker.wall_ms() + DAY), "no longer than is usual");
    assert_eq!(expire(&alice, hmac, i64::MAX), (0, token.max_timestamp_ms));
    let now = broker.wall_ms();
    assert_eq!(expire(&bob, hmac, -1), (0, now));
    assert_eq!(renew(&bob, hmac, -1), (code(ErrorCode::DelegationTokenNotFound), 0));
    assert!(owners(&alice, None).is_empty());
}

#[test]
fn a_token_whose_time_is_up_cannot_be_renewed_and_is_taken_away_by_and_by() {
    let broker = with_tokens(&[]);
    let alice = broker.client_of_user("alice", false);
    let token = create(&alice, None, &[]);
    let other = create(&alice, None, &[]);
    assert_eq!(expire(&alice, &token.hmac, 0).0, 0);
    broker.advance(MS);
    assert_eq!(renew(&alice, &token.hmac, -1), (code(ErrorCode::DelegationTokenExpired), 0));
    assert_eq!(expire(&alice, &token.hmac, 5), (code(ErrorCode::DelegationTokenExpired), 0));
    assert_eq!(owners(&alice, None).len(), 2, "it is there until it is looked for");
    broker.advance(11 * SECOND);
    let (_, left) = described(&alice, None);
    assert_eq!(left.iter().map(|token| &token.token_id).collect::<Vec<_>>(), [&other.token_id]);
    assert_eq!(renew(&alice, &token.hmac, -1), (code(ErrorCode::DelegationTokenNotFound), 0));
    broker.kill();
    broker.restart();
    assert_eq!(owners(&broker.client_of_user("alice", false), None).len(), 1);
}

#[test]
fn who_has_not_shown_who_it_is_or_only_a_token_may_ask_nothing_of_tokens() {
    let broker = with_tokens(&[]);
    let hmac = create(&broker.client_of_user("alice", false), None, &[]).hmac;
    for client in [broker.client(), broker.client_of_user("alice", true)] {
        let refused = code(ErrorCode::DelegationTokenRequestNotAllowed);
        let told = create(&client, None, &[]);
        assert_eq!((told.error_code, told.issue_timestamp_ms), (refused, -1));
        assert_eq!(renew(&client, &hmac, -1), (refused, -1));
        assert_eq!(expire(&client, &hmac, -1), (refused, -1));
        assert_eq!(described(&client, None).0, refused);
    }
}

#[test]
fn without_a_secret_there_are_no_tokens() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    let alice = broker.client_of_user("alice", false);
    let disabled = code(ErrorCode::DelegationTokenAuthDisabled);
    let told = create(&alice, None, &[]);
    assert_eq!((told.error_code, told.issue_timestamp_ms), (disabled, 0));
    assert_eq!(renew(&alice, &Bytes::new(), -1), (disabled, 0));
    assert_eq!(expire(&alice, &Bytes::new(), -1), (disabled, 0));
    assert_eq!(described(&alice, None).0, disabled);
}

#[test]
fn a_token_for_another_and_a_look_at_others_take_permission() {
    let broker = with_tokens(&[
        ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        ("super.users", "User:admin"),
    ]);
    let [alice, bob, admin] = ["alice", "bob", "admin"].map(|user| broker.client_of_user(user, false));
    let told = create(&alice, Some("bob"), &[]);
    assert_eq!(told.error_code, code(ErrorCode::DelegationTokenAuthorizationFailed));
    assert_eq!((told.principal_name.as_str(), told.issue_timestamp_ms), ("bob", -1));
    assert_eq!(create(&admin, Some("bob"), &[]).error_code, 0);
    assert_eq!(create(&alice, Some("alice"), &["admin"]).error_code, 0, "its own name is no other's");
    assert_eq!(owners(&alice, None), ["alice"]);
    assert_eq!(owners(&bob, None), ["bob"]);
    assert_eq!(owners(&admin, None), ["alice", "bob"]);
    assert_eq!(owners(&admin, Some(&["bob"])), ["bob"]);
    assert_eq!(owners(&admin, Some(&["admin"])), ["alice", "bob"], "it may renew one and has asked for one");
    assert_eq!(owners(&alice, Some(&["bob"])), [""; 0]);
    assert_eq!(owners(&admin, Some(&[])), [""; 0]);
}

#[test]
fn renewers_are_users_and_an_owner_has_a_type() {
    let broker = with_tokens(&[]);
    let alice = broker.client_of_user("alice", false);
    let group = CreatableRenewers { principal_type: "Group".to_owned(), principal_name: "g".to_owned() };
    let request = m::CreateDelegationTokenRequest { renewers: vec![group], ..Default::default() };
    let told = alice.ask(AsIs::<_, 2>(request));
    assert_eq!(told.error_code, code(ErrorCode::InvalidPrincipalType));
    let told = alice.ask(AsIs::<_, 3>(m::CreateDelegationTokenRequest {
        owner_principal_type: None,
        owner_principal_name: Some("bob".to_owned()),
        ..Default::default()
    }));
    assert_eq!((told.error_code, told.principal_name.as_str()), (-1, "ANONYMOUS"));
}

#[test]
fn one_user_takes_a_part_of_the_room_for_tokens_and_no_more() {
    let broker = with_tokens(&[]);
    let [eve, alice] = ["eve", "alice"].map(|user| broker.client_of_user(user, false));
    let (long, full) = ("r".repeat(30_000), code(ErrorCode::PolicyViolation));
    assert_eq!(create(&eve, None, &[&long, &long, &long]).error_code, full, "of one token");
    let mut count = 0;
    while count < 1000 && create(&eve, None, &[&long, &long]).error_code == 0 {
        count += 1;
    }
    assert_eq!(count, 138, "8 MiB of them");
    assert_eq!(create(&eve, None, &[&long, &long]).error_code, full);
    assert_eq!(create(&alice, None, &[]).error_code, 0);
    assert_eq!(described(&alice, Some(&["eve"])).1.len(), 138);
}

/// Who asks the controller for something short waits for one of these turns, and not for all
/// tokens to be looked at, or signed.
#[test]
fn tokens_are_described_and_made_ready_to_be_found_in_turns() {
    let broker = with_tokens(&[]);
    let alice = broker.client_of_user("alice", false);
    let hmacs: Vec<Bytes> = (0..300).map(|_| create(&alice, None, &[]).hmac).collect();
    let turns_of = |what: &dyn Fn()| {
        let before = broker.turns_of_head();
        what();
        broker.turns_of_head() - before
    };
    let many = 200; // some of 300 tokens share a turn
    assert!(turns_of(&|| assert_eq!(owners(&alice, None).len(), 300)) > many);
    broker.kill();
    broker.restart();
    let alice = broker.client_of_user("alice", false);
    let renewal = || {
        let now = broker.wall_ms();
        assert_eq!(renew(&alice, &hmacs[0], 5000), (0, now + 5000));
    };
    assert!(turns_of(&renewal) > many, "they are signed once");
    assert!(turns_of(&renewal) < 50);
}

/// Nor for them to be written: the answer is in pieces, of which each was one turn's.
#[test]
fn an_answer_with_all_tokens_is_written_in_turns() {
    let broker = with_tokens(&[]);
    let alice = broker.client_of_user("alice", false);
    let long = "r".repeat(1000);
    (0..300).for_each(|_| assert_eq!(create(&alice, None, &[&long]).error_code, 0));
    let ask = || alice.send(AsIs::<_, 3>(m::DescribeDelegationTokenRequest { owners: None }));
    let pieces = ask().wait_for_pieces();
    assert!(pieces.iter().sum::<usize>() > 300_000);
    assert!(pieces.iter().all(|piece| *piece < 10_000), "one turn has written {:?}", pieces.iter().max());
    assert_eq!(ask().wait().tokens.len(), 300);
}

#[test]
fn tokens_that_are_being_described_are_forgotten_with_the_connection() {
    let broker = with_tokens(&[]);
    let [alice, bob] = ["alice", "bob"].map(|user| broker.client_of_user(user, false));
    let token = create(&alice, None, &[]);
    let _gone = alice.send_along(AsIs::<_, 3>(m::DescribeDelegationTokenRequest { owners: None }));
    let _gone_too = alice.send_along(AsIs::<_, 2>(m::RenewDelegationTokenRequest {
        hmac: token.hmac.clone(),
        renew_period_ms: 5000,
    }));
    alice.close();
    assert_eq!(owners(&bob, None), ["alice"]);
    let (_, tokens) = described(&broker.client_of_user("alice", false), None);
    assert_eq!(tokens[0].expiry_timestamp, token.expiry_timestamp_ms, "its client has gone");
}
