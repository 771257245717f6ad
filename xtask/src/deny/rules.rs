//! `deny.toml`, and what it says about a graph of crates.

use std::collections::BTreeMap;

use toml_edit::{DocumentMut, Item, Value};

use super::crates::{Crates, Package};
use super::licences::is_allowed;

/// The keys that are understood, with the values of those that are no lists: what cargo-deny could
/// do otherwise, this does not.
const KEYS: &[(&str, &str, Option<&str>)] = &[
    ("graph", "targets", None),
    ("licenses", "allow", None),
    ("bans", "multiple-versions", Some("deny")),
    ("bans", "wildcards", Some("deny")),
    ("bans", "allow-wildcard-paths", Some("true")),
    ("bans", "deny", None),
    ("bans", "skip", None),
    ("sources", "unknown-registry", Some("deny")),
    ("sources", "unknown-git", Some("deny")),
    ("sources", "allow-registry", None),
    ("advisories", "ignore", None),
];

#[derive(Debug)]
pub(super) struct Rules {
    pub(super) targets: Vec<String>,
    licences: Vec<String>,
    /// A crate, and the only ones that may know it.
    wrappers: Vec<(String, Vec<String>)>,
    /// Crates of which another version may be there too: name, and how the version begins.
    skipped: Vec<(String, String)>,
    registries: Vec<String>,
    /// Advisories that do not concern us.
    pub(super) ignored: Vec<String>,
}

