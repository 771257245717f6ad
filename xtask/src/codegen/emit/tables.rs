//! Writes what spans messages: the API keys, the enums of all requests and responses, the records
//! of the metadata log.

use std::fmt::Write as _;

use crate::codegen::schema::Message;

/// The table of API keys: every API that Kafka has, spoken here or not.
pub(super) fn api_keys(all: &[Message]) -> String {
    let mut requests: Vec<&Message> =
        all.iter().filter(|message| message.kind == "request" && !message.versions.is_empty()).collect();
    requests.sort_by_key(|message| message.key);
    let apis: Vec<(&str, &Message)> =
        requests.iter().map(|message| (message.name.trim_end_matches("Request"), *message)).collect();
    let mut out = String::from(
        "//! The API keys of Apache Kafka 4.4.0 and their versions.\n//!\n\
         //! Written by `cargo xtask codegen` from the requests in `schema/`; not edited by hand.\n\n\
         use super::facts::{Facts, Listeners};\nuse crate::VersionRange;\n\n\
         /// An API by its key. `crate::api` says what can be asked of it.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n#[repr(i16)]\npub enum ApiKey {\n",
    );
    for (name, message) in &apis {
        let key = message.key.unwrap_or_default();
        let _ = writeln!(out, "/// Key {key}, versions {}.\n{name} = {key},", message.versions);
    }
    out.push_str("}\n\nimpl ApiKey {\n/// Every API, by rising key.\npub const ALL: &'static [Self] = &[\n");
    for (name, _) in &apis {
        let _ = writeln!(out, "Self::{name},");
    }
    out.push_str("];\n\n/// The API that has this key; `None` for keys that never had, or no longer have, a version.\n");
    out.push_str("#[must_use]\npub const fn from_i16(key: i16) -> Option<Self> {\nSome(match key {\n");
    for (name, message) in &apis {
        let _ = writeln!(out, "{} => Self::{name},", message.key.unwrap_or_default());
    }
    out.push_str("_ => return None,\n})\n}\n\npub(crate) const fn facts(self) -> Facts {\nmatch self {\n");
    for (name, message) in &apis {
        let flexible = message.flexible.and(message.versions);
        let flexible =
            if flexible.is_empty() { "None".to_owned() } else { format!("Some({})", flexible.min) };
        let has = |listener: &str| message.listeners.iter().any(|one| one == listener);
        let _ = writeln!(
            out,
            "Self::{name} => Facts {{ name: \"{name}\", versions: VersionRange::new({}, {}), flexible_from: {flexible}, \
             unstable: {}, listeners: Listeners {{ broker: {}, controller: {} }} }},",
            message.versions.min,
            message.versions.max,
            message.unstable,
            has("broker"),
            has("controller"),
        );
    }
    out.push_str("}\n}\n}\n");
    out
}

/// The enums that hold any request or any response.
pub(super) fn any(all: &[Message], selected: &[&Message]) -> Result<String, String> {
    let mut out = String::from(
        "//! Any request, any response: for dispatch, for fuzzing, for tools.\n//!\n\
         //! Written by `cargo xtask codegen` from `schema/`; not edited by hand.\n\n\
         use crate::{ApiKey, DecodeError, EncodeError, Message as _, Reader, Writer};\n\n",
    );
    for (kind, suffix) in [("request", "Request"), ("response", "Response")] {
        let mut apis = Vec::new();
        for message in selected.iter().filter(|message| message.kind == kind) {
            let api = message.name.trim_end_matches(suffix);
            let other = format!("{api}{}", if kind == "request" { "Response" } else { "Request" });
            if !selected.iter().any(|message| message.name == other) {
                return Err(format!("{} is selected, {other} is not", message.name));
            }
            apis.push((message.key, api));
        }
        apis.sort_unstable();
        let of_kind = all.iter().filter(|message| message.kind == kind && !message.versions.is_empty());
        any_enum(&mut out, kind, suffix, &apis, of_kind.count());
    }
    Ok(out)
}

