//! Apache Kafka's jars, of any release, from wherever this machine's Maven finds them.
//!
//! What always holds: a class path that has been resolved once is in the cache directory and costs
//! nothing any more; its jars stay in Maven's own repository. The log goes through what Kafka's
//! distribution uses where the release has it: `slf4j` with the simple binding prints to the
//! standard error, which the lab sends to a file.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The jars of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassPath {
    /// Which release.
    pub version: String,
    /// As `java -cp` takes it.
    pub path: String,
}

/// Why a release cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum JarsError {
    /// It is not a version.
    #[error("{0:?} is no version of Apache Kafka; 4.4.0 would be one")]
    NotAVersion(String),
    /// There is nowhere to keep it.
    #[error("{}: {error}", path.display())]
    Cache {
        /// The file that could not be read or written.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Maven is missing.
    #[error("Apache Kafka's jars come by Maven, and `mvn` cannot be started: {0}")]
    NoMaven(io::Error),
    /// Maven has not found it.
    #[error("Maven did not resolve Apache Kafka {version}:\n{said}")]
    Maven {
        /// Which release.
        version: String,
        /// What Maven said.
        said: String,
    },
}

impl ClassPath {
    /// The jars of `version`; resolved by Maven the first time.
    ///
    /// # Errors
    /// When they cannot be had.
    pub fn of(version: &str) -> Result<Self, JarsError> {
        Self::within(&cache_directory(), version)
    }

    fn within(cache: &Path, version: &str) -> Result<Self, JarsError> {
        let folder = cache.join(format!("kafka-{}", checked(version)?));
        let kept = folder.join("class-path");
        if let Ok(path) = std::fs::read_to_string(&kept)
            && path.split(':').all(|jar| Path::new(jar).is_file())
        {
            return Ok(Self { version: version.to_owned(), path });
        }
        let trouble = |error| JarsError::Cache { path: folder.clone(), error };
        std::fs::create_dir_all(&folder).map_err(trouble)?;
        std::fs::write(folder.join("pom.xml"), project(version)).map_err(trouble)?;
        // Two labs at once: each writes a file of its own, and renaming is atomic.
        let fresh = folder.join(format!("class-path.{}", std::process::id()));
        let done = Command::new("mvn")
            .args(["-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"])
            .arg(format!("-Dmdep.outputFile={}", fresh.display()))
            .arg("-f")
            .arg(folder.join("pom.xml"))
            .output()
            .map_err(JarsError::NoMaven)?;
        if !done.status.success() {
            let said = [done.stdout, done.stderr].concat();
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            return Err(JarsError::Maven { version: version.to_owned(), said });
        }
        std::fs::rename(&fresh, &kept).map_err(trouble)?;
        let path = std::fs::read_to_string(&kept).map_err(trouble)?;
        Ok(Self { version: version.to_owned(), path: path.trim().to_owned() })
    }
}

/// Where class paths are kept: `$XDG_CACHE_HOME/aplomb-lab`, or the same under `~/.cache`.
fn cache_directory() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    cache.unwrap_or_else(std::env::temp_dir).join("aplomb-lab")
}

/// A version becomes part of a path and of XML.
fn checked(version: &str) -> Result<&str, JarsError> {
    let fits = version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    if fits { Ok(version) } else { Err(JarsError::NotAVersion(version.to_owned())) }
}

/// A project that has the broker and a log. `kafka-tools-api` is left out: it is not on Maven
/// Central for each release, and no broker needs it.
fn project(version: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>aplomb.lab</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{version}</version>
      <exclusions>
        <exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion>
        <exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId></exclusion>
      </exclusions>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_digits_letters_dots_and_dashes() {
        assert!(checked("4.4.0").is_ok() && checked("4.5.0-rc1").is_ok());
        for version in ["", "../x", "4.4.0<", "latest", "4 4"] {
            assert!(matches!(checked(version), Err(JarsError::NotAVersion(_))), "{version}");
        }
    }

    #[test]
    fn a_class_path_is_kept_as_long_as_its_jars_are_there() {
        let cache = tempfile::tempdir().expect("a folder");
        let folder = cache.path().join("kafka-1.2.3");
        std::fs::create_dir_all(&folder).expect("a folder");
        let jar = folder.join("a.jar");
        std::fs::write(&jar, b"").expect("a file");
        let path = jar.display().to_string();
        std::fs::write(folder.join("class-path"), &path).expect("a file");
        let found = ClassPath::within(cache.path(), "1.2.3").expect("it is kept");
        assert_eq!(found, ClassPath { version: "1.2.3".to_owned(), path });
    }
}
