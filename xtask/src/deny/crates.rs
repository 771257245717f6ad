//! The crates that the workspace is built of, as cargo resolved them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// All crates of all targets, by cargo's id.
#[derive(Debug, Default)]
pub(super) struct Crates(pub(super) BTreeMap<String, Package>);

#[derive(Clone, Debug, Default)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// As its manifest has it: an SPDX expression.
    pub(super) license: Option<String>,
    /// None for crates of the workspace.
    pub(super) source: Option<String>,
    /// What its manifest asks for, by name and requirement; crates in folders have no requirement.
    pub(super) asks_for: Vec<(String, Option<String>)>,
}

impl Crates {
    pub(super) fn read(root: &Path, targets: &[String]) -> Result<Self, String> {
        let mut crates = Self::default();
        for target in targets {
            let output = Command::new(env!("CARGO"))
                .args(["metadata", "--format-version=1", "--locked", "--filter-platform", target])
                .current_dir(root)
                .output()
                .map_err(|error| format!("cargo metadata cannot be run: {error}"))?;
            if !output.status.success() {
                return Err(format!(
                    "cargo metadata failed: {}",
                    String::from_utf8_lossy(&output.stderr).trim()
                ));
            }
            let metadata = serde_json::from_slice(&output.stdout)
                .map_err(|error| format!("cargo metadata is not understood: {error}"))?;
            crates.add(&metadata).ok_or("cargo metadata is not as expected")?;
        }
        Ok(crates)
    }

    /// Adds what one target is built of.
    pub(super) fn add(&mut self, metadata: &Value) -> Option<()> {
        let nodes = metadata["resolve"]["nodes"].as_array()?;
        let is_used = |id: &str| nodes.iter().any(|node| node["id"] == id);
        for package in metadata["packages"].as_array()? {
            let id = package["id"].as_str()?;
            if is_used(id) {
                self.0.insert(id.to_owned(), Package::of(package)?);
            }
        }
        Some(())
    }
}

impl Package {
    fn of(package: &Value) -> Option<Self> {
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        let asks_for = package["dependencies"].as_array()?.iter().map(|dependency| {
            let requirement = dependency["path"].is_null().then(|| dependency["req"].as_str());
            Some((dependency["name"].as_str()?.to_owned(), requirement.flatten().map(str::to_owned)))
        });
        Some(Self {
            name: text("name")?,
            version: text("version")?,
            license: text("license"),
            source: text("source"),
            asks_for: asks_for.collect::<Option<_>>()?,
        })
    }
}
