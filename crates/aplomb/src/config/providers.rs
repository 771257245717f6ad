//! What settings refer to: `${file:/etc/x.properties:key}`, `${dir:/run/secrets:name}`,
//! `${env:NAME}`, by providers that `config.providers` names (Apache Kafka's three).
//!
//! What always holds: references are followed once, at start, in what the machine's own
//! administrator wrote. One in a value that came over the network is text (CVE-2024-31141).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use aplomb_broker::config::{Properties, Warning};
use aplomb_log::state_files::PropertiesText;
use regex::Regex;

use super::references::{Origins, split};

const NAMES: &str = "config.providers";
const PACKAGE: &str = "org.apache.kafka.common.config.provider.";

/// A provider that cannot be had, or a reference that cannot be followed. No sentence has a value
/// in it that a provider gave.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProviderError {
    #[error(
        "config.providers.{name}.class={class} cannot be used: accepted is {PACKAGE}FileConfigProvider, DirectoryConfigProvider or EnvVarConfigProvider of the same package: Java classes cannot be loaded here"
    )]
    Class { name: String, class: String },
    #[error("{key}: this provider has no such parameter; it has {known}")]
    Parameter { key: String, known: &'static str },
    #[error(
        "{key}={path} cannot be used: accepted are paths that begin with / and are there, separated by commas without blanks"
    )]
    AllowedPath { key: String, path: String },
    #[error("{key}={pattern} cannot be used: it is no regular expression that is understood here")]
    Pattern { key: String, pattern: String },
    #[error("{setting}={reference}: {path} cannot be read: {source}")]
    Unreadable { setting: String, reference: String, path: String, source: std::io::Error },
    #[error("{setting}={reference}: {path} is not in UTF-8")]
    NotUtf8 { setting: String, reference: String, path: String },
    #[error("{setting}={reference}: {path} is no properties file: malformed \\uxxxx escape in line {line}")]
    Malformed { setting: String, reference: String, path: String, line: usize },
    #[error("{setting}={reference}: the environment has no paths; it is written ${{{provider}:NAME}}")]
    PathOfEnvironment { setting: String, reference: String, provider: String },
}

/// Settings whose references have been followed.
#[derive(Debug)]
pub(super) struct Followed {
    /// Names and values.
    pub(super) properties: Properties,
    /// What is worth saying about references that stay what they are.
    pub(super) warnings: Vec<Warning>,
    /// Where values come from.
    pub(super) origins: Origins,
}

/// Follows all references in some settings.
pub(super) fn follow(
    written: Properties,
    environment: &[(OsString, OsString)],
) -> Result<Followed, ProviderError> {
    let mut warnings = Vec::new();
    let providers = providers(&written, environment, &mut warnings)?;
    let mut origins = Origins::default();
    let mut properties = Properties::new();
    for (setting, value) in written {
        let (references, rest) = split(&value);
        let (mut text, mut is_changed) = (String::new(), false);
        for (before, one) in references {
            text.push_str(before);
            let Some(provider) = providers.get(one.provider) else {
                text.push_str(one.text);
                continue;
            };
            let place = ReferencePlace { setting: &setting, reference: one.text };
            match provider.get(&place, one.provider, one.path, one.key)? {
                Ok(found) => {
                    text.push_str(&found);
                    origins.note(&found, one.text);
                    is_changed = true;
                }
                Err(why) => {
                    text.push_str(one.text);
                    let why = format!("{setting}: {} stays as it is written: {why}", one.text);
                    warnings.push(Warning { name: setting.clone(), text: why });
                }
            }
        }
        text.push_str(rest);
        if is_changed {
            origins.note(&text, &value);
        }
        properties.insert(setting, text);
    }
    Ok(Followed { properties, warnings, origins })
}

