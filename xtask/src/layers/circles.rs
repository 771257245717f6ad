//! Circles of modules inside a crate. The rule:
//!
//! - In each folder, the modules that lie in it side by side may use each other, but not in a
//!   circle. What a module below one of them uses, that one uses; where a name is handed on (`pub
//!   use`), who takes it uses the module that it comes from.
//! - The folder's own file (`mod.rs`, `lib.rs`) stands above: that it declares its modules, hands
//!   on their names and uses them is no circle. But its items are looked at one by one, a type with
//!   its `impl` blocks: a module may use `super::Item` only if that item does not use the module in
//!   turn, itself or by way of others.
//! - Uses are `use` and written paths, also in the arguments of macros, and `self.method()` where
//!   the method lies in an `impl` block of another file. What only a type's inference knows is not
//!   seen. Tests may look anywhere.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::path::Path;

use serde_json::Value;

use super::array;
use super::modules::{Mention, Module, Modules};
use super::names::Target;

/// Modules of one folder that use each other in a circle.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Circle {
    pub(super) package: String,
    /// Empty at the root of the crate.
    pub(super) folder: String,
    /// Modules of the folder, and `super::Item` for items of its own file.
    pub(super) members: BTreeSet<String>,
    /// What makes the shortest way round, a line each.
    pub(super) uses: Vec<String>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { package, folder, members, uses } = self;
        let at = if folder.is_empty() { package.clone() } else { format!("{package}, in {folder}") };
        let members = members.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        write!(f, "{at}: {members} use each other:\n           {}", uses.join("\n           "))
    }
}

/// In a folder: a module, or an item of the folder's own file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Module(String),
    Item(String),
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module(name) => f.write_str(name),
            Self::Item(name) => write!(f, "super::{name}"),
        }
    }
}

/// Who uses whom in one folder, and one place for each.
type Graph = BTreeMap<Node, BTreeMap<Node, String>>;

/// All circles in the crates of the workspace.
pub(super) fn of_workspace(metadata: &Value) -> Result<Vec<Circle>, String> {
    let root = Path::new(metadata["workspace_root"].as_str().ok_or("a workspace without a root")?);
    let mut circles = Vec::new();
    for package in array(metadata, "packages")? {
        let name = package["name"].as_str().ok_or("a package without a name")?;
        for target in array(package, "targets")? {
            let kinds = array(target, "kind")?;
            let path = target["src_path"].as_str().ok_or("a target without a file")?;
            if kinds.iter().any(|kind| kind == "lib" || kind == "bin") {
                let mut modules = Modules::read(Path::new(path))?;
                for module in &mut modules.0 {
                    module.file = module.file.strip_prefix(root).unwrap_or(&module.file).to_owned();
                }
                circles.extend(of_crate(name, &modules));
            }
        }
    }
    Ok(circles)
}

/// All circles in one crate.
pub(super) fn of_crate(package: &str, modules: &Modules) -> Vec<Circle> {
    let mut circles = Vec::new();
    for (folder, graph) in graphs(modules) {
        for members in knots(&graph) {
            circles.push(Circle {
                package: package.to_owned(),
                folder: modules.module(folder).path.join("/"),
                uses: way_round(&graph, &members),
                members: members.iter().map(ToString::to_string).collect(),
            });
        }
    }
    circles
}

/// The graph of each folder.
fn graphs(modules: &Modules) -> BTreeMap<usize, Graph> {
    let mut graphs = BTreeMap::new();
    let methods = methods(modules);
    for (at, module) in modules.0.iter().enumerate() {
        let mut seen = BTreeSet::new();
        for mention in &module.mentions {
            let Some(target) = modules.resolve(at, &mention.path) else { continue };
            // One word alone that is a module's name is a variable.
            if target.item.is_some() || mention.path.len() > 1 {
                draw(&mut graphs, modules, at, mention, &target);
            }
            seen.insert(target);
        }
        let owners: BTreeSet<_> = module.mentions.iter().map(|by| &by.owner).collect();
        for import in module.imports.iter().chain(&module.globs) {
            let Some(target) = modules.resolve(at, &import.path) else { continue };
            if is_below(modules, target.module, at) && seen.contains(&target) {
                continue; // Those items that mention it use it, and no others.
            }
            for owner in &owners {
                let mention = Mention { owner: (*owner).clone(), ..import.clone() };
                draw(&mut graphs, modules, at, &mention, &target);
            }
        }
        for call in &module.calls {
            let Some(of) = modules.resolve(at, &call.of) else { continue };
            let homes = methods.get(&(of, call.method.clone())).into_iter().flatten();
            for home in homes.filter(|home| **home != at) {
                let target = Target { module: *home, item: None };
                let path = vec!["self".to_owned(), format!("{}()", call.method)];
                let owner = call.of.last().cloned().unwrap_or_default();
                draw(&mut graphs, modules, at, &Mention { owner, path, line: call.line }, &target);
            }
        }
    }
    graphs
}

