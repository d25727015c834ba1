//! `deprecated-amp-api`: mixed precision by the names of `torch.cuda.amp`.

use crate::analysis::events::{At, Call};
use crate::analysis::value::Kind;
use crate::facts::Facts;
use crate::finding::{Edit, Safety};
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::uses_in;

pub(super) static RULE: Rule = Rule {
    name: "deprecated-amp-api",
    group: Group::Optimizer,
    size: Size::once(Amount::Small),
    is_opportunity: false,
    fix: Some(Safety::Safe),
    summary: "Mixed precision is asked for by a deprecated name of `torch.cuda.amp` or `torch.cpu.amp`.",
    why: "Since torch 2.4 these names warn on every use and will be removed. With them goes what they do for memory: \
          half-size activations, or a scaler that keeps half precision from losing small gradients.",
    cost: "None today but warnings; activations of twice the size when the names are gone and the block runs in full \
           precision.",
    instead: "`torch.amp.autocast(\"cuda\")`, `torch.amp.GradScaler(\"cuda\")`, \
              `torch.amp.custom_fwd(device_type=\"cuda\")`.",
    when_not: "The code has to run on torch before 2.4.",
    programs: include_str!("deprecated_amp_api.py"),
    check,
};

/// The deprecated names, their device, and how the modern one is told its device.
const OLD: &[(&str, &str)] = &[("torch.cuda.amp.", "cuda"), ("torch.cpu.amp.", "cpu")];
const NAMES: &[&str] = &["autocast", "GradScaler", "custom_fwd", "custom_bwd"];

/// A use of a deprecated name.
struct Use {
    /// What is used, as written.
    place: TextRange,
    /// Its last part.
    name: &'static str,
    device: &'static str,
    /// Whether it is written with a dot.
    dotted: bool,
    /// The edits that make it modern, the name left alone; `None` where that is not known.
    edits: Option<Vec<Edit>>,
}

fn check(facts: &Facts<'_>, report: &mut Report) {
    let imports = imports(facts);
    let guarded: Vec<&str> = imports.iter().filter(|import| import.is_guarded).map(|import| import.bound).collect();
    let uses: Vec<Use> = uses(facts)
        .into_iter()
        .filter(|found| found.dotted || !guarded.contains(&facts.source.slice(found.place)))
        .collect();
    let together = fix_of_imported(facts, &imports, &uses);
    let mut reported = Vec::new();
    for import in imports.iter().filter(|import| !import.is_guarded && !guarded.contains(&import.bound)) {
        if reported.contains(&import.statement) {
            continue;
        }
        reported.push(import.statement);
        report
            .add(&import.statement, format!("`{}` is deprecated: import it from `torch.amp`", import.full))
            .because(&import.alias, "since torch 2.4 every use of this name warns")
            .safe_fix("Use `torch.amp`", together.clone());
    }
    for found in &uses {
        let Use { name, device, .. } = found;
        let modern = modern(name, device);
        let finding = report.add(&found.place, format!("`torch.{device}.amp.{name}` is deprecated: write `{modern}`"));
        finding.because(&found.place, "since torch 2.4 this name warns when it is used");
        if found.dotted {
            finding.safe_fix("Use `torch.amp`", dotted_fix(facts, found));
        } else {
            finding.safe_fix("Use `torch.amp`", together.clone());
        }
    }
}

fn modern(name: &str, device: &str) -> String {
    if name.starts_with("custom") {
        format!("torch.amp.{name}(device_type=\"{device}\")")
    } else {
        format!("torch.amp.{name}(\"{device}\", ...)")
    }
}

/// One name of `from torch.cuda.amp import ...`.
struct Import<'a> {
    statement: TextRange,
    /// The module's name in the statement.
    module: TextRange,
    alias: TextRange,
    full: String,
    bound: &'a str,
    device: &'static str,
    is_guarded: bool,
    /// Whether everything the statement imports is deprecated and is there in `torch.amp`.
    is_whole: bool,
}

fn imports<'a>(facts: &Facts<'a>) -> Vec<Import<'a>> {
    let mut found = Vec::new();
    for statement in facts.statements() {
        let Stmt::ImportFrom(node) = statement.node else { continue };
        let Some(module) = &node.module else { continue };
        let dotted = format!("{}.", module.as_str());
        let Some((_, device)) = OLD.iter().find(|(prefix, _)| dotted.starts_with(prefix) && node.level == 0) else {
            continue;
        };
        let is_old = |name: &str| NAMES.contains(&name);
        let is_whole = node.names.iter().all(|alias| is_old(alias.name.as_str()));
        let at = At { block: statement.block, ..at_module(facts, statement.block) };
        for alias in node.names.iter().filter(|alias| is_old(alias.name.as_str())) {
            found.push(Import {
                statement: node.range(),
                module: module.range(),
                alias: alias.range(),
                full: format!("torch.{device}.amp.{}", alias.name),
                bound: alias.asname.as_ref().unwrap_or(&alias.name).as_str(),
                device,
                is_guarded: facts.is_guarded(&at) || in_tried_import(facts, &at),
                is_whole,
            });
        }
    }
    found
}

/// A point in a block, for questions about blocks alone.
fn at_module(facts: &Facts<'_>, block: crate::analysis::value::BlockId) -> At {
    At {
        order: 0,
        block,
        stmt: crate::analysis::events::StmtId(0),
        grad: crate::analysis::events::GradMode::On,
        function: facts.block(block).function,
        freed: crate::analysis::value::Sources::default(),
        maybe_freed: crate::analysis::value::Sources::default(),
    }
}