/// The providers that settings name.
fn providers(
    written: &Properties,
    environment: &[(OsString, OsString)],
    warnings: &mut Vec<Warning>,
) -> Result<BTreeMap<String, Provider>, ProviderError> {
    let names = written.get(NAMES).map(String::as_str).unwrap_or_default();
    let mut providers = BTreeMap::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let key = format!("{NAMES}.{name}.class");
        let Some(class) = written.get(&key) else {
            let text = format!("{NAMES}: {name} does nothing: {key} is not set");
            warnings.push(Warning { name: NAMES.to_owned(), text });
            continue;
        };
        providers.insert(name.to_owned(), Provider::new(name, class.trim(), written, environment)?);
    }
    Ok(providers)
}

/// Where a reference stands.
struct ReferencePlace<'a> {
    setting: &'a str,
    reference: &'a str,
}

/// What gives values. Each knows what it may give.
enum Provider {
    /// Properties files; the paths that they may be under, if not all may be read.
    File(Option<Vec<PathBuf>>),
    /// Directories with a file for each value.
    Directory(Option<Vec<PathBuf>>),
    /// The variables that may be seen.
    Environment(BTreeMap<String, String>),
}

impl Provider {
    fn new(
        name: &str,
        class: &str,
        written: &Properties,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, ProviderError> {
        let parameter = |wanted: &'static str| {
            let prefix = format!("{NAMES}.{name}.param.");
            let mut all = written.keys().filter(|key| key.starts_with(&prefix));
            // A slip in one of these would allow everything.
            if let Some(unknown) = all.find(|key| key[prefix.len()..] != *wanted) {
                return Err(ProviderError::Parameter { key: unknown.clone(), known: wanted });
            }
            let key = format!("{prefix}{wanted}");
            Ok((written.get(&key).map(String::as_str), key))
        };
        match class.strip_prefix(PACKAGE) {
            Some("FileConfigProvider") => Ok(Self::File(allowed_paths(parameter("allowed.paths")?)?)),
            Some("DirectoryConfigProvider") => {
                Ok(Self::Directory(allowed_paths(parameter("allowed.paths")?)?))
            }
            Some("EnvVarConfigProvider") => {
                let (pattern, key) = parameter("allowlist.pattern")?;
                let pattern = pattern.unwrap_or(".*");
                let Ok(allowed) = Regex::new(&format!("^(?:{pattern})$")) else {
                    return Err(ProviderError::Pattern { key, pattern: pattern.to_owned() });
                };
                let text = |(name, value): &(OsString, OsString)| {
                    Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
                };
                let all = environment.iter().filter_map(text);
                Ok(Self::Environment(all.filter(|(name, _)| allowed.is_match(name)).collect()))
            }
            _ => Err(ProviderError::Class { name: name.to_owned(), class: class.to_owned() }),
        }
    }

    /// The value, or why there is none.
    fn get(
        &self,
        place: &ReferencePlace<'_>,
        name: &str,
        path: &str,
        key: &str,
    ) -> Result<Result<String, &'static str>, ProviderError> {
        let allowed = match self {
            Self::Environment(_) if !path.is_empty() => {
                return Err(ProviderError::PathOfEnvironment {
                    setting: place.setting.to_owned(),
                    reference: place.reference.to_owned(),
                    provider: name.to_owned(),
                });
            }
            Self::Environment(variables) => {
                return Ok(variables
                    .get(key)
                    .cloned()
                    .ok_or("there is no such variable, or it may not be seen"));
            }
            _ if path.is_empty() => return Ok(Err("it has no path")),
            Self::File(allowed) | Self::Directory(allowed) => allowed.as_deref(),
        };
        let Some(at) = allowed_path(allowed, path) else {
            return Ok(Err("its path is not one of those that are allowed"));
        };
        if matches!(self, Self::File(_)) {
            let text = place.read(&at)?;
            let file =
                PropertiesText::parse(&as_latin_1(&text)).map_err(|error| ProviderError::Malformed {
                    setting: place.setting.to_owned(),
                    reference: place.reference.to_owned(),
                    path: path.to_owned(),
                    line: error.line,
                })?;
            return Ok(file.get(key).map(str::to_owned).ok_or("the file has no such key"));
        }
        if !at.is_dir() {
            return Ok(Err("its path is no directory"));
        }
        let is_a_name =
            matches!(Path::new(key).components().next(), Some(Component::Normal(first)) if first == key);
        let file = at.join(key);
        if !is_a_name || !file.is_file() {
            return Ok(Err("the directory has no such file"));
        }
        place.read(&file).map(Ok)
    }
}