/// Where each inherent method of each type is.
fn methods(modules: &Modules) -> BTreeMap<(Target, String), Vec<usize>> {
    let mut methods: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, module) in modules.0.iter().enumerate() {
        for (of, method) in &module.methods {
            if let Some(of) = modules.resolve(at, of) {
                methods.entry((of, method.clone())).or_default().push(at);
            }
        }
    }
    methods
}

fn is_below(modules: &Modules, module: usize, folder: usize) -> bool {
    modules.line_of(module).contains(&folder)
}

/// Adds one use to the graph of the folder where the two ways from the root part.
fn draw(
    graphs: &mut BTreeMap<usize, Graph>,
    modules: &Modules,
    at: usize,
    mention: &Mention,
    target: &Target,
) {
    let (from, to) = (modules.line_of(at), modules.line_of(target.module));
    let common = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    let folder = from[common - 1];
    let child = |line: &[usize]| {
        let module = modules.module(*line.get(common)?);
        module.path.last().map(|name| Node::Module(name.clone()))
    };
    let user = child(&from).unwrap_or_else(|| Node::Item(mention.owner.clone()));
    let used = match (child(&to), &target.item) {
        (Some(module), _) => vec![module],
        (None, Some(item)) => vec![Node::Item(item.clone())],
        // Everything that the folder's own file has.
        (None, None) if from.len() > common => {
            modules.module(folder).mentions.iter().map(|by| Node::Item(by.owner.clone())).collect()
        }
        (None, None) => Vec::new(),
    };
    let graph = graphs.entry(folder).or_default();
    for used in used.into_iter().filter(|used| *used != user) {
        let place = || place(modules.module(at), mention);
        graph.entry(user.clone()).or_default().entry(used.clone()).or_insert_with(place);
        graph.entry(used).or_default();
    }
}

fn place(module: &Module, mention: &Mention) -> String {
    format!("{}:{}: {}", module.file.display(), mention.line, mention.path.join("::"))
}

/// The largest sets of nodes that all lead to each other; those with modules in them, and not only
/// items of one file.
fn knots(graph: &Graph) -> Vec<BTreeSet<Node>> {
    let reached: BTreeMap<&Node, BTreeSet<&Node>> =
        graph.keys().map(|from| (from, reached_from(graph, from))).collect();
    let mut knots: BTreeSet<BTreeSet<Node>> = BTreeSet::new();
    for (node, others) in &reached {
        let knot: BTreeSet<Node> = others
            .iter()
            .filter(|other| reached[**other].contains(node))
            .map(|other| (*other).clone())
            .collect();
        if knot.len() > 1 && knot.iter().any(|node| matches!(node, Node::Module(_))) {
            knots.insert(knot);
        }
    }
    knots.into_iter().collect()
}

fn reached_from<'a>(graph: &'a Graph, from: &'a Node) -> BTreeSet<&'a Node> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(node) = next.pop() {
        for used in graph[node].keys() {
            if reached.insert(used) {
                next.push(used);
            }
        }
    }
    reached
}

