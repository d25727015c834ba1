//! Whether a file that is loaded was made by others: published weights are saved from the CPU as often as not.

use crate::analysis::events::{Bind, Block, BlockKind, Call};
use crate::analysis::saving::file_name;
use crate::facts::Facts;
use crate::python::{Expr, ExprCall, Ranged, root_name};
use crate::uses::{last_name, string_of};

/// What a path says of a file that others have made.
const WORDS: &[&str] = &[
    "pretrain",
    "init_model",
    "basenet",
    "backbone",
    "imagenet",
    "download",
    "hub",
    "model_file(",
    "zoo",
    "convert",
    "['model_root']",
];

/// The networks that others are built on.
const NETWORKS: &[&str] = &["vgg", "lpips", "inception", "wav2vec", "hubert", "wavlm", "arcface", "i3d"];

/// How files are called that were made elsewhere, by another library or from its format.
const FILES: &[&str] =
    &["stylegan2-", "stylegan-", "superpoint_v1", "superglue_", "sd-v1", "sd_image", "model_ir_se50"];

/// Functions that fetch a file.
const FETCHERS: &[&str] = &[
    "load_url",
    "load_state_dict_from_url",
    "load_file_from_url",
    "hf_hub_download",
    "snapshot_download",
    "cached_download",
    "cached_path",
    "urlretrieve",
    "maybe_download",
];

impl<'a> Facts<'a> {
    /// Whether what is loaded was saved by somebody else.
    #[must_use]
    pub fn is_published(&self, load: &Call<'a>) -> bool {
        let Some(path) = load.arg(0).or_else(|| load.keyword("f")) else { return false };
        let function = self.function_name(&load.at).to_ascii_lowercase();
        let by_function = has(&function, &["pretrain", "backbone", "load_pre"]) || self.is_network(&function);
        let by_name = self.bound_name(load).is_some_and(|name| name.to_ascii_lowercase().contains("pretrain"));
        let asked = |(_, block): (_, &Block<'_>)| match block.kind {
            BlockKind::If(Some(test)) => self.written(test).to_ascii_lowercase().contains("pretrain"),
            _ => false,
        };
        self.path_tells(path, load)
            || by_function
            || by_name
            || self.blocks_around(&load.at).any(asked)
            || self.is_fetched(path, load)
    }

    /// Whether the weights go into a part that others have trained, in a file that does not save it.
    #[must_use]
    pub fn is_borrowed(&self, into: &ExprCall) -> bool {
        let holder = self.written(&*into.func).to_ascii_lowercase();
        let model = into.func.as_attribute_expr().and_then(|method| root_name(&method.value));
        // `torch.hub.load(...)`: a network of others, and mostly their weights.
        let from_hub = |bind: &Bind<'a>| bind.value_expr.is_some_and(|made| self.written(made).contains("hub.load("));
        self.is_network(&holder)
            || !self.outline().saves && holder.contains("backbone")
            || model.is_some_and(|model| self.binds_of(model).any(from_hub))
    }

    /// Whether a path, or what this file gives the name it is in, says so.
    fn path_tells(&self, path: &Expr, load: &Call<'a>) -> bool {
        let text = self.written(path).to_ascii_lowercase();
        let named = last_name(path).map(|name| self.given_at(name, &load.at)).unwrap_or_default();
        let mut files =
            named.into_iter().chain([path]).filter_map(|given| string_of(given).or_else(|| file_name(given)));
        let known = files.clone().next();
        if has(&text, WORDS) || self.is_network_in(&text, known) {
            return true;
        }
        let saved_too = || {
            let mut saves = self.calls_to("torch.save");
            let same = |save: &Call<'a>| last_name(path).is_some_and(|name| self.mentions_word(save.range(), name));
            saves.any(same)
        };
        files.any(|file| {
            let lower = file.to_ascii_lowercase();
            let name = lower.rsplit(['/', '\\']).next().unwrap_or(&lower);
            let network = || self.is_network_in(name, Some(file)) && !saved_too();
            has_hash(name) || name.contains("-pre.") || network() || FILES.iter().any(|start| name.starts_with(start))
        })
    }

    /// Whether a text names a network that others have trained, and this file saves nothing of that name.
    fn is_network(&self, text: &str) -> bool {
        self.is_network_in(text, None)
    }

    /// The same of a file whose path is known: what is saved to other paths that are known is not it.
    fn is_network_in(&self, text: &str, file: Option<&str>) -> bool {
        let is_other = |save: &Call<'a>| {
            let path = save.arg(1).or_else(|| save.keyword("f"));
            let named = path.and_then(last_name).map(|name| self.given_at(name, &save.at)).unwrap_or_default();
            let mut paths = named.into_iter().chain(path).filter_map(string_of).peekable();
            file.is_some_and(|file| paths.peek().is_some() && paths.all(|path| path != file))
        };
        let saved = |word: &str| {
            let names = |save: &Call<'a>| self.written(&save.node.arguments).to_ascii_lowercase().contains(word);
            self.calls_to("torch.save").any(|save| names(save) && !is_other(save))
        };
        let elsewhere = |file: &str| {
            let mut all = self.tables().outlines.iter().flat_map(|outline| &outline.saved);
            all.any(|saved| saved.whole.as_deref() == Some(file))
        };
        NETWORKS.iter().any(|word| text.contains(word) && !saved(word)) && !file.is_some_and(elsewhere)
    }

    /// Whether the program fetches the file: in the function that loads it, or anywhere under the same name.
    fn is_fetched(&self, path: &Expr, load: &Call<'a>) -> bool {
        let name = last_name(path);
        self.calls().iter().any(|other| {
            let fetches = FETCHERS.contains(&other.name) || other.name.starts_with("download");
            let here = load.at.function.is_some() && other.at.function == load.at.function;
            let same = || name.is_some_and(|name| self.mentions_word(other.node.arguments.range(), name));
            fetches && (here || same())
        })
    }
}

fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// `resnet18-5c106cde.pth`: the name torch gives to what it publishes, saved from the CPU.
fn has_hash(path: &str) -> bool {
    let Some((stem, _)) = path.rsplit_once('.') else { return false };
    stem.rsplit_once('-').is_some_and(|(_, hash)| {
        hash.len() == 8 && hash.chars().all(|c| c.is_ascii_hexdigit()) && hash.contains(|c: char| c.is_ascii_digit())
    })
}
