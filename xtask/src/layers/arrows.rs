//! The arrows between crates, held against every `Cargo.toml`.
//!
//! What always holds: no arrow leads from the request path to `aplomb-disk`, not even for a test; a
//! crate that is not in the table is not in the workspace.

use std::collections::BTreeMap;

use serde_json::Value;

use super::array;

/// Who may know whom.
const ARROWS: &[(&str, &[&str])] = &[
    ("aplomb-model", &[]),
    ("aplomb-protocol", &["aplomb-model"]),
    ("aplomb-disk-api", &["aplomb-model"]),
    ("aplomb-security", &["aplomb-protocol", "aplomb-model"]),
    ("aplomb-log", &["aplomb-disk-api", "aplomb-model"]),
    ("aplomb-coordinator", &["aplomb-protocol", "aplomb-model"]),
    (
        "aplomb-broker",
        &[
            "aplomb-coordinator",
            "aplomb-protocol",
            "aplomb-security",
            "aplomb-log",
            "aplomb-disk-api",
            "aplomb-model",
        ],
    ),
    ("aplomb-server", &["aplomb-broker", "aplomb-security", "aplomb-disk-api", "aplomb-model"]),
    ("aplomb-disk", &["aplomb-disk-api", "aplomb-model"]),
    ("aplomb-doctor", &["aplomb-disk-api", "aplomb-model"]),
    ("aplomb-bench", &["aplomb-protocol", "aplomb-security", "aplomb-model"]),
    ("aplomb-sim", &["aplomb-broker", "aplomb-protocol", "aplomb-log", "aplomb-disk-api", "aplomb-model"]),
    ("aplomb-lab", &["aplomb-protocol", "aplomb-model", "aplomb-doctor", "aplomb-bench"]),
    (
        "aplomb",
        &[
            "aplomb-server",
            "aplomb-disk",
            "aplomb-lab",
            "aplomb-sim",
            "aplomb-doctor",
            "aplomb-bench",
            "aplomb-broker",
            "aplomb-protocol",
            "aplomb-security",
            "aplomb-log",
            "aplomb-disk-api",
            "aplomb-model",
        ],
    ),
    ("xtask", &[]),
];

/// What the crates that carry requests may not use even from outside the workspace: (crate,
/// feature, instead).
const NOT_ON_THE_REQUEST_PATH: &[(&str, &str, &str)] =
    &[("tokio", "fs", "files belong to aplomb-disk"), ("tokio", "rt-multi-thread", "a shard is one thread")];

/// One sentence for everything that is not as the table says.
pub(super) fn faults(metadata: &Value) -> Result<Vec<String>, String> {
    let table: BTreeMap<_, _> = ARROWS.iter().copied().collect();
    let packages = array(metadata, "packages")?;
    let members: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut faults = Vec::new();
    for package in packages {
        let name = package["name"].as_str().ok_or("a package without a name")?;
        let Some(allowed) = table.get(name) else {
            faults.push(format!("{name} is not on the map: give it a line in xtask/src/layers.rs"));
            continue;
        };
        for dependency in array(package, "dependencies")? {
            let Some(other) = dependency["name"].as_str() else { continue };
            let kind = match dependency["kind"].as_str() {
                Some("dev") => "its tests know",
                Some("build") => "its build script knows",
                _ => "it knows",
            };
            if members.contains(&other) && !allowed.contains(&other) {
                let known = if allowed.is_empty() { "nobody".to_owned() } else { allowed.join(", ") };
                faults.push(format!("{name} may know {known}; {kind} {other}"));
            }
            let features: Vec<&str> =
                array(dependency, "features")?.iter().filter_map(Value::as_str).collect();
            for (foreign, feature, instead) in NOT_ON_THE_REQUEST_PATH {
                if carries_requests(name) && other == *foreign && features.contains(feature) {
                    faults
                        .push(format!("{name} carries requests; {kind} {foreign} with {feature}: {instead}"));
                }
            }
        }
    }
    Ok(faults)
}

fn carries_requests(name: &str) -> bool {
    ["model", "protocol", "disk-api", "security", "log", "coordinator", "broker", "server"]
        .iter()
        .any(|room| name.strip_prefix("aplomb-") == Some(room))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workspace(name: &str, dependency: &str, kind: Option<&str>) -> Value {
        json!({"packages": [
            {"name": name, "dependencies": [{"name": dependency, "kind": kind, "features": []}]},
            {"name": "aplomb-disk", "dependencies": []},
            {"name": "aplomb-model", "dependencies": []},
        ]})
    }

    #[test]
    fn an_arrow_that_is_not_drawn_is_a_fault_even_for_a_test() {
        let found = faults(&workspace("aplomb-log", "aplomb-disk", Some("dev"))).expect("it is understood");
        assert_eq!(found, ["aplomb-log may know aplomb-disk-api, aplomb-model; its tests know aplomb-disk"]);
        assert!(faults(&workspace("aplomb-log", "aplomb-model", None)).expect("it is understood").is_empty());
        assert!(faults(&workspace("aplomb-log", "bytes", None)).expect("it is understood").is_empty());
    }

    #[test]
    fn a_crate_that_is_not_on_the_map_is_a_fault() {
        let found = faults(&workspace("aplomb-new", "bytes", None)).expect("it is understood");
        assert_eq!(found, ["aplomb-new is not on the map: give it a line in xtask/src/layers.rs"]);
    }

    #[test]
    fn tokios_files_are_not_for_those_who_carry_requests() {
        let with_fs = |name: &str| {
            json!({"packages": [
                {"name": name, "dependencies": [{"name": "tokio", "kind": null, "features": ["rt", "fs"]}]},
            ]})
        };
        assert_eq!(faults(&with_fs("aplomb-server")).expect("it is understood").len(), 1);
        assert!(faults(&with_fs("aplomb")).expect("it is understood").is_empty());
    }

    #[test]
    fn the_table_has_no_circle() {
        let table: BTreeMap<_, _> = ARROWS.iter().copied().collect();
        // Each line only names crates of lines before it, once these are in the right order.
        let mut done: Vec<&str> = Vec::new();
        while done.len() < table.len() {
            let next = table
                .iter()
                .find(|(name, known)| !done.contains(name) && known.iter().all(|other| done.contains(other)));
            done.push(next.expect("every round finds a crate that knows only those before it").0);
        }
    }
}
