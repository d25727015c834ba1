//! What the uses of a variable say of it, wherever in the function they stand: who calls `.parameters()` on it knows a
//! module, who calls `.backward()` on it knows a loss with a graph.

use rustc_hash::FxHashMap;

use crate::ir::{Function, Name, Op, Reg, Unit, Var};
use crate::torch::is_module_method;

/// What uses say of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Duck {
    /// A method of modules is called on it.
    pub is_module: bool,
    /// A method is called on it that modules have, and others too.
    pub is_perhaps_module: bool,
    /// A backward pass starts from it.
    pub is_loss: bool,
    /// It is called.
    pub is_called: bool,
}

/// What uses say of the variables of a file.
#[derive(Debug, Default)]
pub(crate) struct Ducks {
    vars: FxHashMap<(usize, Var), Duck>,
    globals: FxHashMap<Name, Duck>,
    attrs: FxHashMap<Name, Duck>,
}

impl Ducks {
    /// Reads a file.
    pub(crate) fn of(unit: &Unit) -> Self {
        let mut ducks = Self::default();
        for (number, function) in unit.functions.iter().enumerate() {
            ducks.read(number, function);
        }
        ducks
    }

    /// What uses say of a variable of a function.
    pub(crate) fn var(&self, function: usize, var: &Var) -> Duck {
        let found = match var {
            Var::Global(name) => self.globals.get(name),
            var => self.vars.get(&(function, var.clone())),
        };
        found.copied().unwrap_or_default()
    }

    /// What uses say of an attribute of that name of any object.
    pub(crate) fn attr(&self, name: &str) -> Duck {
        self.attrs.get(name).copied().unwrap_or_default()
    }

    fn read(&mut self, number: usize, function: &Function) {
        let mut sources: FxHashMap<Reg, Source<'_>> = FxHashMap::default();
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            match &inst.op {
                Op::Load(var) => {
                    sources.insert(inst.dst, Source::Var(var));
                }
                Op::Attr(value, name) => {
                    sources.insert(inst.dst, Source::Attr(*value, name));
                }
                Op::Call { func, args } => {
                    if let Some(&Source::Attr(value, name)) = sources.get(func) {
                        let duck = Duck {
                            is_module: is_module_method(name)
                                || (args.is_empty() && matches!(&**name, "eval" | "train")),
                            is_perhaps_module: matches!(&**name, "train" | "zero_grad" | "cuda" | "to" | "half"),
                            is_loss: &**name == "backward",
                            is_called: false,
                        };
                        self.note(number, sources.get(&value).copied(), duck);
                    }
                    let called = Duck { is_called: true, ..Duck::default() };
                    self.note(number, sources.get(func).copied(), called);
                }
                _ => {}
            }
        }
    }

    fn note(&mut self, number: usize, source: Option<Source<'_>>, duck: Duck) {
        let known = match source {
            Some(Source::Var(Var::Global(name))) => self.globals.entry(name.clone()).or_default(),
            Some(Source::Var(var)) => self.vars.entry((number, var.clone())).or_default(),
            Some(Source::Attr(_, name)) => self.attrs.entry(name.clone()).or_default(),
            None => return,
        };
        known.is_module |= duck.is_module;
        known.is_perhaps_module |= duck.is_perhaps_module;
        known.is_loss |= duck.is_loss;
        known.is_called |= duck.is_called;
    }
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Var(&'a Var),
    Attr(Reg, &'a Name),
}

#[cfg(test)]
mod tests {
    use super::Ducks;
    use crate::ir::lower;
    use crate::syntax::Source;

    #[test]
    fn uses_anywhere_count() {
        let text = "def f(a):\n    a(x)\n    a.parameters()\n    self.b.backward()\n";
        let unit = lower(&Source::read("a.py", text).expect("read"));
        let ducks = Ducks::of(&unit);
        let function = unit.functions.iter().position(|function| &*function.name == "f").expect("f");
        assert!(ducks.var(function, &unit.functions[function].params[0].var).is_module);
        assert!(ducks.attr("b").is_loss);
    }
}
