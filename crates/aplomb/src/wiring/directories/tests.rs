use super::*;

const NODE: BrokerId = BrokerId(1);

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory for the test"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn open(&self, names: &[&str], node: BrokerId) -> Result<LogDirectories, DirectoryError> {
        let dirs: Vec<String> = names.iter().map(|name| self.path(name)).collect();
        Candidates::look(&dirs, &dirs[0], node)?.settle(node, None, &mut chance)
    }

    fn refusal(&self, names: &[&str], node: BrokerId) -> String {
        let error = self.open(names, node).expect_err("it is refused").to_string();
        error.replace(&self.0.path().display().to_string(), "")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("it can be written");
    }
}

#[test]
fn empty_directories_become_ours_and_stay_so() {
    let place = Place::new();
    let first = place.open(&["a", "b"], NODE).expect("both are empty");
    let (cluster, ids) = (first.cluster_id.clone(), first.ids());
    drop(first);
    let again = place.open(&["a", "b", "c"], NODE).expect("they are ours, and one is empty");
    assert_eq!(again.cluster_id, cluster);
    assert_eq!(again.ids()[..2], ids);
    assert_eq!(again.metadata_id(), ids[0]);
    assert_eq!(again.directories.len(), 3);
}

#[test]
fn a_new_cluster_has_the_id_that_is_wanted_and_an_old_one_keeps_its_own() {
    let place = Place::new();
    let settle = |name: &str, wanted: &str| {
        let dirs = [place.path(name)];
        let candidates = Candidates::look(&dirs, &dirs[0], NODE).expect("nothing is wrong with it");
        candidates.settle(NODE, Some(wanted), &mut chance).expect("it is made").cluster_id
    };
    assert_eq!(settle("a", "5L6g3nShT-eMCtK--X86sw"), "5L6g3nShT-eMCtK--X86sw");
    assert_eq!(settle("a", "another"), "5L6g3nShT-eMCtK--X86sw");
}

#[test]
fn a_directory_in_use_is_refused() {
    let place = Place::new();
    let _first = place.open(&["a"], NODE).expect("it is empty");
    assert!(place.refusal(&["a"], NODE).ends_with("/a is already in use by another broker"));
}

#[test]
fn whose_directory_it_is_matters() {
    let place = Place::new();
    drop(place.open(&["a"], NODE).expect("it is empty"));
    drop(place.open(&["b"], NODE).expect("it is empty"));
    assert_eq!(place.refusal(&["a"], BrokerId(2)), "log directory /a belongs to node 1, and node.id is 2");
    let other = place.refusal(&["a", "b"], NODE);
    assert!(other.starts_with("log directory /b belongs to cluster "), "{other}");
    let missing = place.refusal(&["new", "a"], NODE);
    assert!(missing.ends_with(": the cluster's metadata is missing"), "{missing}");
    assert!(!place.0.path().join("new").exists(), "what is refused changes nothing");

    std::fs::create_dir(place.0.path().join("c")).expect("a directory");
    std::fs::copy(place.path("a/meta.properties"), place.path("c/meta.properties")).expect("a copy");
    assert!(place.refusal(&["a", "c"], NODE).ends_with(": one is a copy of the other"));
}

#[test]
fn what_is_neither_empty_nor_ours_is_refused() {
    let place = Place::new();
    std::fs::create_dir_all(place.0.path().join("a/orders-0")).expect("a directory");
    assert_eq!(
        place.refusal(&["a"], NODE),
        "log directory /a has no meta.properties and is not empty (orders-0 is in it): it is not clear whose it is"
    );
    std::fs::create_dir(place.0.path().join("z")).expect("a directory");
    place.write("z/meta.properties", "version=0\nbroker.id=1\ncluster.id=x\n");
    assert!(place.refusal(&["z"], NODE).contains("of a ZooKeeper cluster"));
    place.write("z/meta.properties", "version=1\nnode.id=1\n");
    assert_eq!(place.refusal(&["z"], NODE), "log directory /z: meta.properties has no cluster.id");
}

#[test]
fn a_directory_whose_disk_fails_is_done_without() {
    let place = Place::new();
    let first = place.open(&["a", "b", "c"], NODE).expect("all are empty");
    let ids = first.ids();
    drop(first);
    // No permission is refused to root; what is not a directory is, like a disk that fails,
    // nobody's to lock.
    std::fs::remove_dir_all(place.path("a")).expect("it was made");
    place.write("a", "");
    let dirs = ["a", "b", "c"].map(|name| place.path(name));
    let open = || Candidates::look(&dirs, &dirs[1], NODE)?.settle(NODE, None, &mut chance);
    let mut opened = open().expect("two are well");
    assert_eq!(opened.ids(), ids[1..]);
    assert_eq!((opened.metadata, opened.metadata_id()), (0, ids[1]));
    let [lost] = &opened.lost[..] else { panic!("{:?}", opened.lost) };
    assert_eq!(lost.path.as_os_str(), dirs[0].as_str());
    assert!(lost.why.starts_with(&format!("log directory {}", dirs[0])), "{lost:?}");
    opened.check_that_some_are_left(&dirs).expect("two are");

    assert!(opened.lose(ids[2], "it failed later".to_owned()));
    assert!(!opened.lose(ids[1], "it has the metadata log".to_owned()));
    assert_eq!(opened.ids(), [ids[1]]);
    let none =
        opened.check_that_some_are_left(&[dirs[0].clone(), dirs[2].clone()]).expect_err("both are lost");
    assert!(none.to_string().ends_with("; it failed later"), "{none}");
    drop(opened);

    let error = Candidates::look(&dirs, &dirs[0], NODE).err().expect("nobody starts without metadata");
    assert!(error.to_string().starts_with(&format!("log directory {}", dirs[0])), "{error}");
}

#[test]
fn a_directory_from_before_directories_had_ids_gets_one() {
    let place = Place::new();
    std::fs::create_dir(place.0.path().join("a")).expect("a directory");
    place.write("a/meta.properties", "#\nversion=1\nnode.id=1\ncluster.id=abc\n");
    let opened = place.open(&["a"], NODE).expect("it is ours");
    let id = opened.metadata_id();
    let text = std::fs::read_to_string(place.path("a/meta.properties")).expect("it is there");
    assert!(text.starts_with("#\nversion=1\nnode.id=1\ncluster.id=abc\n"), "{text}");
    assert!(text.contains(&format!("directory.id={id}")), "{text}");
}
