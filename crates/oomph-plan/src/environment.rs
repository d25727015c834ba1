//! What every process of a hollow run finds: the hollow card, the watching Python, the private layer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oomph_card::Card;
use oomph_job::{JobError, Layer, Library, Variables, package, stop_signal};
use serde::Serialize;

use crate::error::PlanError;
use crate::job::{Job, Launch};
use crate::remedies::RemedyChoice;
use crate::values::Bounds;

/// Host tensors of at least this size are memory maps of their own: they read as zeros and take no memory until they
/// are written. The Python side counts on it.
const MMAP_THRESHOLD_BYTES: &str = "1048576";

/// What the Python side is told.
#[derive(Serialize)]
struct Settings<'a> {
    kind: &'static str,
    folder: &'a Path,
    supervisor: u32,
    stop_signal: i32,
    steps: u32,
    batches: u32,
    walk: bool,
    ranks: Vec<u32>,
    remedies: &'a [RemedyChoice],
    survey: bool,
    values: Option<Bounds>,
}

/// The folders of one run, and the variables that point there.
pub(crate) struct Environment {
    /// Where the processes leave their results.
    pub(crate) results: PathBuf,
    /// Where the Python side lies: frames from there are nobody's.
    pub(crate) package: PathBuf,
    /// Everything the job writes elsewhere.
    pub(crate) layer: Layer,
    /// On top of our own.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// Prepares a workspace for a job on these cards, one entry a device.
    pub(crate) fn prepare(
        job: &Job,
        cards: &[Card],
        workspace: &Path,
        values: Option<Bounds>,
    ) -> Result<Self, PlanError> {
        let results = workspace.join("results");
        std::fs::create_dir(&results)?;
        let package = package::write(workspace)?;
        let links = link_libraries(workspace)?;
        let commands = package::write_nvidia_smi(workspace, &package, &job.command.python)?;
        let mut open = vec![results.clone()];
        open.extend(bytecode_cache());
        let layer = Layer::create(workspace, job.disk_limit_bytes, open)?;
        let mut variables = Variables::default();
        variables.set("OOMPH_JOB", serde_json::to_string(&settings(job, &results, values)).map_err(JobError::from)?);
        variables.set("OOMPH_HOLLOW_CARDS", serde_json::to_string(cards).map_err(JobError::from)?);
        variables.put_before("LD_LIBRARY_PATH", &links);
        variables.put_before("PYTHONPATH", &package);
        // What an installation has no bytecode of is kept in a cache of ours, and nothing else.
        variables.set("PYTHONDONTWRITEBYTECODE", "1");
        // A process that dies without an exception says where.
        variables.set("PYTHONFAULTHANDLER", "1");
        variables.set("MALLOC_MMAP_THRESHOLD_", MMAP_THRESHOLD_BYTES);
        variables.set("TRITON_LIBCUDA_PATH", &links);
        // Kernels compiled and timed for real cards are not mixed with those of a hollow one.
        variables.set("TRITON_CACHE_DIR", results.join("triton"));
        variables.set("TORCHINDUCTOR_CACHE_DIR", results.join("inductor"));
        // Workers that compile kernels would need the hollow card too, and cost more than they save here.
        variables.set("TORCHINDUCTOR_COMPILE_THREADS", "1");
        if let Some(conf) = &job.allocator {
            variables.set("PYTORCH_CUDA_ALLOC_CONF", conf);
        }
        // A plan is no experiment that anybody wants in their records.
        variables.set("WANDB_MODE", "disabled");
        let kept = variables.names();
        for (name, value) in layer.environment(&kept.iter().map(String::as_str).collect::<Vec<_>>()) {
            variables.set(name, value);
        }
        variables.put_before("PATH", &commands);
        if job.command.is_python_named
            && let Some(folder) = job.command.python.parent().filter(|folder| folder.is_dir())
        {
            variables.put_before("PATH", folder);
        }
        variables.put_before("LD_PRELOAD", links.join(Library::Layer.file_name()));
        variables.put_before("LD_PRELOAD", links.join(Library::Hollow.file_name()));
        set_rank(&mut variables, job.launch);
        Ok(Self { results, package, layer, variables: variables.into_pairs() })
    }
}

fn settings<'a>(job: &'a Job, results: &'a Path, values: Option<Bounds>) -> Settings<'a> {
    Settings {
        kind: "plan",
        folder: results,
        supervisor: std::process::id(),
        stop_signal: stop_signal(),
        steps: job.steps.unwrap_or(0),
        batches: job.batches.unwrap_or(0),
        walk: job.steps.is_none() && job.batches.is_none(),
        ranks: if job.has_all_ranks { Vec::new() } else { vec![job.launch.rank] },
        remedies: &job.remedies,
        survey: job.is_surveyed,
        values,
    }
}

fn set_rank(variables: &mut Variables, launch: Launch) {
    let Some(processes) = launch.processes_per_node else { return };
    variables.set("RANK", launch.rank.to_string());
    variables.set("LOCAL_RANK", launch.rank.to_string());
    variables.set("GROUP_RANK", "0");
    variables.set("ROLE_RANK", launch.rank.to_string());
    variables.set("WORLD_SIZE", launch.world_size().to_string());
    variables.set("LOCAL_WORLD_SIZE", processes.to_string());
    variables.set("MASTER_ADDR", "127.0.0.1");
    variables.set("MASTER_PORT", "29500");
}

/// Puts the libraries into a folder under every name by which they are opened at run time: a path without spaces or
/// colons, whatever the install path holds.
fn link_libraries(workspace: &Path) -> Result<PathBuf, JobError> {
    let links = workspace.join("lib");
    std::fs::create_dir(&links)?;
    let hollow = Library::Hollow.find()?;
    for name in [Library::Hollow.file_name(), "libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"] {
        std::os::unix::fs::symlink(&hollow, links.join(name))?;
    }
    std::os::unix::fs::symlink(Library::Layer.find()?, links.join(Library::Layer.file_name()))?;
    Ok(links)
}

/// Our own cache, the one thing that a plan leaves behind. Made here, because the job itself cannot.
fn bytecode_cache() -> Option<PathBuf> {
    let caches = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let caches = caches.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")))?;
    let folder = caches.join("oomph");
    std::fs::create_dir_all(&folder).ok()?;
    std::fs::canonicalize(folder).ok()
}
