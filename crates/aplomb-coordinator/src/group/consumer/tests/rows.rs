//! Cases, one by one.

use std::time::Duration;

use super::lab::Lab;

#[test]
fn the_first_member_gets_everything_in_epoch_2() {
    let mut lab = Lab::new();
    lab.world.set_topic("a", 3);
    let joined = lab.join("m1", &["a"]);
    assert_eq!((joined.error_code, joined.member_epoch, joined.heartbeat_interval_ms), (0, 2, 5000));
    assert_eq!(lab.assigned(&joined), Some(vec![("a".to_owned(), vec![0, 1, 2])]));
    assert_eq!(lab.written(), ["5 m1", "3 epoch 2", "7 m1", "6 epoch 2", "8 m1 epoch 2 state 0"]);
    lab.group().check();
    assert_eq!(lab.group().state(), "Stable");
    let again = lab.beat("m1", 2);
    assert_eq!((again.member_epoch, again.assignment), (2, None));
    assert!(lab.written().is_empty());
    lab.advance(Duration::from_secs(46));
    assert_eq!(lab.written(), ["-8 m1", "-7 m1", "-5 m1", "3 epoch 3", "6 epoch 3 at 0"]);
    assert_eq!(lab.group().state(), "Empty");
}