impl ReferencePlace<'_> {
    fn read(&self, path: &Path) -> Result<String, ProviderError> {
        let shown = || path.display().to_string();
        let (setting, reference) = (self.setting.to_owned(), self.reference.to_owned());
        match std::fs::read(path) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| ProviderError::NotUtf8 {
                setting,
                reference,
                path: shown(),
            }),
            Err(source) => Err(ProviderError::Unreadable { setting, reference, path: shown(), source }),
        }
    }
}

/// What `allowed.paths` says, each path that is there.
fn allowed_paths((text, key): (Option<&str>, String)) -> Result<Option<Vec<PathBuf>>, ProviderError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let path = |path: &str| {
        let whole = normal(Path::new(path));
        if whole.is_absolute() && whole.exists() {
            Ok(whole)
        } else {
            Err(ProviderError::AllowedPath { key: key.clone(), path: path.to_owned() })
        }
    };
    text.split(',').map(path).collect::<Result<_, _>>().map(Some)
}

/// The path itself, if it is one of those that may be read, or below one.
fn allowed_path(allowed: Option<&[PathBuf]>, path: &str) -> Option<PathBuf> {
    let Some(allowed) = allowed else { return Some(PathBuf::from(path)) };
    let whole = normal(Path::new(path));
    allowed.iter().any(|under| whole.starts_with(under)).then_some(whole)
}

/// A path without `.` and `..`, by its words alone (`java.nio.file.Path#normalize`).
fn normal(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match (part, whole.components().next_back()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                whole.pop();
            }
            (part, _) => whole.push(part),
        }
    }
    whole
}

