//! What constructors get from loaders of the project that take all parameters out of training.

use rustc_hash::FxHashMap;

use super::freezing;
use super::tables::Tables;

/// An attribute that a constructor fills by such a loader.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// The file of the class.
    pub(crate) holder: u32,
    /// The file of the loader.
    pub(crate) loader: u32,
}

/// Where attributes are filled so, by their name.
pub(crate) type Loads = FxHashMap<String, Vec<Load>>;

impl Tables<'_> {
    /// The constructors that put what a freezing loader gives into an attribute of this name.
    pub(crate) fn loaded_frozen(&self, attribute: &str) -> &[Load] {
        let loads = self.loaded_frozen.get_or_init(|| self.frozen_loads());
        loads.get(attribute).map_or(&[], Vec::as_slice)
    }

    fn frozen_loads(&self) -> Loads {
        let mut loaders: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
        for (file, outline) in self.outlines.iter().enumerate().filter(|(_, outline)| !outline.frozen.is_empty()) {
            let functions = outline.top_functions.iter();
            let freezing =
                functions.filter(|(_, index)| freezing::freezes_given(outline.functions[**index as usize].node));
            for (name, _) in freezing {
                loaders.entry(name).or_default().push(file as u32);
            }
        }
        let mut loads = Loads::default();
        if loaders.is_empty() {
            return loads;
        }
        for (file, outline) in self.outlines.iter().enumerate() {
            let inits = outline.classes.iter().filter_map(|class| class.methods.get("__init__"));
            for (attribute, loader) in
                inits.flat_map(|index| freezing::loads_of(outline.functions[*index as usize].node))
            {
                let places = loaders.get(loader).into_iter().flatten();
                for place in places {
                    let load = Load { holder: file as u32, loader: *place };
                    loads.entry(attribute.to_owned()).or_default().push(load);
                }
            }
        }
        loads
    }
}
