//! What every process of a hollow run finds: the hollow card, the watching Python, the private layer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oomph_card::Card;
use oomph_job::facts::Place;
use oomph_job::{JobError, Layer, Library, Variables, package, stop_signal};
use serde::Serialize;

use crate::error::PlanError;
use crate::job::{Job, Launch};
use crate::remedies::RemedyChoice;
use crate::values::Bounds;

/// Host tensors of at least this size are memory maps of their own: they read as zeros and take no memory until they
/// are written. The Python side counts on it.
const MMAP_THRESHOLD_BYTES: &str = "1048576";

/// Where the Python side finds its settings, and the hollow libraries the cards.
const JOB_VARIABLE: &str = "OOMPH_JOB";
const CARDS_VARIABLE: &str = "OOMPH_HOLLOW_CARDS";

/// What the Python side is told.
#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one question of the Python side's")]
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
    stands: bool,
    host_only: bool,
    seeks_growth: bool,
    needs_card: bool,
    whole_loops: Vec<Place>,
}

/// The folders of one run, and the variables that point there.
#[derive(Debug)]
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
        Self::with_settings(job, cards, workspace, values, false)
    }

    /// Prepares a workspace for a process that stands and forks the runs of a job.
    pub(crate) fn prepare_standing(job: &Job, cards: &[Card], workspace: &Path) -> Result<Self, PlanError> {
        Self::with_settings(job, cards, workspace, None, true)
    }

    fn with_settings(
        job: &Job,
        cards: &[Card],
        workspace: &Path,
        values: Option<Bounds>,
        stands: bool,
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
        let mut settings = Settings { stands, ..settings(job, &results, values) };
        if stands {
            // Each run has its own.
            settings.remedies = &[];
        }
        variables.set(JOB_VARIABLE, serde_json::to_string(&settings).map_err(JobError::from)?);
        variables.set(CARDS_VARIABLE, serde_json::to_string(cards).map_err(JobError::from)?);
        variables.put_before("LD_LIBRARY_PATH", &links);
        variables.put_before("PYTHONPATH", &package);
        // What an installation has no bytecode of is kept in a cache of ours, and nothing else.
        variables.set("PYTHONDONTWRITEBYTECODE", "1");
        // A process that dies without an exception says where.
        variables.set("PYTHONFAULTHANDLER", "1");
        if !job.is_host_only {
            variables.set("MALLOC_MMAP_THRESHOLD_", MMAP_THRESHOLD_BYTES);
            // The C library would give each thread that asks for memory addresses of its own, among those of the card,
            // at a moment that nobody knows: NCCL's watchdog first does a tenth of a second after its start.
            variables.set("MALLOC_ARENA_MAX", "1");
        }
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
        for (name, value) in rank_variables(job.launch) {
            variables.set(name, value);
        }
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
        // A loop that grows is not left before it was seen what keeps it growing.
        walk: job.steps.is_none() && job.batches.is_none() && !job.seeks_growth,
        ranks: if job.has_all_ranks { Vec::new() } else { vec![job.launch.rank] },
        remedies: &job.remedies,
        survey: job.is_surveyed,
        values,
        stands: false,
        host_only: job.is_host_only,
        seeks_growth: job.seeks_growth,
        needs_card: job.needs_card,
        whole_loops: job.whole_loops.places(),
    }
}

/// The variables that a run of a standing process finds in place of that process's own.
pub(crate) fn order(job: &Job, cards: &[Card], results: &Path) -> Result<String, JobError> {
    let mut found = rank_variables(job.launch);
    found.insert(JOB_VARIABLE, serde_json::to_string(&settings(job, results, None))?);
    found.insert(CARDS_VARIABLE, serde_json::to_string(cards)?);
    Ok(serde_json::to_string(&found)?)
}

/// What a launcher tells the process of a job that has several.
fn rank_variables(launch: Launch) -> BTreeMap<&'static str, String> {
    let Some(processes) = launch.processes_per_node else { return BTreeMap::new() };
    BTreeMap::from([
        ("RANK", launch.rank.to_string()),
        ("LOCAL_RANK", (launch.rank % processes).to_string()),
        ("GROUP_RANK", (launch.rank / processes).to_string()),
        ("ROLE_RANK", launch.rank.to_string()),
        ("WORLD_SIZE", launch.world_size().to_string()),
        ("LOCAL_WORLD_SIZE", processes.to_string()),
        ("MASTER_ADDR", "127.0.0.1".to_owned()),
        ("MASTER_PORT", "29500".to_owned()),
    ])
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
