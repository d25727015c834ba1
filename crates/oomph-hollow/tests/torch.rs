//! Real PyTorch on a GPU that is not there: each script in `tests/torch/` checks one part from the inside.
//!
//! Needs a Python with a CUDA build of torch: `OOMPH_TEST_PYTHON`, or the repository's `.venv`. Without one the tests
//! say so and pass.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use oomph_card::Card;
use serde_json::{Value, json};

const H200_BYTES: u64 = 150_109_880_320;

/// A run of Python with the library in it.
struct Run {
    command: Command,
    folder: tempfile::TempDir,
}

impl Run {
    /// None where there is no torch to try.
    fn new(script: &Path) -> Option<Self> {
        let python = python()?;
        let library = library();
        let folder = tempfile::tempdir().unwrap();
        for name in ["libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"] {
            std::os::unix::fs::symlink(&library, folder.path().join(name)).unwrap();
        }
        let mut command = Command::new(python);
        command
            .args(["-W", "ignore"])
            .arg(script)
            .env("LD_PRELOAD", &library)
            .env("LD_LIBRARY_PATH", folder.path())
            .env("OOMPH_HOLLOW_REPORT", folder.path().join("report.jsonl"))
            .env("OOMPH_HOLLOW_CARDS", json!([card("NVIDIA H200", H200_BYTES)]).to_string())
            .env("TORCHINDUCTOR_CACHE_DIR", folder.path().join("inductor"))
            .env("TRITON_CACHE_DIR", folder.path().join("triton"))
            .env_remove("CUDA_VISIBLE_DEVICES")
            .env_remove("PYTORCH_CUDA_ALLOC_CONF");
        Some(Self { command, folder })
    }

    fn with(mut self, variable: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(variable, value);
        self
    }

    fn arguments(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    /// Runs to the end, which must be a good one.
    fn output(&mut self) -> Output {
        let output = self.command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr));
        output
    }

    /// The lines that processes left in the report.
    fn report(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("report.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn card(title: &str, memory_bytes: u64) -> Card {
    Card { title: title.to_owned(), memory_bytes, context_bytes: 512 << 20, ..Card::named("h200").unwrap() }
}

/// The library, beside the test that cargo built with it.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let library = folder.join("liboomph_hollow.so");
    assert!(library.exists(), "{} is not there: cargo builds it with this crate's tests", library.display());
    library
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A Python that has a CUDA build of torch.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let told = std::env::var_os("OOMPH_TEST_PYTHON").map(PathBuf::from);
        let python = told.unwrap_or_else(|| repository().join(".venv/bin/python"));
        let check = "import importlib.util as u; spec = u.find_spec('torch'); import sys, os; \
                     sys.exit(not (spec and os.path.exists(spec.submodule_search_locations[0] + '/lib/libtorch_cuda.so')))";
        let has_torch = Command::new(&python).args(["-c", check]).status().is_ok_and(|status| status.success());
        has_torch.then_some(python)
    });
    if found.is_none() {
        #[expect(clippy::print_stderr, reason = "a test that tries nothing must say so")]
        {
            eprintln!(
                "skipped: no Python with a CUDA build of torch; make test installs one, or set OOMPH_TEST_PYTHON"
            );
        }
    }
    found.as_deref()
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torch").join(name)
}

/// Runs a script of `tests/torch` on one H200.
fn passes(name: &str) {
    if let Some(mut run) = Run::new(&script(name)) {
        run.output();
    }
}

#[test]
fn tensors_take_and_give_back() {
    let Some(mut run) = Run::new(&script("memory.py")) else { return };
    run.output();
    let report = run.report();
    assert_eq!(report.len(), 1, "one process used CUDA: {report:?}");
    assert!(report[0]["peak_device_bytes"][0].as_u64().unwrap() > (512 + 66) << 20);
    assert!(report[0]["kernel_launches"].as_u64().unwrap() >= 3);
    assert!(report[0]["reads"].as_u64().unwrap() >= 3);
    assert_eq!(report[0]["unmodelled"], json!({}));
}

#[test]
fn what_does_not_fit_raises_at_its_line() {
    let Some(run) = Run::new(&script("out_of_memory.py")) else { return };
    run.with("OOMPH_HOLLOW_CARDS", json!([card("Small", 8 << 30)]).to_string()).output();
}

#[test]
fn segments_lie_where_the_driver_puts_them() {
    passes("addresses.py");
}

#[test]
fn expandable_segments_grow_and_shrink() {
    let Some(run) = Run::new(&script("expandable.py")) else { return };
    run.with("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True").output();
}

#[test]
fn the_drivers_pool_can_be_the_allocator() {
    let Some(run) = Run::new(&script("malloc_async.py")) else { return };
    run.with("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync").output();
}

#[test]
fn streams_and_events_are_in_order() {
    passes("streams.py");
}

