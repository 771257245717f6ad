use super::*;

fn files(limit: usize) -> (tempfile::TempDir, Files) {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let files =
        Files::open(directory.path(), FilesOptions { limit, syncfs_above: 64, stats: Arc::default() })
            .expect("it was just made");
    (directory, files)
}

#[test]
fn no_more_descriptors_are_kept_than_allowed_and_every_name_still_opens() {
    let (_directory, files) = files(10);
    for round in 0..3 {
        for n in 0..50 {
            let file = files.to_change_or_make(&FileName::new(format!("{n}"))).expect("the disk is well");
            rustix::io::pwrite(&*file, &[n], 0).expect("the disk is well");
            assert!(files.table().open.len() <= 10, "round {round}");
        }
    }
    for n in 0..50_u8 {
        let file = files.existing(&FileName::new(format!("{n}"))).expect("it was made");
        let mut byte = [0];
        rustix::io::pread(&*file, &mut byte, 0).expect("the disk is well");
        assert_eq!(byte, [n]);
    }
}

#[test]
fn a_file_that_was_opened_while_names_changed_is_not_kept() {
    let (_directory, files) = files(10);
    let name = FileName::new("0.log");
    let file = files.to_change_or_make(&name).expect("the disk is well");
    let before = files.table().forgotten;
    drop(files.leave("0.log"));
    let used = files.keep(Arc::clone(&file), before, Purpose::Look);
    assert!(matches!(used, Kept::NamesChanged(used) if Arc::ptr_eq(&used, &file)));
    assert!(files.table().open.is_empty());
}

#[test]
fn forgetting_a_directory_forgets_what_is_below_it_and_not_its_neighbours() {
    let (directory, files) = files(10);
    let names = ["a", "a-b", "a0"].map(|name| FileName::new(format!("{name}/x")));
    for name in &names {
        std::fs::create_dir(directory.path().join(name.parent().expect("it has one"))).expect("well");
        files.to_change_or_make(name).expect("the disk is well");
    }
    for (directory, mark) in files.unsettled(names.iter()) {
        files.settle(&directory, mark);
    }
    assert!(files.unsettled(names.iter()).is_empty());
    drop(files.leave("a"));
    let open: Vec<String> = files.table().open.keys().cloned().collect();
    assert_eq!(open, ["a-b/x", "a0/x"]);
    let unsettled = files.unsettled(names.iter());
    assert_eq!(unsettled.into_keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_name_that_came_during_a_sync_is_not_taken_for_durable() {
    let (_directory, files) = files(10);
    let name = FileName::new("0.log");
    let marks = files.unsettled([&name].into_iter());
    files.to_change_or_make(&name).expect("the disk is well");
    marks.iter().for_each(|(directory, mark)| files.settle(directory, *mark));
    assert_eq!(files.unsettled([&name].into_iter()).into_keys().collect::<Vec<_>>(), [""]);
}
