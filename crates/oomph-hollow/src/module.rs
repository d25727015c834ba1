//! Modules and libraries of kernels that programs load at run time (Triton, NVRTC), shared by runtime and driver.
//!
//! Code is not looked at: every name is found in it, and gets a handle of its own. Global variables have an address
//! that costs nothing.

use std::collections::BTreeMap;

use crate::estimate::{self, Estimate};
use crate::fault::{Fault, Outcome};
use crate::lock::Guarded;
use crate::{handle, memory};

static MODULES: Guarded<BTreeMap<usize, Module>> = Guarded::new(BTreeMap::new());

#[derive(Debug, Default)]
struct Module {
    functions: BTreeMap<Vec<u8>, usize>,
    globals: BTreeMap<Vec<u8>, u64>,
}

/// What a global variable is taken to hold.
pub(crate) const GLOBAL_BYTES: u64 = 4096;

/// Loads a module.
pub(crate) fn load() -> usize {
    let module = handle::fresh();
    estimate::note(Estimate::Module, module);
    MODULES.lock().insert(module, Module::default());
    module
}

/// Unloads a module.
pub(crate) fn unload(module: usize) -> Outcome {
    let removed = MODULES.lock().remove(&module).ok_or(Fault::INVALID_HANDLE)?;
    for address in removed.globals.into_values() {
        memory::forget_import(address)?;
    }
    Ok(())
}

/// A function of a module.
pub(crate) fn function(module: usize, name: &[u8]) -> Outcome<usize> {
    let mut modules = MODULES.lock();
    let module = modules.get_mut(&module).ok_or(Fault::INVALID_HANDLE)?;
    Ok(*module.functions.entry(name.to_vec()).or_insert_with(handle::fresh))
}

/// A global variable of a module.
pub(crate) fn global(module: usize, name: &[u8], device: u32) -> Outcome<u64> {
    if let Some(&address) = MODULES.lock().get(&module).ok_or(Fault::INVALID_HANDLE)?.globals.get(name) {
        return Ok(address);
    }
    let address = memory::import(device, GLOBAL_BYTES)?;
    let mut modules = MODULES.lock();
    let module = modules.get_mut(&module).ok_or(Fault::INVALID_HANDLE)?;
    module.globals.insert(name.to_vec(), address);
    Ok(address)
}