/// A text for [`PropertiesText`], which takes bytes for characters: those that are not ASCII as
/// escapes. An escaped one loses its backslash, which says nothing before it.
fn as_latin_1(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut is_escaped = false;
    for c in text.chars() {
        if c.is_ascii() {
            bytes.push(c as u8);
            is_escaped = c == '\\' && !is_escaped;
            continue;
        }
        if is_escaped {
            bytes.pop();
        }
        is_escaped = false;
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            bytes.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and values, and what is said about them.
    type Read = (Vec<(String, String)>, Vec<String>);

    /// A directory with a properties file and two secrets, and settings that name it `DIR`.
    fn followed(pairs: &[(&str, &str)]) -> Result<Read, String> {
        let place = tempfile::tempdir().expect("a directory");
        let dir = place.path().display().to_string();
        let file = "key = one \nü=zwei\\ü\nescaped=\\u00e9\nnested=${env:A}\n";
        std::fs::write(place.path().join("s.properties"), file).expect("a file");
        std::fs::write(place.path().join("secret"), "three\n").expect("a file");
        std::fs::create_dir(place.path().join("sub")).expect("a directory");
        let of = |class: &str| format!("{PACKAGE}{class}");
        let mut written: Properties = [
            ("config.providers", "file,dir, env,ghost".to_owned()),
            ("config.providers.file.class", of("FileConfigProvider")),
            ("config.providers.dir.class", of("DirectoryConfigProvider")),
            ("config.providers.env.class", of("EnvVarConfigProvider")),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        written.extend(pairs.iter().map(|(key, value)| ((*key).to_owned(), value.replace("DIR", &dir))));
        let environment = [("A", "env-a"), ("B", "env-b")].map(|(name, value)| (name.into(), value.into()));
        let without_dir = |text: String| text.replace(&dir, "DIR");
        let followed = follow(written, &environment).map_err(|error| without_dir(error.to_string()))?;
        let values = followed.properties.into_iter().filter(|(key, _)| !key.starts_with(NAMES));
        let warnings = followed.warnings.into_iter().map(|warning| without_dir(warning.text));
        Ok((values.map(|(key, value)| (key, without_dir(value))).collect(), warnings.collect()))
    }

    fn value(text: &str) -> String {
        followed(&[("v", text)]).expect("followed").0.remove(0).1
    }

    fn error(pairs: &[(&str, &str)]) -> String {
        followed(pairs).expect_err("refused")
    }

    #[test]
    fn values_come_from_files_directories_and_the_environment() {
        assert_eq!(
            value("<${file:DIR/s.properties:key}|${dir:DIR:secret}|${env:A}>"),
            "<one |three\n|env-a>"
        );
        assert_eq!(value("${file:DIR/s.properties:ü}${file:DIR/s.properties:escaped}"), "zweiüé");
        assert_eq!(value("$${env:A}"), "$env-a");
        assert_eq!(value("${file:DIR/s.properties:nested}"), "${env:A}", "once");
        assert_eq!(value("${other:x}${x}${env:"), "${other:x}${x}${env:", "not ours");
    }

    #[test]
    fn what_is_not_there_stays_and_is_said() {
        for text in [
            "${file:DIR/s.properties:none}",
            "${file:none}",
            "${dir:DIR:sub}",
            "${dir:DIR:sub/../secret}",
            "${dir:DIR:..}",
            "${dir:DIR/secret:x}",
            "${env:C}",
        ] {
            let (values, warnings) = followed(&[("v", text)]).expect("followed");
            assert_eq!(values[0].1, text);
            assert_eq!(
                warnings[0],
                "config.providers: ghost does nothing: config.providers.ghost.class is not set"
            );
            assert!(warnings[1].starts_with(&format!("v: {text} stays as it is written: ")), "{warnings:?}");
        }
    }

    #[test]
    fn only_what_is_allowed_is_read() {
        let file = "config.providers.file.param.allowed.paths";
        let read = |allowed: &str, path: &str| {
            let reference = format!("${{file:{path}:key}}");
            followed(&[(file, allowed), ("v", &reference)]).expect("followed").0.remove(0).1
        };
        assert_eq!(read("DIR", "DIR/./s.properties"), "one ");
        assert_eq!(read("DIR/sub,DIR/s.properties", "DIR/sub/../s.properties"), "one ");
        assert_eq!(read("DIR/sub", "DIR/sub/../s.properties"), "${file:DIR/sub/../s.properties:key}");
        assert_eq!(read("DIR/sub", "DIR/sub.x"), "${file:DIR/sub.x:key}", "whole names count");
    }

    #[test]
    fn a_path_that_is_allowed_is_there() {
        let of = |key: &str, paths: &str| {
            error(&[(&format!("config.providers.{key}.param.allowed.paths"), paths)])
        };
        assert!(of("file", "DIR, DIR").starts_with("config.providers.file.param.allowed.paths= DIR cannot"));
        assert!(of("dir", "/no/such/path").contains("=/no/such/path cannot be used"));
        assert!(of("dir", "relative").contains("=relative cannot be used"));
    }

    #[test]
    fn variables_are_those_whose_whole_name_fits() {
        let pattern = "config.providers.env.param.allowlist.pattern";
        let read = |allowed| followed(&[(pattern, allowed), ("v", "${env:A}${env:B}")]).expect("followed");
        assert_eq!(read("A|BC").0[0].1, "env-a${env:B}");
        assert_eq!(
            error(&[(pattern, "(?=A)")]).split(' ').next(),
            Some("config.providers.env.param.allowlist.pattern=(?=A)")
        );
        assert!(error(&[("v", "${env:/x:A}")]).starts_with("v=${env:/x:A}: the environment has no paths"));
    }

    #[test]
    fn other_classes_and_slips_are_refused() {
        let class = error(&[("config.providers.ghost.class", "com.example.Vault")]);
        assert!(
            class.starts_with("config.providers.ghost.class=com.example.Vault cannot be used"),
            "{class}"
        );
        let slip = error(&[("config.providers.file.param.alowed.paths", "/x")]);
        assert_eq!(
            slip,
            "config.providers.file.param.alowed.paths: this provider has no such parameter; it has allowed.paths"
        );
        let gone = error(&[("v", "${file:DIR/none:key}")]);
        assert!(gone.starts_with("v=${file:DIR/none:key}: DIR/none cannot be read: "), "{gone}");
    }
}