#[test]
fn graphs_are_captured_and_replayed() {
    passes("graphs.py");
}

#[test]
fn pools_keep_their_memory() {
    passes("pools.py");
}

#[test]
fn workers_are_forked_and_spawned() {
    let Some(mut run) = Run::new(&script("workers.py")) else { return };
    run.output();
    let report = run.report();
    let peaks: Vec<u64> = report.iter().map(|line| line["peak_device_bytes"][0].as_u64().unwrap()).collect();
    // The child that had a card of its own, and the parent: workers had none. A child of either sees nothing of it.
    let with_memory = peaks.iter().filter(|&&peak| peak > 512 << 20).count();
    assert_eq!(with_memory, 2, "{report:?}");
}

#[test]
fn processes_with_one_ledger_share_a_card() {
    let Some(run) = Run::new(&script("ledger.py")) else { return };
    let ledger = run.folder.path().join("ledger");
    run.with("OOMPH_HOLLOW_LEDGER", ledger).output();
}

#[test]
fn nvml_agrees_with_cuda() {
    passes("nvml.py");
}

#[test]
fn convolutions_take_the_workspaces_of_a_card() {
    passes("convolutions.py");
}

#[test]
fn recurrent_networks_take_the_blocks_of_a_card() {
    passes("recurrent.py");
}

#[test]
fn libraries_are_modelled_as_far_as_torch_calls_them() {
    let Some(mut run) = Run::new(&script("libraries.py")) else { return };
    run.output();
    assert_eq!(run.report()[0]["unmodelled"], json!({}));
}

#[test]
fn one_rank_runs_without_its_peers() {
    let Some(mut run) = Run::new(&script("distributed.py")) else { return };
    run.output();
    assert_eq!(run.report()[0]["unmodelled"], json!({}));
}

#[test]
fn compiled_functions_run() {
    passes("compile.py");
}

#[test]
fn tensors_are_shared_between_processes() {
    passes("sharing.py");
}

#[test]
fn profilers_and_other_runtimes_live() {
    passes("profiler.py");
}

#[test]
fn retries_of_convolutions_are_no_errors() {
    passes("retries.py");
}

#[test]
fn estimates_are_listed() {
    let Some(mut run) = Run::new(&script("estimates.py")) else { return };
    run.output();
    let report = run.report();
    let said = report[0]["estimates"].as_array().unwrap();
    assert!(said.iter().any(|line| line["what"].as_str().unwrap().contains("CTC loss")), "{said:?}");

    let unmeasured = Card { measured: false, ..card("Other", H200_BYTES) };
    let Some(run) = Run::new(&script("estimates.py")) else { return };
    run.with("OOMPH_HOLLOW_CARDS", json!([unmeasured]).to_string()).arguments(&["unmeasured"]).output();
}

#[test]
fn two_cards_are_apart() {
    let Some(run) = Run::new(&script("two_devices.py")) else { return };
    let cards = json!([card("NVIDIA H200", H200_BYTES), card("Other", 80 << 30)]);
    let mut run = run.with("OOMPH_HOLLOW_CARDS", cards.to_string());
    run.output();
    assert_eq!(run.report()[0]["peak_device_bytes"].as_array().unwrap().len(), 2);
}

#[test]
fn visible_devices_are_respected() {
    let Some(run) = Run::new(Path::new("-c")) else { return };
    let cards = json!([card("First", H200_BYTES), card("Second", 80 << 30)]);
    let mut run = run
        .arguments(&["import torch; print(torch.cuda.device_count(), torch.cuda.get_device_name(0))"])
        .with("OOMPH_HOLLOW_CARDS", cards.to_string())
        .with("CUDA_VISIBLE_DEVICES", "1");
    assert_eq!(String::from_utf8_lossy(&run.output().stdout), "1 Second\n");
}

/// Peaks of a training run, as the card itself had them.
#[test]
fn peaks_of_mlps_are_those_of_the_card() {
    let truth = std::fs::read_to_string(repository().join("corpus/h200/h200.jsonl")).unwrap();
    let scripts = repository().join("corpus/h200/scripts");
    let mut tried = 0;
    for case in truth.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let arguments: Vec<&str> = case["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        if case["script"] != "plain.py" || !arguments.starts_with(&["--model", "mlp"]) {
            continue;
        }
        let Some(run) = Run::new(&scripts.join("measure.py")) else { return };
        let out = run.folder.path().join("out.json");
        let run = run.arguments(&[out.to_str().unwrap(), "-", scripts.join("plain.py").to_str().unwrap()]);
        let mut run = run.arguments(&arguments);
        run.output();
        let found: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
        for key in ["end", "peak_allocated_bytes", "peak_reserved_bytes", "peak_requested_bytes", "count_segment"] {
            assert_eq!(found[key], case[key], "{key} of {arguments:?}");
        }
        tried += 1;
    }
    assert!(tried >= 3, "the corpus has MLPs");
}
