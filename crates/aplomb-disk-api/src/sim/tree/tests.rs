//! What a power cut leaves of names and files.

use super::*;

fn with_file(name: &str, content: &[u8]) -> Tree {
    let mut tree = Tree::new();
    tree.create_directory("orders-3").expect("the top is there");
    tree.create_file(name).expect("its directory is there");
    tree.content_mut(name).expect("just made").write(0, content.to_vec());
    tree
}

#[test]
fn a_synced_file_in_a_new_directory_is_there_after_every_power_cut() {
    for seed in 0..100 {
        let mut tree = with_file("orders-3/0.log", b"records");
        tree.sync_content("orders-3/0.log").expect("it exists");
        tree.sync_names(Some("orders-3")).expect("it exists");
        tree.power_cut(&mut SplitMix64::new(seed));
        assert_eq!(tree.content("orders-3/0.log").expect("it was synced").bytes(), b"records");
    }
}

#[test]
fn a_name_that_was_not_synced_is_sometimes_lost() {
    let lost = (0..100)
        .filter(|seed| {
            let mut tree = with_file("orders-3/0.log", b"records");
            tree.power_cut(&mut SplitMix64::new(*seed));
            tree.content("orders-3/0.log").err() == Some(Refusal::NotFound)
        })
        .count();
    assert!((10..90).contains(&lost), "{lost} of 100 cuts lost the name");
}

#[test]
fn after_a_power_cut_a_renamed_file_has_exactly_one_of_its_names() {
    let mut new_names = 0;
    for seed in 0..100 {
        let mut tree = with_file("orders-3/0.log", b"records");
        tree.sync_content("orders-3/0.log").expect("it exists");
        tree.sync_names(Some("orders-3")).expect("it exists");
        tree.rename("orders-3/0.log", "0.moved").expect("it exists");
        tree.power_cut(&mut SplitMix64::new(seed));
        let names: Vec<String> = tree.files().into_keys().collect();
        assert_eq!(names.len(), 1, "seed {seed}: {names:?}");
        new_names += usize::from(names[0] == "0.moved");
    }
    assert!((10..90).contains(&new_names), "{new_names} of 100 cuts kept the rename");
}

#[test]
fn a_file_that_is_replaced_by_rename_is_old_or_new_and_never_missing() {
    for seed in 0..100 {
        let mut tree = with_file("orders-3/epochs", b"old");
        tree.sync_content("orders-3/epochs").expect("it exists");
        tree.sync_names(Some("orders-3")).expect("it exists");
        tree.create_file("orders-3/epochs.tmp").expect("its directory is there");
        tree.content_mut("orders-3/epochs.tmp").expect("just made").write(0, b"new".to_vec());
        tree.sync_content("orders-3/epochs.tmp").expect("it exists");
        tree.rename("orders-3/epochs.tmp", "orders-3/epochs").expect("it exists");
        tree.power_cut(&mut SplitMix64::new(seed));
        let content = tree.content("orders-3/epochs").expect("one of the two").bytes();
        assert!(content == b"old" || content == b"new", "seed {seed}: {content:?}");
    }
}

#[test]
fn a_deleted_directory_is_forgotten_once_its_parent_is_synced() {
    let mut tree = with_file("orders-3/0.log", b"records");
    tree.sync_names(Some("orders-3")).expect("it exists");
    assert_eq!(tree.remove_directory("orders-3"), Err(Refusal::NotEmpty));
    tree.remove_file("orders-3/0.log").expect("it exists");
    tree.remove_directory("orders-3").expect("it is empty");
    tree.sync_names(None).expect("the top is there");
    assert_eq!(tree.nodes.len(), 1);
    assert!(tree.unsettled.is_empty());
}

#[test]
fn a_stamp_tells_every_state_from_every_other_and_survives_what_changes_nothing() {
    let mut tree = with_file("orders-3/0.log", b"records");
    let stamps =
        |tree: &Tree| ["orders-3", "orders-3/0.log"].map(|name| tree.stamp(name).expect("it is there"));
    let first = stamps(&tree);
    tree.content_mut("orders-3/0.log").expect("it is there").write(0, b"RECORDS".to_vec());
    let written = stamps(&tree);
    assert_eq!((written[0] == first[0], written[1] == first[1]), (true, false));
    tree.rename("orders-3/0.log", "orders-3/1.log").expect("it is there");
    tree.rename("orders-3/1.log", "orders-3/0.log").expect("it is there");
    let renamed = stamps(&tree);
    assert_eq!((renamed[0] == written[0], renamed[1] == written[1]), (false, false));

    tree.power_cut(&mut SplitMix64::new(7));
    assert!(tree.stamp("orders-3").map_or(true, |stamp| stamp != renamed[0]), "names were not synced");
    let mut tree = with_file("orders-3/0.log", b"records");
    tree.sync_content("orders-3/0.log").expect("it is there");
    tree.sync_names(Some("orders-3")).expect("it is there");
    let synced = stamps(&tree);
    tree.power_cut(&mut SplitMix64::new(7));
    assert_eq!(stamps(&tree), synced);
    assert_eq!(tree.stamp("orders-4"), Err(Refusal::NotFound));
}

#[test]
fn a_file_is_not_a_directory() {
    let mut tree = with_file("orders-3/0.log", b"records");
    assert_eq!(tree.create_file("orders-3/0.log/child"), Err(Refusal::NotADirectory));
    assert_eq!(tree.create_file("nowhere/child"), Err(Refusal::NotFound));
    assert_eq!(tree.create_file("orders-3"), Err(Refusal::IsADirectory));
}