/// The uses on the shortest circle through a knot.
fn way_round(graph: &Graph, knot: &BTreeSet<Node>) -> Vec<String> {
    let ways = knot.iter().filter_map(|start| {
        let mut came_by: BTreeMap<&Node, (&Node, &String)> = BTreeMap::new();
        let mut next = VecDeque::from([start]);
        while let Some(node) = next.pop_front() {
            for (used, place) in graph[node].iter().filter(|(used, _)| knot.contains(used)) {
                if !came_by.contains_key(used) {
                    came_by.insert(used, (node, place));
                    next.push_back(used);
                }
            }
        }
        let mut way = Vec::new();
        let mut at = start;
        loop {
            let (before, place) = came_by.get(at)?;
            way.push(format!("{before} uses {at}: {place}"));
            at = before;
            if at == start {
                way.reverse();
                return Some(way);
            }
        }
    });
    ways.min_by_key(Vec::len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Vec<String> {
        let circles = of_crate("aplomb-x", &Modules::of_text(text));
        circles.iter().map(|circle| format!("{}[{}]", circle.folder, joined(circle))).collect()
    }

    fn joined(circle: &Circle) -> String {
        circle.members.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn two_modules_that_import_each_other_are_a_circle_and_it_says_where() {
        let text = "mod a { use crate::b::B; pub struct A(B); }
                    mod b { pub struct B; fn f(_: super::a::A) {} }
                    mod c { use crate::b::B; fn f(_: B) {} }";
        let circles = of_crate("aplomb-x", &Modules::of_text(text));
        assert_eq!(circles.len(), 1);
        assert_eq!(joined(&circles[0]), "a b");
        assert_eq!(circles[0].uses, ["a uses b: lib.rs:1: B", "b uses a: lib.rs:2: super::a::A"]);
        assert!(circles[0].to_string().starts_with("aplomb-x: a, b use each other:\n"));
    }

    #[test]
    fn what_is_used_below_a_module_is_used_by_it() {
        let text = "mod a { mod deep { fn f() { crate::b::f() } } }
                    mod b { pub fn f() { crate::c::f() } }
                    mod c { pub use crate::a::deep::X; fn f() { X } }";
        assert_eq!(members(text), ["[a b c]"]);
    }

    #[test]
    fn a_name_that_is_handed_on_belongs_where_it_comes_from() {
        let text = "pub use a::A;
                    mod a { pub struct A; fn f() { crate::b::f() } }
                    mod b { use crate::A; pub fn f() -> A {} }";
        assert_eq!(members(text), ["[a b]"]);
        let text = "pub use a::A;
                    mod a { pub struct A; }
                    mod b { use crate::A; pub fn f() -> A { crate::g() } }
                    pub fn g() {}";
        assert!(members(text).is_empty());
    }

    #[test]
    fn a_parent_may_use_and_hand_on_its_children_unless_they_use_the_same_item() {
        let parent = |child: &str| {
            format!(
                "mod p {{ use child::Child; pub const MAX: u8 = 1; pub struct P(Child); mod child {{ {child} }} }}"
            )
        };
        assert!(members(&parent("pub struct Child; fn f() { super::MAX }")).is_empty());
        assert_eq!(members(&parent("use super::P; pub struct Child; fn f(_: P) {}")), ["p[child super::P]"]);
    }

    #[test]
    fn methods_of_one_type_in_two_files_are_a_circle_when_they_call_each_other() {
        let text = |call: &str| {
            format!(
                "pub struct T;
                     mod a {{ impl crate::T {{ pub fn a(&self) {{ self.b() }} }} }}
                     mod b {{ impl crate::T {{ pub fn b(&self) {{ {call} }} }} }}"
            )
        };
        assert!(members(&text("")).is_empty());
        assert_eq!(members(&text("self.a()")), ["[a b]"]);
        assert_eq!(members(&text("Self::a(self)")), ["[a b]"]);
    }

    #[test]
    fn arguments_of_macros_are_looked_at_and_tests_are_not() {
        let text = |what: &str| {
            format!(
                "mod a {{ pub fn f() {{ assert!(x, crate::b::f()) }} }} mod b {{ pub fn f() {{}} {what} }}"
            )
        };
        assert_eq!(members(&text("fn g() { crate::a::f() }")), ["[a b]"]);
        assert!(members(&text("#[cfg(test)] mod tests { fn g() { crate::a::f() } }")).is_empty());
        assert!(members(&text("fn g() { let a = 1; a }")).is_empty());
    }
}
