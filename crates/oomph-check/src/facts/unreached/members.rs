//! Attributes of `self` that nothing ever sets.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Cause;
use super::flow::Own;
use crate::analysis::bindings::bound_by;
use crate::analysis::outline::ClassDef;
use crate::analysis::value::ClassId;
use crate::facts::Facts;
use crate::python::ast::ExprAttribute;
use crate::python::ast::visitor::source_order::{SourceOrderVisitor, walk_expr};
use crate::python::{Expr, Ranged};

/// The attributes that objects of classes may have; of each class once.
pub(super) struct Members<'f, 'a> {
    facts: &'f Facts<'a>,
    /// `None` where a class may have others than can be seen.
    of_class: FxHashMap<ClassId, Option<FxHashSet<&'a str>>>,
}

impl<'f, 'a> Members<'f, 'a> {
    pub(super) fn of(facts: &'f Facts<'a>) -> Self {
        Self { facts, of_class: FxHashMap::default() }
    }

    /// Why reading an attribute of `self` raises, if it always does.
    pub(super) fn never_set(&mut self, own: Own<'a>, node: &ExprAttribute) -> Option<Cause> {
        let base = node.value.as_name_expr().filter(|base| base.id.as_str() == own.name)?;
        let name = node.attr.as_str();
        let facts = self.facts;
        let members = self.of_class.entry(own.class).or_insert_with(|| facts.members(own.class)).as_ref()?;
        let set = members.contains(name)
            || name.starts_with('_')
            || facts.tables.outlines.iter().any(|outline| outline.foreign_writes.contains(name));
        (!set).then(|| Cause {
            range: node.range(),
            text: format!("`{}.{name}` is never set: this raises whenever it runs", base.id),
        })
    }
}

impl<'a> Facts<'a> {
    /// The attributes that objects of a class may have, where all can be seen.
    fn members(&self, class: ClassId) -> Option<FxHashSet<&'a str>> {
        let outlines = &self.tables.outlines;
        if outlines.iter().any(|outline| outline.writes_by_name) {
            return None;
        }
        let mut members = FxHashSet::default();
        for id in self.kin(class) {
            let definition = &outlines[id.file as usize].classes[id.index as usize];
            let known = self.tables.class_bases[id.file as usize][id.index as usize].len();
            let library: Vec<&String> = definition.bases.iter().filter(|base| is_plain_base(base)).collect();
            let arguments = definition.node.arguments.as_ref();
            let written = arguments.map_or(0, |arguments| arguments.args.len() + arguments.keywords.len());
            let is_plain = outlines[id.file as usize].is_whole && definition.node.decorator_list.is_empty();
            if !is_plain || known + library.len() != written {
                return None;
            }
            if library.iter().any(|base| base.ends_with("Module")) {
                members.extend(MODULE.split_ascii_whitespace());
            }
            members.extend(own_members(definition)?);
        }
        // An excerpt leaves out where its objects are made.
        members.contains("__init__").then_some(members)
    }

    /// A class, those it inherits from, those that inherit from it, and what these inherit from.
    fn kin(&self, class: ClassId) -> Vec<ClassId> {
        let outlines = &self.tables.outlines;
        let name_of = |id: ClassId| outlines[id.file as usize].classes[id.index as usize].node.name.as_str();
        let mut found = self.tables.ancestry(class);
        // By name: a base that cannot be followed may be this one.
        let mut heirs = vec![name_of(class)];
        let mut next = 0;
        while let Some(&name) = heirs.get(next) {
            next += 1;
            for (file, outline) in outlines.iter().enumerate() {
                for (index, heir) in outline.classes.iter().enumerate() {
                    let inherits = heir.bases.iter().any(|base| base.rsplit('.').next() == Some(name));
                    let id = ClassId { file: file as u32, index: index as u32 };
                    if inherits && !heirs.contains(&name_of(id)) {
                        heirs.push(name_of(id));
                    }
                    if inherits {
                        found.extend(self.tables.ancestry(id));
                    }
                }
            }
        }
        found.sort_unstable_by_key(|id| (id.file, id.index));
        found.dedup();
        found
    }
}

/// A base whose attributes are known.
fn is_plain_base(base: &str) -> bool {
    matches!(base, "object" | "abc.ABC" | "torch.nn.Module" | "torch.utils.data.Dataset")
}

/// What the text of a class binds on any object or in its body, and every text in it that may name an attribute.
fn own_members<'a>(class: &ClassDef<'a>) -> Option<FxHashSet<&'a str>> {
    let mut seen = Seen { names: bound_by(&class.node.body), is_open: false };
    for stmt in &class.node.body {
        seen.visit_stmt(stmt);
    }
    let open = ["__getattr__", "__getattribute__", "__slots__"].iter().any(|name| seen.names.contains(name));
    (!open && !seen.is_open).then_some(seen.names)
}

struct Seen<'a> {
    names: FxHashSet<&'a str>,
    is_open: bool,
}

impl<'a> SourceOrderVisitor<'a> for Seen<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Attribute(node) => {
                self.is_open |= node.attr.as_str() == "__dict__";
                if !node.ctx.is_load() {
                    self.names.insert(node.attr.as_str());
                }
            }
            Expr::StringLiteral(node) => {
                self.names.insert(node.value.to_str());
            }
            Expr::Name(node) => {
                self.is_open |= matches!(node.id.as_str(), "setattr" | "vars" | "locals" | "exec" | "globals");
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

const MODULE: &str = "
    training call_super_init dump_patches T_destination forward register_buffer register_parameter add_module
    register_module get_submodule set_submodule get_parameter get_buffer get_extra_state set_extra_state apply cuda ipu
    xpu mtia cpu type float double half bfloat16 to_empty to register_full_backward_pre_hook register_backward_hook
    register_full_backward_hook register_forward_pre_hook register_forward_hook register_state_dict_post_hook
    register_state_dict_pre_hook state_dict load_state_dict register_load_state_dict_pre_hook
    register_load_state_dict_post_hook parameters named_parameters buffers named_buffers children named_children
    modules named_modules train eval requires_grad_ zero_grad share_memory extra_repr compile
";