/// Whether the import stands in a `try` whose handler binds the same names otherwise.
fn in_tried_import(facts: &Facts<'_>, at: &At) -> bool {
    facts.blocks_around(at).any(|(_, block)| matches!(block.kind, crate::analysis::events::BlockKind::Try))
}

/// Every use by call, decorator or as an argument.
fn uses(facts: &Facts<'_>) -> Vec<Use> {
    let mut found: Vec<Use> = Vec::new();
    for call in facts.calls() {
        if let (Some((name, device)), false) = (facts.full_name(call).and_then(deprecated), facts.is_guarded(&call.at))
        {
            found.push(used(&call.node.func, name, device, modern_call(facts, call, name, device)));
        }
        // To ask what something is makes nothing: that does not warn, and a call has no place there.
        let only_asks = matches!(call.name, "isinstance" | "issubclass");
        let passed = call.node.arguments.args.iter().zip(&call.args);
        for (expr, value) in passed.filter(|_| !only_asks) {
            let full = if matches!(value.kind, Kind::External(_)) { facts.name_of(value) } else { None };
            if let (Some((name, device)), false) = (full.and_then(deprecated), facts.is_guarded(&call.at)) {
                found.push(used(expr, name, device, None));
            }
        }
    }
    for decorator in facts.decorators() {
        let full = decorator.name.map(|sym| facts.text(sym));
        let (Some((name, device)), Expr::Name(_) | Expr::Attribute(_)) = (full.and_then(deprecated), decorator.expr)
        else {
            continue;
        };
        let argument =
            if name.starts_with("custom") { format!("(device_type=\"{device}\")") } else { format!("(\"{device}\")") };
        let edits = vec![Edit::insert(decorator.expr.range().end(), argument)];
        found.push(used(decorator.expr, name, device, Some(edits)));
    }
    found.sort_by_key(|found| found.place.start());
    found.dedup_by_key(|found| found.place);
    found
}

fn used(expr: &Expr, name: &'static str, device: &'static str, edits: Option<Vec<Edit>>) -> Use {
    Use { place: expr.range(), name, device, dotted: matches!(expr, Expr::Attribute(_)), edits }
}

/// The deprecated name and device of a full name.
fn deprecated(full: &str) -> Option<(&'static str, &'static str)> {
    let (rest, device) = OLD.iter().find_map(|(prefix, device)| Some((full.strip_prefix(prefix)?, *device)))?;
    NAMES.iter().find(|name| **name == rest).map(|name| (*name, device))
}

/// The edits of a call's arguments; the name is left alone.
fn modern_call(facts: &Facts<'_>, call: &Call<'_>, name: &str, device: &str) -> Option<Vec<Edit>> {
    let arguments = &call.node.arguments;
    // Some say the device already, as if it were the new name: what they mean is not to be guessed.
    let says_device = ["device_type", "device"].iter().any(|word| call.keyword(word).is_some());
    if call.has_star() || says_device || arguments.args.len() > 1 && name == "autocast" {
        return None;
    }
    let empty = arguments.range().start() + crate::python::TextSize::from(1);
    let items = arguments.args.iter().map(Ranged::start).chain(arguments.keywords.iter().map(Ranged::start));
    let open = items.min().unwrap_or(empty);
    let comma = if arguments.is_empty() { "" } else { ", " };
    let mut edits = Vec::new();
    match (name, arguments.args.first()) {
        ("custom_fwd" | "custom_bwd", Some(_)) => return None,
        ("custom_fwd" | "custom_bwd", None) => {
            edits.push(Edit::insert(open, format!("device_type=\"{device}\"{comma}")));
        }
        // Its first parameter was `enabled`, which is now the third.
        ("autocast", Some(first)) => edits.push(Edit::insert(first.start(), format!("\"{device}\", enabled="))),
        _ => edits.push(Edit::insert(open, format!("\"{device}\"{comma}"))),
    }
    let plain = !facts.source.slice(arguments.range()).contains('#');
    plain.then_some(edits)
}

fn dotted_fix(facts: &Facts<'_>, found: &Use) -> Vec<Edit> {
    let (Some(edits), Some(torch)) = (&found.edits, facts.torch_name()) else { return Vec::new() };
    let mut all = vec![Edit::replace(found.place, format!("{torch}.amp.{}", found.name))];
    all.extend(edits.iter().cloned());
    all
}

/// One fix for all names imported: the import and every use change together, or nothing does.
fn fix_of_imported(facts: &Facts<'_>, imports: &[Import<'_>], uses: &[Use]) -> Vec<Edit> {
    let simple = imports.iter().all(|import| {
        import.is_whole && !import.is_guarded && import.device == imports[0].device && is_known(facts, import, uses)
    });
    if !simple {
        return Vec::new();
    }
    let mut edits: Vec<Edit> = Vec::new();
    for import in imports {
        let edit = Edit::replace(import.module, "torch.amp");
        if !edits.contains(&edit) {
            edits.push(edit);
        }
    }
    for found in uses.iter().filter(|found| !found.dotted) {
        match &found.edits {
            Some(more) => edits.extend(more.iter().cloned()),
            None => return Vec::new(),
        }
    }
    edits
}

/// Whether every reading of an imported name is a use that was seen, and nothing else binds the name.
fn is_known(facts: &Facts<'_>, import: &Import<'_>, uses: &[Use]) -> bool {
    let reads = uses_in(facts.source.body(), import.bound);
    let seen = |read: TextRange| uses.iter().any(|found| found.place == read);
    let bound = facts.binds_of(import.bound).next().is_some();
    let exported = facts.source.text.contains("__all__");
    reads.iter().all(|read| seen(read.name.range())) && !bound && !exported
}
