//! Full names of importable things, each stored once a file: `torch.nn.functional`.

use rustc_hash::FxHashMap;

/// A full name, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sym(u32);

/// The full names one file mentions.
#[derive(Debug, Default)]
pub struct Names {
    texts: Vec<Box<str>>,
    by_text: FxHashMap<Box<str>, Sym>,
    /// What an attribute of a name is called, so that walking does not build strings.
    attributes: FxHashMap<(Sym, Box<str>), Sym>,
}

impl Names {
    /// The name's number.
    pub fn intern(&mut self, text: &str) -> Sym {
        let text = canonical(text);
        if let Some(&sym) = self.by_text.get(text.as_ref()) {
            return sym;
        }
        let sym = Sym(self.texts.len() as u32);
        self.texts.push(text.as_ref().into());
        self.by_text.insert(text.as_ref().into(), sym);
        sym
    }

    /// The number of `base.attribute`.
    pub fn attribute(&mut self, base: Sym, attribute: &str) -> Sym {
        if let Some(&sym) = self.attributes.get(&(base, attribute) as &dyn Pair) {
            return sym;
        }
        let text = format!("{}.{attribute}", self.text(base));
        let sym = self.intern(&text);
        self.attributes.insert((base, attribute.into()), sym);
        sym
    }

    /// The name itself.
    #[must_use]
    pub fn text(&self, sym: Sym) -> &str {
        self.texts.get(sym.0 as usize).map_or("", AsRef::as_ref)
    }

    /// The number of a name, if the file mentions it.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Sym> {
        self.by_text.get(text).copied()
    }
}

/// A borrowed view of a key of [`Names::attributes`], so that looking up allocates nothing.
trait Pair {
    fn key(&self) -> (Sym, &str);
}

impl Pair for (Sym, &str) {
    fn key(&self) -> (Sym, &str) {
        (self.0, self.1)
    }
}

impl Pair for (Sym, Box<str>) {
    fn key(&self) -> (Sym, &str) {
        (self.0, &self.1)
    }
}

impl<'a> std::borrow::Borrow<dyn Pair + 'a> for (Sym, Box<str>) {
    fn borrow(&self) -> &(dyn Pair + 'a) {
        self
    }
}

impl std::hash::Hash for dyn Pair + '_ {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let (sym, text) = self.key();
        sym.hash(state);
        text.hash(state);
    }
}

impl PartialEq for dyn Pair + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for dyn Pair + '_ {}

/// Other spellings of the same thing, longest first where one begins another.
const SPELLINGS: &[(&str, &str)] = &[
    ("torch.nn.modules.container.", "torch.nn."),
    ("torch.nn.modules.loss.", "torch.nn."),
    ("torch.nn.modules.module.", "torch.nn."),
    ("torch.nn.parallel.distributed.", "torch.nn.parallel."),
    ("torch.nn.parameter.", "torch.nn."),
    ("torch.autograd.grad_mode.", "torch."),
    ("torch.autograd.function.", "torch.autograd."),
    ("torch.autograd.no_grad", "torch.no_grad"),
    ("torch.autograd.enable_grad", "torch.enable_grad"),
    ("torch.autograd.set_grad_enabled", "torch.set_grad_enabled"),
    ("torch.autograd.inference_mode", "torch.inference_mode"),
    ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel"),
    ("torch.utils.data.dataloader.", "torch.utils.data."),
    ("torch.utils.data.dataset.", "torch.utils.data."),
    ("torch.utils.data.distributed.", "torch.utils.data."),
    ("torch.optim.adamw.", "torch.optim."),
    ("torch.optim.adam.", "torch.optim."),
    ("torch.optim.sgd.", "torch.optim."),
    ("torch.optim.optimizer.", "torch.optim."),
    ("torch.cuda.amp.autocast_mode.", "torch.cuda.amp."),
    ("torch.cuda.amp.grad_scaler.", "torch.cuda.amp."),
    ("torch.cuda.memory.", "torch.cuda."),
    ("torch.distributed.fsdp.fully_sharded_data_parallel.", "torch.distributed.fsdp."),
    ("torch.utils.tensorboard.writer.", "torch.utils.tensorboard."),
    ("pytorch_lightning.", "lightning."),
    ("lightning.pytorch.", "lightning."),
    ("lightning.core.module.", "lightning."),
    ("lightning.core.lightning.", "lightning."),
    ("lightning.core.", "lightning."),
    ("lightning_fabric.", "lightning.fabric."),
    ("numpy.core.", "numpy."),
    ("tqdm.auto.", "tqdm."),
    ("tqdm.notebook.", "tqdm."),
    ("tqdm.autonotebook.", "tqdm."),
    ("tqdm.std.", "tqdm."),
];

/// Names that say "memory" and must keep their module: `torch.cuda.memory._record_memory_history`.
const KEPT: &[&str] = &["torch.cuda.memory._"];

fn canonical(text: &str) -> std::borrow::Cow<'_, str> {
    let known = text.starts_with("torch") || text.starts_with("pytorch") || text.starts_with("lightning");
    if !(known || text.starts_with("numpy") || text.starts_with("tqdm"))
        || KEPT.iter().any(|kept| text.starts_with(kept))
    {
        return text.into();
    }
    match text {
        "pytorch_lightning" | "lightning.pytorch" => return "lightning".into(),
        _ => {}
    }
    for (from, to) in SPELLINGS {
        if let Some(rest) = text.strip_prefix(from) {
            return format!("{to}{rest}").into();
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_thing_are_one_name() {
        let mut names = Names::default();
        let lightning = names.intern("pytorch_lightning");
        let module = names.attribute(lightning, "LightningModule");
        assert_eq!(names.text(module), "lightning.LightningModule");
        assert_eq!(names.intern("lightning.pytorch.LightningModule"), module);
        let no_grad = names.intern("torch.autograd.grad_mode.no_grad");
        assert_eq!(names.text(no_grad), "torch.no_grad");
        let history = names.intern("torch.cuda.memory._record_memory_history");
        assert_eq!(names.text(history), "torch.cuda.memory._record_memory_history");
    }
}