impl Rules {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let document: DocumentMut = text.parse().map_err(|why: toml_edit::TomlError| why.to_string())?;
        for (table, items) in document.iter() {
            let items = items.as_table().ok_or_else(|| format!("{table} is not a table"))?;
            for (key, item) in items {
                match KEYS.iter().find(|(t, k, _)| *t == table && *k == key) {
                    None => return Err(format!("{table}.{key} is not understood")),
                    Some((_, _, Some(only)))
                        if item.to_string().trim().trim_matches(['"', '\'']) != *only =>
                    {
                        return Err(format!("{table}.{key} can only be {only} here"));
                    }
                    Some(_) => {}
                }
            }
        }
        for (table, key, _) in KEYS {
            document
                .get(table)
                .and_then(|items| items.get(key))
                .ok_or_else(|| format!("{table}.{key} is missing"))?;
        }
        let list = |table: &str, key: &str| {
            list(&document[table][key]).ok_or_else(|| format!("{table}.{key} is not a list"))
        };
        let skip = |value: &Value| {
            let (name, version) = with_reason(value, "crate")?.split_once('@')?;
            Some((name.to_owned(), version.to_owned()))
        };
        let ban = |value: &Value| {
            let ban = value.as_inline_table().filter(|ban| ban.len() == 2)?;
            let wrappers =
                ban.get("wrappers")?.as_array()?.iter().map(|name| name.as_str().map(str::to_owned));
            Some((ban.get("crate")?.as_str()?.to_owned(), wrappers.collect::<Option<_>>()?))
        };
        let ignore = |value: &Value| with_reason(value, "id").map(str::to_owned);
        Ok(Self {
            targets: strings(&list("graph", "targets")?, "graph.targets")?,
            licences: strings(&list("licenses", "allow")?, "licenses.allow")?,
            wrappers: all(&list("bans", "deny")?, ban, "bans.deny has { crate, wrappers }")?,
            skipped: all(&list("bans", "skip")?, skip, "bans.skip has { crate = \"name@version\", reason }")?,
            registries: strings(&list("sources", "allow-registry")?, "sources.allow-registry")?,
            ignored: all(&list("advisories", "ignore")?, ignore, "advisories.ignore has { id, reason }")?,
        })
    }

    /// One sentence for everything that is not as it should be.
    pub(super) fn faults(&self, crates: &Crates) -> Vec<String> {
        let packages = || crates.0.values();
        let mut faults: Vec<String> = packages().filter_map(|package| self.licence_fault(package)).collect();
        faults.extend(packages().filter_map(|package| self.source_fault(package)));
        faults.extend(packages().flat_map(|package| self.wrapper_faults(package)));
        faults.extend(packages().filter(|package| package.source.is_none()).flat_map(wildcard_faults));
        faults.extend(self.version_faults(crates));
        faults
    }

    fn licence_fault(&self, package: &Package) -> Option<String> {
        let Package { name, version, license, .. } = package;
        let Some(license) = license else { return Some(format!("{name} {version} names no licence")) };
        match is_allowed(license, &self.licences) {
            Ok(true) => None,
            Ok(false) => Some(format!("{name} {version} is under {license}, which deny.toml does not allow")),
            Err(why) => Some(format!("{name} {version}: {why}")),
        }
    }

    fn source_fault(&self, package: &Package) -> Option<String> {
        let source = package.source.as_ref()?;
        let registry = source.strip_prefix("registry+").or_else(|| source.strip_prefix("sparse+"));
        let is_known = registry.is_some_and(|registry| self.registries.iter().any(|known| known == registry));
        (!is_known).then(|| format!("{} {} comes from {source}", package.name, package.version))
    }

    fn wrapper_faults(&self, package: &Package) -> Vec<String> {
        let knows = |name: &str| package.asks_for.iter().any(|(other, _)| other == name);
        let wrongly =
            self.wrappers.iter().filter(|(name, wrappers)| knows(name) && !wrappers.contains(&package.name));
        wrongly
            .map(|(name, wrappers)| {
                format!("{} knows {name}, which only {} may", package.name, wrappers.join(", "))
            })
            .collect()
    }

    /// Two versions of one crate, and skips that nothing needs.
    fn version_faults(&self, crates: &Crates) -> Vec<String> {
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for package in crates.0.values() {
            versions.entry(&package.name).or_default().push(&package.version);
        }
        let is_skipped = |name: &str, version: &str| {
            self.skipped.iter().any(|(skipped, begins)| skipped == name && begins_with(version, begins))
        };
        let several = versions.iter().filter(|(name, versions)| {
            versions.iter().filter(|version| !is_skipped(name, version)).count() > 1
        });
        let several = several.map(|(name, versions)| {
            format!("{name} is there in {} versions: {}", versions.len(), versions.join(", "))
        });
        let idle = self.skipped.iter().filter(|(name, begins)| {
            let of_name = versions.get(name.as_str()).map_or(&[][..], Vec::as_slice);
            of_name.len() < 2 || !of_name.iter().any(|version| begins_with(version, begins))
        });
        let idle = idle
            .map(|(name, begins)| format!("deny.toml skips {name}@{begins}, which nothing needs any more"));
        several.chain(idle).collect()
    }
}

