//! Reads the message schemas that Apache Kafka's jars carry and writes them down in our own form:
//! facts only, none of their prose.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Value};

use super::schema::{Field, Message, Shared, Type, Versions};
use super::text;

/// The jars that carry schemas, without their version.
const JARS: [&str; 7] = [
    "kafka-clients",
    "kafka-metadata",
    "kafka-group-coordinator",
    "kafka-transaction-coordinator",
    "kafka-share-coordinator",
    REMOTE_LOG_JAR,
    "kafka-raft",
];

/// The jar whose `metadata` records are not those of the metadata log: they go to
/// `__remote_log_metadata` and are numbered on their own, so here they are of kind
/// `remote-metadata`.
const REMOTE_LOG_JAR: &str = "kafka-storage";

/// The release whose schemas are imported.
const RELEASE: &str = "4.4.0";

/// Writes one schema file per message of the jars in `jars` into `schema`, replacing those that are
/// there. Returns how many.
pub(crate) fn import(jars: &Path, schema: &Path) -> Result<usize, String> {
    let mut messages = Vec::new();
    for jar in JARS {
        let first = messages.len();
        read_jar(&jars.join(format!("{jar}-{RELEASE}.jar")), &mut messages)?;
        for message in
            messages[first..].iter_mut().filter(|one| jar == REMOTE_LOG_JAR && one.kind == "metadata")
        {
            message.kind = "remote-metadata".to_owned();
        }
    }
    messages.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(twice) = messages.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(format!("two schemas are called {}", twice[0].name));
    }
    for old in super::schema_files(schema)? {
        fs::remove_file(&old).map_err(|why| format!("{}: {why}", old.display()))?;
    }
    for message in &messages {
        super::write(&schema.join(format!("{}.schema", message.name)), &text::print(message))?;
    }
    Ok(messages.len())
}

fn read_jar(path: &Path, messages: &mut Vec<Message>) -> Result<(), String> {
    let named = |why: String| format!("{}: {why}", path.display());
    let file = fs::File::open(path).map_err(|why| named(why.to_string()))?;
    let mut jar = zip::ZipArchive::new(file).map_err(|why| named(why.to_string()))?;
    for index in 0..jar.len() {
        let mut entry = jar.by_index(index).map_err(|why| named(why.to_string()))?;
        let name = entry.name().to_owned();
        let in_place =
            ["common/message/", "common/metadata/", "message/"].iter().any(|dir| name.starts_with(dir));
        if !in_place || !name.ends_with(".json") {
            continue;
        }
        let mut json = String::new();
        entry.read_to_string(&mut json).map_err(|why| named(format!("{name}: {why}")))?;
        messages.push(parse_json(&json).map_err(|why| named(format!("{name}: {why}")))?);
    }
    Ok(())
}

fn parse_json(json: &str) -> Result<Message, String> {
    let bare: String = json
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let value: Value = serde_json::from_str(&bare).map_err(|why| why.to_string())?;
    let object = value.as_object().ok_or("not an object")?;
    let key = match object.get("apiKey") {
        None => None,
        Some(key) => {
            Some(key.as_i64().and_then(|key| i16::try_from(key).ok()).ok_or("apiKey is not an int16")?)
        }
    };
    let listeners = match object.get("listeners") {
        None => Vec::new(),
        Some(listeners) => {
            list(listeners)?.iter().map(|one| scalar(one).ok_or("odd listener")).collect::<Result<_, _>>()?
        }
    };
    let shared = match object.get("commonStructs") {
        None => Vec::new(),
        Some(structs) => list(structs)?.iter().map(parse_shared).collect::<Result<_, _>>()?,
    };
    Ok(Message {
        kind: required(object, "type")?,
        name: required(object, "name")?,
        key,
        versions: Versions::parse(&required(object, "validVersions")?)?,
        flexible: versions(object, "flexibleVersions")?.unwrap_or(Versions::NONE),
        unstable: flag(object, "latestVersionUnstable"),
        listeners,
        fields: parse_fields(object)?,
        shared,
    })
}

fn parse_shared(value: &Value) -> Result<Shared, String> {
    let object = value.as_object().ok_or("a common struct is not an object")?;
    Ok(Shared {
        name: required(object, "name")?,
        versions: Versions::parse(&required(object, "versions")?)?,
        fields: parse_fields(object)?,
    })
}

fn parse_fields(object: &Map<String, Value>) -> Result<Vec<Field>, String> {
    let Some(fields) = object.get("fields") else { return Ok(Vec::new()) };
    list(fields)?.iter().map(parse_field).collect()
}

fn parse_field(value: &Value) -> Result<Field, String> {
    let object = value.as_object().ok_or("a field is not an object")?;
    let name = required(object, "name")?;
    let tagged = versions(object, "taggedVersions")?;
    let tag = match object.get("tag") {
        None => None,
        Some(tag) => {
            let tag = tag.as_u64().and_then(|tag| u32::try_from(tag).ok()).ok_or("a tag is not a number")?;
            Some((tag, tagged.ok_or_else(|| format!("{name} has a tag and no tagged versions"))?))
        }
    };
    // A field that gives no versions is present where it is tagged.
    let versions_of_field =
        versions(object, "versions")?.or(tagged).ok_or_else(|| format!("{name} has no versions"))?;
    Ok(Field {
        ty: Type::parse(&required(object, "type")?)?,
        versions: versions_of_field,
        nullable: versions(object, "nullableVersions")?.unwrap_or(Versions::NONE),
        tag,
        default: object.get("default").and_then(scalar),
        ignorable: flag(object, "ignorable"),
        map_key: flag(object, "mapKey"),
        entity: object.get("entityType").and_then(scalar),
        flexible: versions(object, "flexibleVersions")?,
        fields: parse_fields(object)?,
        name,
    })
}

fn list(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| format!("{value} is not a list"))
}

fn required(object: &Map<String, Value>, key: &str) -> Result<String, String> {
    object.get(key).and_then(scalar).ok_or_else(|| format!("{key} is missing"))
}

fn versions(object: &Map<String, Value>, key: &str) -> Result<Option<Versions>, String> {
    object.get(key).and_then(scalar).map(|text| Versions::parse(&text)).transpose()
}

fn flag(object: &Map<String, Value>, key: &str) -> bool {
    object.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A string, number or boolean as text. JSON's null is no value: Kafka's generator takes it for an
/// absent default.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_prose_are_left_behind() {
        let json = r#"
            // A licence.
            { "type": "data", "name": "Frob", "validVersions": "0-1", "flexibleVersions": "none",
              // Version 1 adds B.
              "fields": [
                { "name": "A", "type": "[]Part", "versions": "0+", "about": "Prose.", "fields": [
                  { "name": "Id", "type": "int8", "versions": "0+", "default": -1, "mapKey": true } ]},
                { "name": "B", "type": "string", "taggedVersions": "1+", "tag": 0, "default": null } ] }"#;
        let expected = "data Frob versions 0-1 flexible none\n  A []Part 0+\n    Id int8 0+ default -1 mapkey\n  B string 1+ tag 0 1+\n";
        assert_eq!(text::print(&parse_json(json).unwrap()), expected);
    }
}
