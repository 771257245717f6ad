//! Known weaknesses of crates: a checkout of the RustSec database, `crates/NAME/RUSTSEC-*.md`. Each
//! file begins with a block of TOML that says which versions have it.

use std::path::Path;

use semver::{Version, VersionReq};
use toml_edit::DocumentMut;

use super::crates::Crates;

/// One sentence for each advisory that concerns a crate of the graph.
pub(super) fn faults(folder: &Path, crates: &Crates, ignored: &[String]) -> Result<Vec<String>, String> {
    let known = folder.join("crates");
    if !known.is_dir() {
        return Err(format!(
            "{} is no checkout of the RustSec database: it has no folder crates",
            folder.display()
        ));
    }
    let mut faults = Vec::new();
    let mut looked_at = 0;
    for package in crates.0.values().filter(|package| package.source.is_some()) {
        let what = |why: &dyn std::fmt::Display| format!("advisories of {}: {why}", package.name);
        let version = Version::parse(&package.version).map_err(|why| what(&why))?;
        let Ok(files) = std::fs::read_dir(known.join(&package.name)) else { continue };
        for file in files {
            let text =
                std::fs::read_to_string(file.map_err(|why| what(&why))?.path()).map_err(|why| what(&why))?;
            let advisory = Advisory::parse(&text).map_err(|why| what(&why))?;
            looked_at += 1;
            if advisory.concerns(&version) && !ignored.contains(&advisory.id) {
                faults.push(format!("{} {version} has {}: {}", package.name, advisory.id, advisory.title));
            }
        }
    }
    eprintln!("{looked_at} advisories about {} crates were looked at", crates.0.len());
    Ok(faults)
}

#[derive(Debug)]
struct Advisory {
    id: String,
    title: String,
    is_withdrawn: bool,
    /// Versions that do not have it.
    free_of_it: Vec<VersionReq>,
}

impl Advisory {
    fn parse(text: &str) -> Result<Self, String> {
        let block = text.split_once("```toml").and_then(|(_, rest)| rest.split_once("```"));
        let (block, prose) = block.ok_or("there is no block of TOML")?;
        let document: DocumentMut = block.parse().map_err(|why: toml_edit::TomlError| why.to_string())?;
        let advisory = document.get("advisory").ok_or("it has no [advisory]")?;
        let mut free_of_it = Vec::new();
        for key in ["patched", "unaffected"] {
            let Some(versions) = document.get("versions").and_then(|versions| versions.get(key)) else {
                continue;
            };
            for version in versions.as_array().ok_or_else(|| format!("{key} is not a list"))? {
                let version =
                    version.as_str().ok_or_else(|| format!("{key} has something else than texts"))?;
                free_of_it.push(VersionReq::parse(version).map_err(|why| why.to_string())?);
            }
        }
        Ok(Self {
            id: advisory.get("id").and_then(|id| id.as_str()).ok_or("it has no id")?.to_owned(),
            title: prose.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default().to_owned(),
            is_withdrawn: advisory.get("withdrawn").is_some(),
            free_of_it,
        })
    }

    fn concerns(&self, version: &Version) -> bool {
        !self.is_withdrawn && !self.free_of_it.iter().any(|free| free.matches(version))
    }
}

#[cfg(test)]
mod tests {
    use super::super::crates::Package;
    use super::*;

    #[test]
    fn a_version_that_is_neither_patched_nor_older_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("crates/a/RUSTSEC-2020-0001.md");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        let text = "```toml\n[advisory]\nid = \"RUSTSEC-2020-0001\"\npackage = \"a\"\n\n[versions]\n\
                    patched = [\">= 1.2.3, < 2.0.0\", \">= 2.1\"]\nunaffected = [\"< 1.0.0\"]\n```\n\n# It leaks\n\nMore.\n";
        std::fs::write(&file, text).expect("written");
        let found = |version: &str, ignored: &[String]| {
            let package = Package {
                name: "a".to_owned(),
                version: version.to_owned(),
                source: Some("registry".to_owned()),
                ..Package::default()
            };
            let crates = Crates([("a".to_owned(), package)].into());
            faults(folder.path(), &crates, ignored).expect("it is understood")
        };
        assert_eq!(found("1.2.2", &[]), ["a 1.2.2 has RUSTSEC-2020-0001: It leaks"]);
        assert_eq!(found("2.0.5", &[]).len(), 1);
        for good in ["0.9.0", "1.2.3", "2.1.0"] {
            assert_eq!(found(good, &[]), [""; 0], "{good}");
        }
        assert_eq!(found("1.2.2", &["RUSTSEC-2020-0001".to_owned()]), [""; 0]);
        std::fs::write(&file, text.replace("package", "withdrawn = \"2021-01-01\"\npackage"))
            .expect("written");
        assert_eq!(found("1.2.2", &[]), [""; 0]);
        faults(&folder.path().join("crates"), &Crates::default(), &[]).expect_err("no database");
    }
}
