//! `cargo xtask settings`: every setting that the configuration understands is read by the broker.
//!
//! The other half of a test in `aplomb-broker/src/config/tests.rs`: that shows that a key which is
//! said to be used changes the field that its row names, this that the field has a reader outside
//! of `config/`. A reader writes `network.max_fetch`, with the name of the part that the field is
//! in, or calls a method of the part that reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use crate::layers::is_for_tests;

const CONFIG: &str = "crates/aplomb-broker/src/config";

/// The structs of settings, and what readers call a value of one.
const PARTS: [(&str, &str); 5] = [
    ("BrokerConfig", "config"),
    ("NetworkConfig", "network"),
    ("StorageConfig", "storage"),
    ("MetadataConfig", "metadata"),
    ("TopicConfig", "topic"),
];

/// Looks for readers in the workspace at `root`.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut settings = Settings::default();
    for file in sources(&root.join(CONFIG))? {
        settings.visit_file(&parse(&file)?);
    }
    let mut readers = Readers::default();
    for folder in folders(&root.join("crates"))? {
        for file in sources(&folder.join("src"))? {
            if !file.starts_with(root.join(CONFIG)) {
                readers.visit_file(&parse(&file)?);
            }
        }
    }
    let faults = faults(&settings, &readers);
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n       ")) }
}

fn faults(settings: &Settings, readers: &Readers) -> Vec<String> {
    let missing = PARTS.iter().filter(|(part, _)| !settings.fields.contains_key(*part));
    let mut faults: Vec<String> = missing.map(|(part, _)| format!("{CONFIG} has no struct {part}")).collect();
    for (part, called) in PARTS {
        for field in settings.fields.get(part).into_iter().flatten() {
            let by_method = settings.methods.iter().any(|(of, method, reads)| {
                of == part && reads.contains(field) && readers.methods.contains(method)
            });
            if !by_method && !readers.fields.contains(&(called.to_owned(), field.clone())) {
                faults.push(format!(
                    "nothing outside of config/ reads {called}.{field}: its keys are used by nobody"
                ));
            }
        }
    }
    faults
}

/// What the configuration has.
#[derive(Default)]
struct Settings {
    fields: BTreeMap<String, Vec<String>>,
    /// Of which part, the name, and which of its fields it reads.
    methods: Vec<(String, String, BTreeSet<String>)>,
}

impl<'ast> Visit<'ast> for Settings {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let name = item.ident.to_string();
        if PARTS.iter().any(|(part, _)| *part == name) {
            let fields = item.fields.iter().filter_map(|field| Some(field.ident.as_ref()?.to_string()));
            self.fields.insert(name, fields.collect());
        }
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        let syn::Type::Path(of) = &*block.self_ty else { return };
        let part = of.path.segments.last().map(|segment| segment.ident.to_string());
        let Some(part) = part.filter(|part| PARTS.iter().any(|(known, _)| known == part)) else { return };
        for item in &block.items {
            let syn::ImplItem::Fn(function) = item else { continue };
            let mut readers = Readers::default();
            readers.visit_impl_item_fn(function);
            let own = readers.fields.into_iter().filter(|(called, _)| called == "self");
            let reads = own.map(|(_, field)| field).collect();
            self.methods.push((part.clone(), function.sig.ident.to_string(), reads));
        }
    }
}

/// What code reads and calls.
#[derive(Default)]
struct Readers {
    /// What the value is called that has the field, and the field.
    fields: BTreeSet<(String, String)>,
    methods: BTreeSet<String>,
    /// Other names: `let own = &self.config.metadata`.
    aliases: BTreeMap<String, String>,
}

