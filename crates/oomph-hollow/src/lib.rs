//! The GPU that is not there.
//!
//! `liboomph_hollow.so` stands in for the CUDA libraries, so that a program made for a GPU runs on a machine without
//! one: kernels do nothing, device memory is address space that is counted and never touched, capacity is enforced.
//! What PyTorch's allocator then reports is what it would have reported on the card.
//!
//! # Putting it in place
//!
//! - `LD_PRELOAD` names the library: it answers whoever is linked against a CUDA library, in children too.
//! - A folder first on `LD_LIBRARY_PATH` holds links to it by the names that programs open or link at run time:
//!   `libcuda.so` (Triton up to 3.2 links with `-lcuda`), `libcuda.so.1` and `libnvidia-ml.so.1`. Triton's helper, built
//!   with the C compiler it finds, names `libcuda.so.1` in the end, so a cached one serves real runs as well.
//! - `TRITON_CACHE_DIR` and `TORCHINDUCTOR_CACHE_DIR` should name a folder of the run's own: kernels that were tuned
//!   where all take the same time are of no use to real runs.
//!
//! # Input
//!
//! | variable | |
//! |---|---|
//! | `OOMPH_HOLLOW_CARDS` | the cards, a JSON list: [`card`] |
//! | `OOMPH_HOLLOW_REPORT` | a file to which each process that used CUDA appends one JSON line at its end |
//! | `OOMPH_HOLLOW_LEDGER` | a file through which processes share the cards, so that each sees what the others hold |
//! | `OOMPH_HOLLOW_CUDNN_DIR` | the folder of the user's cuDNN libraries; else found from the loaded torch |
//!
//! # Adding a library
//!
//! One file under `src/` with the functions that are modelled, each after a line `#[unsafe(no_mangle)]`, and one list
//! under `symbols/` with every function the library exports. What the list names and no file implements becomes a
//! function that counts itself (see `build.rs` for what a list can say).
//!
//! # Rules
//!
//! - No panic crosses into C: no `unwrap`, no indexing; clippy denies them, `tests/c_abi.rs` tries.
//! - A function that trusts a pointer of its caller's is `unsafe`; null is always checked for.
//! - State lives in `lock::Guarded`, which survives `fork`; whoever holds one takes no other.
//! - What is called and not modelled is counted by name, never silently zero; what is estimated is noted.

// Unused parameters document a C signature; raw pointers arrive as the ABI has them; the safety contract of every
// exported function is the vendor's manual.
#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments, clippy::similar_names)]

mod answer;
mod api;
mod aside;
mod attribute;
mod call;
pub mod card;
mod count;
mod cublas;
mod cublaslt;
mod cudart;
mod cudnn;
mod cufft;
mod cupti;
mod curand;
mod cusolver;
mod cusparse;
mod cusparselt;
mod device;
mod driver;
mod estimate;
mod exchanged;
mod fat_binary;
mod fault;
mod handle;
mod host_account;
mod host_exit;
mod installed;
mod kernel;
mod loader;
mod lock;
mod long_tail;
mod memory;
mod module;
mod nccl;
mod nvml;
mod object;
mod process;
mod stream;
mod threads;
mod version;
mod work;
