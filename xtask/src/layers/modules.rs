//! The modules of a crate as its files declare them, and what each of their items mentions. Tests
//! are left out: `#[cfg(test)]` code may look anywhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// The modules of one crate; the first is its root.
#[derive(Debug, Default)]
pub(super) struct Modules(pub(super) Vec<Module>);

/// A file, or a block `mod name { ... }` in one.
#[derive(Debug)]
pub(super) struct Module {
    /// Its names from the root of the crate on.
    pub(super) path: Vec<String>,
    pub(super) file: PathBuf,
    pub(super) parent: Option<usize>,
    /// What the first word of a path can be in here.
    pub(super) names: BTreeMap<String, Name>,
    /// `use path::*`.
    pub(super) globs: Vec<Mention>,
    /// All other `use`, unless they only hand on what they name.
    pub(super) imports: Vec<Mention>,
    pub(super) mentions: Vec<Mention>,
    /// Inherent methods: of which type, and its name.
    pub(super) methods: Vec<(Vec<String>, String)>,
    pub(super) calls: Vec<SelfCall>,
}

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Name {
    Module(usize),
    Item,
    Import(Vec<String>),
}

/// A path that an item, its owner, writes.
#[derive(Clone, Debug)]
pub(super) struct Mention {
    /// The name of the item; a type owns its `impl` blocks.
    pub(super) owner: String,
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// `self.method()` or `Self::method()` in an `impl` block.
#[derive(Debug)]
pub(super) struct SelfCall {
    /// The type, as the `impl` block names it.
    pub(super) of: Vec<String>,
    pub(super) method: String,
    pub(super) line: usize,
}

impl Modules {
    /// Reads a crate from its root file on.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let mut modules = Self::default();
        modules.read_file(root, Vec::new(), None, true)?;
        Ok(modules)
    }

    /// For tests: a crate whose root is this text.
    #[cfg(test)]
    pub(super) fn of_text(text: &str) -> Self {
        let mut modules = Self::default();
        let items = syn::parse_file(text).expect("the text is Rust").items;
        let at = modules.begin(Path::new("lib.rs"), Vec::new(), None);
        modules.read_items(at, &items, Path::new("")).expect("there are no other files");
        modules
    }

    fn read_file(
        &mut self,
        file: &Path,
        path: Vec<String>,
        parent: Option<usize>,
        is_root: bool,
    ) -> Result<usize, String> {
        let what = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
        let text = std::fs::read_to_string(file).map_err(|why| what(&why))?;
        let parsed = syn::parse_file(&text).map_err(|why| what(&why))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let stem = file.file_stem().unwrap_or_default();
        let children = if is_root || stem == "mod" { folder.to_owned() } else { folder.join(stem) };
        let at = self.begin(file, path, parent);
        self.read_items(at, &parsed.items, &children)?;
        Ok(at)
    }

    fn begin(&mut self, file: &Path, path: Vec<String>, parent: Option<usize>) -> usize {
        self.0.push(Module {
            path,
            file: file.to_owned(),
            parent,
            names: BTreeMap::new(),
            globs: Vec::new(),
            imports: Vec::new(),
            mentions: Vec::new(),
            methods: Vec::new(),
            calls: Vec::new(),
        });
        self.0.len() - 1
    }

    fn read_items(&mut self, at: usize, items: &[syn::Item], folder: &Path) -> Result<(), String> {
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                syn::Item::Mod(module) => self.read_module(at, module, folder)?,
                syn::Item::Use(import) => self.read_use(at, import),
                other => self.read_item(at, other),
            }
        }
        Ok(())
    }

    fn read_module(&mut self, at: usize, module: &syn::ItemMod, folder: &Path) -> Result<(), String> {
        let name = module.ident.to_string();
        if module.attrs.iter().any(|attribute| attribute.path().is_ident("path")) {
            let file = self.0[at].file.display();
            return Err(format!("{file}: mod {name} has a #[path], which layers does not follow"));
        }
        let mut path = self.0[at].path.clone();
        path.push(name.clone());
        let child = if let Some((_, items)) = &module.content {
            let file = self.0[at].file.clone();
            let child = self.begin(&file, path, Some(at));
            self.read_items(child, items, &folder.join(&name))?;
            child
        } else {
            let file = folder.join(format!("{name}.rs"));
            let file = if file.exists() { file } else { folder.join(&name).join("mod.rs") };
            self.read_file(&file, path, Some(at), false)?
        };
        self.0[at].names.insert(name, Name::Module(child));
        Ok(())
    }

    fn read_use(&mut self, at: usize, import: &syn::ItemUse) {
        let hands_on = !matches!(import.vis, syn::Visibility::Inherited);
        let module = &mut self.0[at];
        for leaf in leaves(&import.tree) {
            let mention = Mention { owner: String::new(), path: leaf.path.clone(), line: leaf.line };
            let Some(name) = leaf.name else {
                module.globs.push(mention);
                continue;
            };
            if !hands_on {
                module.imports.push(mention);
            }
            if name != "_" {
                module.names.entry(name).or_insert(Name::Import(leaf.path));
            }
        }
    }

    fn read_item(&mut self, at: usize, item: &syn::Item) {
        let module = &mut self.0[at];
        let of = match item {
            syn::Item::Impl(block) => type_path(&block.self_ty),
            _ => None,
        };
        if let (syn::Item::Impl(block), Some(of)) = (item, &of)
            && block.trait_.is_none()
        {
            let functions = block.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(function) => Some(function.sig.ident.to_string()),
                _ => None,
            });
            module.methods.extend(functions.map(|method| (of.clone(), method)));
        }
        let owner = match (&of, item_name(item)) {
            (Some(of), _) => of.last().cloned().unwrap_or_default(),
            (None, Some(name)) => {
                module.names.insert(name.clone(), Name::Item);
                name
            }
            (None, None) => String::new(),
        };
        let mut reader = Reader { owner, of, mentions: Vec::new(), calls: Vec::new() };
        reader.visit_item(item);
        module.mentions.append(&mut reader.mentions);
        module.calls.append(&mut reader.calls);
    }
}