impl<'ast> Visit<'ast> for Readers {
    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let (syn::Pat::Ident(name), Some(value)) = (&local.pat, &local.init)
            && let Some(of) = called(&value.expr).filter(|of| PARTS.iter().any(|(_, called)| called == of))
        {
            self.aliases.insert(name.ident.to_string(), of);
        }
        visit::visit_local(self, local);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.aliases.clear();
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.aliases.clear();
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_field(&mut self, read: &'ast syn::ExprField) {
        if let (Some(of), syn::Member::Named(field)) = (called(&read.base), &read.member) {
            let of = self.aliases.get(&of).unwrap_or(&of);
            self.fields.insert((of.clone(), field.to_string()));
        }
        visit::visit_expr_field(self, read);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.methods.insert(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_assign(&mut self, assignment: &'ast syn::ExprAssign) {
        self.visit_expr(&assignment.right); // What is written is not read.
    }
}

/// The last name in an expression: `storage` in `self.config().storage`.
fn called(value: &syn::Expr) -> Option<String> {
    match value {
        syn::Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        syn::Expr::Field(field) => match &field.member {
            syn::Member::Named(name) => Some(name.to_string()),
            syn::Member::Unnamed(_) => None,
        },
        syn::Expr::MethodCall(call) => Some(call.method.to_string()),
        syn::Expr::Paren(inner) => called(&inner.expr),
        syn::Expr::Reference(inner) => called(&inner.expr),
        _ => None,
    }
}

fn parse(file: &Path) -> Result<syn::File, String> {
    let what = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let text = std::fs::read_to_string(file).map_err(|why| what(&why))?;
    syn::parse_file(&text).map_err(|why| what(&why))
}

/// The files of Rust below a folder, without those of tests.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for entry in entries(folder)? {
        let is_for_tests = entry.file_stem().is_some_and(|name| name == "tests");
        if entry.is_dir() && !is_for_tests {
            files.extend(sources(&entry)?);
        } else if entry.extension().is_some_and(|extension| extension == "rs") && !is_for_tests {
            files.push(entry);
        }
    }
    Ok(files)
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, String> {
    Ok(entries(folder)?.into_iter().filter(|entry| entry.is_dir()).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let what = |why: std::io::Error| format!("{}: {why}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(what)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(reader: &str) -> Vec<String> {
        let mut settings = Settings::default();
        let config = "pub struct NetworkConfig { pub backlog: u32, most: u32 }
                      impl NetworkConfig { pub fn shards_on(&self) -> u32 { self.most } }";
        settings.visit_file(&syn::parse_file(config).expect("Rust"));
        for (part, _) in PARTS {
            settings.fields.entry(part.to_owned()).or_default();
        }
        let mut readers = Readers::default();
        readers.visit_file(&syn::parse_file(reader).expect("Rust"));
        faults(&settings, &readers)
    }

    #[test]
    fn a_setting_has_a_reader_by_itself_or_by_a_method() {
        let reads = "fn f(config: &BrokerConfig) { g(config.network.backlog); config.network.shards_on(); }";
        assert_eq!(found(reads), [""; 0]);
        assert_eq!(found("fn f(network: &NetworkConfig) { network.backlog + network.shards_on() }"), [""; 0]);
    }

    #[test]
    fn another_name_counts_in_its_function() {
        let reads = "fn f() { let own = &self.config.network; own.backlog; network.shards_on(); }";
        assert_eq!(found(reads), [""; 0]);
        let elsewhere =
            "fn f() { let own = &self.config.network; network.shards_on(); } fn g() { own.backlog; }";
        assert_eq!(found(elsewhere).len(), 1);
    }

    #[test]
    fn a_setting_that_is_only_written_or_tested_or_anothers_has_none() {
        let no_backlog = "nothing outside of config/ reads network.backlog: its keys are used by nobody";
        for reader in [
            "fn f() { network.shards_on(); }",
            "fn f() { network.backlog = 7; network.shards_on(); }",
            "fn f() { self.limits.backlog; network.shards_on(); }",
            "fn f() { network.shards_on(); } #[cfg(test)] mod tests { fn g() { network.backlog } }",
        ] {
            assert_eq!(found(reader), [no_backlog], "{reader}");
        }
        assert_eq!(found("fn f() { network.backlog; }").len(), 1, "nothing calls shards_on");
    }
}
