//! `cargo xtask codegen`: Kafka's message schemas become `crates/aplomb-protocol/src/generated/`,
//! and the table of API keys, `src/api/key.rs`.
//!
//! - `codegen fetch` has Maven put Apache Kafka's jars into `.work/jars`;
//! - `codegen import --jars DIR` reads the schemas in them into `crates/aplomb-protocol/schema/`,
//!   in our own form;
//! - `codegen` writes the codecs of the messages that `schema/selection` lists;
//! - `codegen --check` only says whether that would change anything.
//!
//! The same schemas always give the same bytes.

mod emit;
mod import;
mod schema;
mod text;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use schema::Message;

/// Runs `cargo xtask codegen ARGS` in the workspace at `root`.
pub(crate) fn run(root: &Path, args: &[&str]) -> Result<(), String> {
    let schema = root.join("crates/aplomb-protocol/schema");
    let src = root.join("crates/aplomb-protocol/src");
    match args {
        [] => generate(root, &schema, &src),
        ["--check"] => check(root, &schema, &src),
        ["fetch"] => fetch(root),
        ["import", "--jars", jars] => {
            let count = import::import(Path::new(jars), &schema)?;
            println!("{count} schemas");
            Ok(())
        }
        _ => Err("usage: cargo xtask codegen [--check | fetch | import --jars DIR]".to_owned()),
    }
}

fn fetch(root: &Path) -> Result<(), String> {
    let status = Command::new("mvn")
        .args(["-q", "-B", "dependency:copy-dependencies"])
        .arg(format!("-DoutputDirectory={}", root.join(".work/jars").display()))
        .current_dir(root.join("tests/oracle"))
        .status()
        .map_err(|why| format!("mvn: {why}"))?;
    if status.success() { Ok(()) } else { Err(format!("mvn: {status}")) }
}

fn generate(root: &Path, schema: &Path, src: &Path) -> Result<(), String> {
    let files = render(root, schema)?;
    let generated = src.join(emit::FOLDER);
    fs::create_dir_all(&generated).map_err(|why| format!("{}: {why}", generated.display()))?;
    for stale in list(&generated)?.iter().filter(|path| !files.iter().any(|file| path.ends_with(&file.name)))
    {
        fs::remove_file(stale).map_err(|why| format!("{}: {why}", stale.display()))?;
    }
    files.iter().try_for_each(|file| write(&src.join(&file.name), &file.text))
}

fn check(root: &Path, schema: &Path, src: &Path) -> Result<(), String> {
    let files = render(root, schema)?;
    let mut differ: Vec<String> = files
        .iter()
        .filter(|file| fs::read_to_string(src.join(&file.name)).ok().as_deref() != Some(file.text.as_str()))
        .map(|file| file.name.clone())
        .collect();
    let stale = list(&src.join(emit::FOLDER))?
        .into_iter()
        .filter(|path| !files.iter().any(|file| path.ends_with(&file.name)));
    differ.extend(stale.map(|path| path.display().to_string()));
    if differ.is_empty() {
        return Ok(());
    }
    Err(format!("not what `cargo xtask codegen` writes: {}", differ.join(", ")))
}

fn render(root: &Path, schema: &Path) -> Result<Vec<emit::File>, String> {
    let all = schema_files(schema)?.iter().map(|path| read_schema(path)).collect::<Result<Vec<_>, _>>()?;
    let selection = read(&schema.join("selection"))?;
    let mut selected = Vec::new();
    for name in selection.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let message = all.iter().find(|message| message.name == name);
        selected.push(message.ok_or_else(|| format!("selection: there is no schema for {name}"))?);
    }
    selected.sort_by_key(|message| &message.name);
    let files = emit::files(&all, &selected)?;
    files.into_iter().map(|file| format(root, file)).collect()
}

fn read_schema(path: &Path) -> Result<Message, String> {
    text::parse(&read(path)?).map_err(|why| format!("{}: {why}", path.display()))
}

/// Passes a file through rustfmt with the workspace's settings.
fn format(root: &Path, file: emit::File) -> Result<emit::File, String> {
    let named = |why: std::io::Error| format!("rustfmt: {why}");
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(named)?;
    let mut stdin = rustfmt.stdin.take().ok_or("rustfmt has no input")?;
    let text = file.text;
    let feeder = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = rustfmt.wait_with_output().map_err(named)?;
    feeder.join().map_err(|_| "rustfmt's feeder panicked")?.map_err(named)?;
    if !output.status.success() {
        return Err(format!("rustfmt does not accept {}", file.name));
    }
    let text = String::from_utf8(output.stdout).map_err(|why| why.to_string())?;
    Ok(emit::File { name: file.name, text })
}

/// The schema files, by name.
fn schema_files(schema: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = list(schema)?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "schema"));
    Ok(files)
}

fn list(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let named = |why: std::io::Error| format!("{}: {why}", dir.display());
    let entries = fs::read_dir(dir).map_err(named)?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(named)?;
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|why| format!("{}: {why}", path.display()))
}