/// Collects what one item mentions.
struct Reader {
    owner: String,
    of: Option<Vec<String>>,
    mentions: Vec<Mention>,
    calls: Vec<SelfCall>,
}

impl Reader {
    fn mention(&mut self, path: Vec<String>, line: usize) {
        match (path.as_slice(), &self.of) {
            ([first, method, ..], Some(of)) if first == "Self" => {
                self.calls.push(SelfCall { of: of.clone(), method: method.clone(), line });
            }
            _ => self.mentions.push(Mention { owner: self.owner.clone(), path, line }),
        }
    }

    /// Paths in the arguments of a macro, which need not be Rust.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(ident) if ident == "pub" => {
                    tokens.next_if(|next| matches!(next, TokenTree::Group(_)));
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    if colons != 2 && !path.is_empty() {
                        self.mention(std::mem::take(&mut path), line);
                    }
                    line = ident.span().start().line;
                    path.push(ident.to_string());
                    colons = 0;
                }
                other => {
                    if !path.is_empty() {
                        self.mention(std::mem::take(&mut path), line);
                    }
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        if !path.is_empty() {
            self.mention(path, line);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(first) = path.segments.first() {
            self.mention(words, first.ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        for leaf in leaves(&import.tree) {
            self.mention(leaf.path, leaf.line);
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let (syn::Expr::Path(receiver), Some(of)) = (&*call.receiver, &self.of)
            && receiver.path.is_ident("self")
        {
            let line = call.method.span().start().line;
            self.calls.push(SelfCall { of: of.clone(), method: call.method.to_string(), line });
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// One name that a `use` brings in.
struct Leaf {
    path: Vec<String>,
    /// None for `use path::*`.
    name: Option<String>,
    line: usize,
}

fn leaves(tree: &syn::UseTree) -> Vec<Leaf> {
    fn walk(tree: &syn::UseTree, above: &[String], found: &mut Vec<Leaf>) {
        let mut add = |ident: &proc_macro2::Ident, name: String| {
            let mut path = above.to_vec();
            if ident != "self" || path.is_empty() {
                path.push(ident.to_string());
            }
            let name = if name == "self" { path.last().cloned().unwrap_or_default() } else { name };
            found.push(Leaf { path, name: Some(name), line: ident.span().start().line });
        };
        match tree {
            syn::UseTree::Path(path) => {
                let mut above = above.to_vec();
                above.push(path.ident.to_string());
                walk(&path.tree, &above, found);
            }
            syn::UseTree::Name(name) => add(&name.ident, name.ident.to_string()),
            syn::UseTree::Rename(rename) => add(&rename.ident, rename.rename.to_string()),
            syn::UseTree::Glob(glob) => {
                let line = glob.star_token.spans[0].start().line;
                found.push(Leaf { path: above.to_vec(), name: None, line });
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, above, found)),
        }
    }
    let mut found = Vec::new();
    walk(tree, &[], &mut found);
    found
}

fn type_path(of: &syn::Type) -> Option<Vec<String>> {
    match of {
        syn::Type::Path(of) => Some(of.path.segments.iter().map(|part| part.ident.to_string()).collect()),
        syn::Type::Reference(of) => type_path(&of.elem),
        _ => None,
    }
}

fn item_name(item: &syn::Item) -> Option<String> {
    let ident = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::TraitAlias(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::ExternCrate(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::ForeignMod(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::TraitAlias(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether it is compiled for tests only: `cfg(test)`, `cfg(all(test, ...))`.
pub(crate) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("cfg") && {
            let words = list.tokens.to_string();
            let mut words = words.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
            let first = words.next();
            first == Some("test") || (first == Some("all") && words.next() == Some("test"))
        }
    })
}