fn any_enum(out: &mut String, kind: &str, suffix: &str, apis: &[(Option<i16>, &str)], of_kind: usize) {
    let _ =
        writeln!(out, "/// A {kind} of any API that this build speaks.\n#[derive(Clone, Debug, PartialEq)]");
    let _ = writeln!(out, "pub enum Any{suffix} {{");
    for (_, api) in apis {
        let _ = writeln!(out, "/// `{api}{suffix}`.\n{api}(super::{api}{suffix}),");
    }
    let _ = writeln!(out, "}}\n\nimpl Any{suffix} {{");
    let _ = writeln!(
        out,
        "/// The API it belongs to.\n#[must_use]\npub fn api_key(&self) -> ApiKey {{\nmatch self {{"
    );
    for (_, api) in apis {
        let _ = writeln!(out, "Self::{api}(_) => ApiKey::{api},");
    }
    let _ = writeln!(
        out,
        "}}\n}}\n\n/// Reads the body of a {kind}.\n///\n/// # Errors\n/// [`DecodeError::UnknownApiKey`] when this \
         build does not speak the API, otherwise those of the message.\n\
         pub fn decode(key: ApiKey, r: &mut Reader, v: i16) -> Result<Self, DecodeError> {{\nOk(match key {{"
    );
    for (_, api) in apis {
        let _ = writeln!(out, "ApiKey::{api} => Self::{api}(super::{api}{suffix}::decode(r, v)?),");
    }
    if apis.len() < of_kind {
        out.push_str("other => return Err(DecodeError::UnknownApiKey(other.key())),\n");
    }
    let _ = writeln!(
        out,
        "}})\n}}\n\n/// Writes the body of the {kind}.\n\
         ///\n/// # Errors\n/// Those of the message.\n\
         pub fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {{\nmatch self {{"
    );
    for (_, api) in apis {
        let _ = writeln!(out, "Self::{api}(message) => message.encode(w, v),");
    }
    out.push_str("}\n}\n}\n\n");
}

/// The enum of the metadata log's records.
pub(super) fn metadata_record(selected: &[&Message]) -> String {
    let mut records: Vec<(i16, &str)> = selected
        .iter()
        .filter(|message| message.kind == "metadata")
        .map(|message| (message.key.unwrap_or_default(), message.name.as_str()))
        .collect();
    records.sort_unstable();
    let short = |name: &str| name.trim_end_matches("Record").to_owned();
    let mut out = String::from(
        "//! Any record of the metadata log; `crate::metadata` puts it in its frame.\n//!\n\
         //! Written by `cargo xtask codegen` from `schema/`; not edited by hand.\n\n\
         use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};\n\n\
         /// A record of the metadata log (`__cluster_metadata`).\n#[derive(Clone, Debug, PartialEq)]\n\
         pub enum MetadataRecord {\n",
    );
    for (key, name) in &records {
        let _ = writeln!(out, "/// Type {key}.\n{}(super::{name}),", short(name));
    }
    out.push_str("}\n\nimpl MetadataRecord {\n");
    let methods = [
        ("The record type's number.", "key(&self) -> i16", "Self::VAR(_) => KEY,"),
        ("The record type's name.", "name(&self) -> &'static str", "Self::VAR(_) => super::NAME::NAME,"),
        (
            "The versions in which the record can be written.",
            "versions(&self) -> VersionRange",
            "Self::VAR(_) => super::NAME::VERSIONS,",
        ),
    ];
    for (doc, signature, arm) in methods {
        let _ = writeln!(out, "/// {doc}\n#[must_use]\npub const fn {signature} {{\nmatch self {{");
        for (key, name) in &records {
            let arm = arm.replace("VAR", &short(name)).replace("KEY", &key.to_string());
            let _ = writeln!(out, "{}", arm.replace("super::NAME", &format!("super::{name}")));
        }
        out.push_str("}\n}\n\n");
    }
    out.push_str(
        "pub(crate) fn decode_body(key: u32, r: &mut Reader, v: i16) -> Result<Self, DecodeError> {\nOk(match key {\n",
    );
    for (key, name) in &records {
        let _ = writeln!(out, "{key} => Self::{}(super::{name}::decode(r, v)?),", short(name));
    }
    out.push_str(
        "other => return Err(DecodeError::UnknownRecordType(other)),\n})\n}\n\n\
         pub(crate) fn encode_body(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {\nmatch self {\n",
    );
    for (_, name) in &records {
        let _ = writeln!(out, "Self::{}(record) => record.encode(w, v),", short(name));
    }
    out.push_str("}\n}\n}\n");
    for (_, name) in &records {
        let _ = write!(
            out,
            "\nimpl From<super::{name}> for MetadataRecord {{\nfn from(record: super::{name}) -> Self {{\n\
             Self::{}(record)\n}}\n}}\n",
            short(name)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::text;

    #[test]
    fn a_request_without_its_response_is_refused() {
        let request = text::parse("request FrobRequest key 7 versions 0 flexible none\n").unwrap();
        assert_eq!(any(&[], &[&request]).unwrap_err(), "FrobRequest is selected, FrobResponse is not");
    }
}