/// Whether a version is 2, or 2.1, or 2.1.3.
fn begins_with(version: &str, begins: &str) -> bool {
    version.strip_prefix(begins).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn wildcard_faults(package: &Package) -> Vec<String> {
    let any = package.asks_for.iter().filter(|(_, requirement)| requirement.as_deref() == Some("*"));
    any.map(|(name, _)| format!("{} takes any version of {name}", package.name)).collect()
}

fn list(item: &Item) -> Option<Vec<Value>> {
    Some(item.as_array()?.iter().cloned().collect())
}

fn strings(values: &[Value], what: &str) -> Result<Vec<String>, String> {
    all(values, |value| value.as_str().map(str::to_owned), &format!("{what} has texts"))
}

fn all<T>(values: &[Value], read: impl Fn(&Value) -> Option<T>, what: &str) -> Result<Vec<T>, String> {
    values.iter().map(read).collect::<Option<_>>().ok_or_else(|| what.to_owned())
}

/// The value of `key` in `{ key = "...", reason = "..." }`.
fn with_reason<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    let table = value.as_inline_table().filter(|table| table.len() == 2)?;
    table.get("reason")?.as_str().filter(|reason| !reason.is_empty())?;
    table.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "registry+https://example.org/index";

    fn rules() -> String {
        let text = "[graph]\ntargets = ['here']\n[licenses]\nallow = ['MIT']\n
            [bans]\nmultiple-versions = 'deny'\nwildcards = 'deny'\nallow-wildcard-paths = true\ndeny = [{ crate = 'disk', wrappers = ['top'] }]\n
            skip = [{ crate = 'old@1', reason = 'so' }]\n
            [sources]\nunknown-registry = 'deny'\nunknown-git = 'deny'\nallow-registry = ['https://example.org/index']\n
            [advisories]\nignore = []";
        text.to_owned()
    }

    fn package(name: &str, version: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            license: Some("MIT".to_owned()),
            source: Some(REGISTRY.to_owned()),
            asks_for: Vec::new(),
        }
    }

    fn faults(packages: &[Package]) -> Vec<String> {
        let old = [package("old", "1.5.0"), package("old", "2.0.0")];
        let named =
            old.iter().chain(packages).enumerate().map(|(at, package)| (at.to_string(), package.clone()));
        Rules::parse(&rules()).expect("it is understood").faults(&Crates(named.collect()))
    }

    #[test]
    fn crates_are_as_the_file_says_or_named() {
        assert_eq!(faults(&[package("a", "1.0.0")]), [""; 0]);
        let license = Some("GPL-3.0".to_owned());
        assert_eq!(
            faults(&[Package { license, ..package("a", "1.0.0") }]),
            ["a 1.0.0 is under GPL-3.0, which deny.toml does not allow"]
        );
        assert_eq!(
            faults(&[Package { license: None, ..package("a", "1.0.0") }]),
            ["a 1.0.0 names no licence"]
        );
        let source = Some("git+https://example.org/index".to_owned());
        assert_eq!(
            faults(&[Package { source, ..package("a", "1.0.0") }]),
            ["a 1.0.0 comes from git+https://example.org/index"]
        );
        let knows =
            |name: &str| Package { asks_for: vec![("disk".to_owned(), None)], ..package(name, "1.0.0") };
        assert_eq!(faults(&[knows("top"), knows("log")]), ["log knows disk, which only top may"]);
        let asks_for = vec![("b".to_owned(), Some("*".to_owned()))];
        assert_eq!(
            faults(&[Package { source: None, asks_for, ..package("a", "1.0.0") }]),
            ["a takes any version of b"]
        );
    }

    #[test]
    fn two_versions_of_a_crate_are_a_fault_and_so_is_a_skip_that_is_not_needed() {
        assert_eq!(
            faults(&[package("a", "1.0.0"), package("a", "1.1.0")]),
            ["a is there in 2 versions: 1.0.0, 1.1.0"]
        );
        assert_eq!(faults(&[package("old", "3.0.0")]), ["old is there in 3 versions: 1.5.0, 2.0.0, 3.0.0"]);
        let rules = Rules::parse(&rules()).expect("it is understood");
        assert_eq!(rules.faults(&Crates::default()), ["deny.toml skips old@1, which nothing needs any more"]);
    }

    #[test]
    fn what_is_not_understood_is_not_passed_over() {
        assert_eq!(
            Rules::parse(&(rules() + "\nyanked = 'deny'")).expect_err("a new key"),
            "advisories.yanked is not understood"
        );
        let warns = rules().replace("wildcards = 'deny'", "wildcards = 'warn'");
        assert_eq!(Rules::parse(&warns).expect_err("a value"), "bans.wildcards can only be deny here");
        let silent = rules().replace(", reason = 'so'", "");
        assert!(Rules::parse(&silent).is_err());
        let less = rules().replace("ignore = []", "");
        assert_eq!(Rules::parse(&less).expect_err("a key that is missing"), "advisories.ignore is missing");
    }
}
