//! The job's first process: its start, its end, and ours if somebody wants it sooner.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::personality::{self, Persona};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::JobError;
use crate::family;
use crate::guard::Guard;
use crate::input::Input;
use crate::layer::Layer;

/// How often the process is looked at: short beside any job, and no work to speak of.
pub(crate) const LOOK: Duration = Duration::from_millis(5);
/// How often the watch is asked, and the layer measured.
const ROUND: Duration = Duration::from_millis(200);
/// How long processes may take to write down what they know, after they were asked to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// What to start.
#[derive(Debug)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables on top of our own.
    pub environment: Vec<(OsString, OsString)>,
    /// Where its output goes; to our standard error where there is none.
    pub output: Option<File>,
}

/// Whoever follows a job while it runs.
pub trait Watch {
    /// Called now and then. Returns whether the job should go on.
    fn look(&mut self) -> bool;

    /// The processes that have something to tell and have not told it yet.
    fn working(&self) -> Vec<u32>;
}

/// How a job ended.
#[derive(Debug)]
pub struct Ended {
    /// How its first process ended; none if it was ended with the job.
    pub status: Option<ExitStatus>,
    /// Whether somebody asked for the end by Ctrl-C.
    pub is_interrupted: bool,
}

/// The signal that asks a process of the job to write down what it knows and to end. No program uses it by habit.
#[must_use]
pub fn stop_signal() -> i32 {
    libc::SIGRTMIN() + 7
}

impl Program {
    /// Runs the program to its end, and ends every process that comes from it.
    ///
    /// Ctrl-C asks the processes for what they know so far; a second one, or a signal that wants us gone, ends them.
    ///
    /// # Errors
    /// If it cannot be started, is interrupted for good, or outgrows its layer.
    pub fn run(&self, layer: &Layer, watch: &mut dyn Watch) -> Result<Ended, JobError> {
        let signals = Signals::catch();
        family::adopt_orphans();
        keep_addresses();
        let input = Input::own();
        let result = self.start(layer, &input).and_then(|mut child| {
            let mut ended = || child.try_wait().map_err(JobError::from);
            follow(&mut ended, layer, watch, &signals)
        });
        family::end_all();
        input.rewind();
        has_room(layer).and(result)
    }

    pub(crate) fn start(&self, layer: &Layer, input: &Input) -> Result<Child, JobError> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        match &self.output {
            Some(file) => command.stdout(file.try_clone()?).stderr(file.try_clone()?),
            None => command.stdout(Stdio::from(std::io::stderr())).stderr(Stdio::inherit()),
        };
        let guard = Guard::prepare(layer.writable());
        // In a group of its own: Ctrl-C at the terminal is for us, who pass it on.
        command.stdin(input.for_child()).process_group(0);
        let prepare = move || {
            // SAFETY: a plain system call.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
            // The layer's library does the work; where the kernel refuses to help there is nothing to be done about it.
            let _ = guard.as_ref().map(Guard::enforce);
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made, on what was prepared before.
        unsafe { command.pre_exec(prepare) };
        command.spawn().map_err(|source| JobError::NoProgram { path: self.path.clone(), source })
    }
}

/// Whether the layer held everything that was written.
pub(crate) fn has_room(layer: &Layer) -> Result<(), JobError> {
    let Some(stopped) = layer.stopped() else { return Ok(()) };
    Err(JobError::LayerFull { limit_bytes: layer.limit_bytes(), path: stopped.path, bytes: stopped.bytes })
}

/// Waits for the end of the first process, of which `ended` says how it came, and for those after it that still have
/// something to tell.
pub(crate) fn follow(
    ended: &mut dyn FnMut() -> Result<Option<ExitStatus>, JobError>,
    layer: &Layer,
    watch: &mut dyn Watch,
    signals: &Signals,
) -> Result<Ended, JobError> {
    let mut status = None;
    let mut asked_at: Option<Instant> = None;
    let mut round = Instant::now();
    loop {
        if status.is_none() {
            status = ended()?;
        }
        if signals.wants_us_gone() || signals.interrupts() > 1 {
            return Err(JobError::Interrupted);
        }
        if signals.interrupts() == 1 && asked_at.is_none() {
            asked_at = Some(Instant::now());
            ask_to_end(watch);
        }
        let is_over = status.is_some() && watch.working().is_empty();
        if round.elapsed() >= ROUND || is_over {
            round = Instant::now();
            if !watch.look() {
                return Ok(Ended { status, is_interrupted: asked_at.is_some() });
            }
            if layer.size_bytes() > layer.limit_bytes() {
                let limit_bytes = layer.limit_bytes();
                return Err(JobError::LayerFull { limit_bytes, path: None, bytes: layer.size_bytes() });
            }
        }
        let has_told = asked_at.is_some() && watch.working().is_empty();
        if is_over || has_told || asked_at.is_some_and(|asked| asked.elapsed() > PATIENCE) {
            return Ok(Ended { status, is_interrupted: asked_at.is_some() });
        }
        std::thread::sleep(LOOK);
    }
}

fn ask_to_end(watch: &dyn Watch) {
    for process in watch.working() {
        // SAFETY: a plain system call; the process is one of ours, or gone.
        unsafe { libc::kill(Pid::from_raw(process.cast_signed()).as_raw(), stop_signal()) };
    }
}

/// Gives the commands that are started from now on the same addresses in every run: where PyTorch's allocator chooses
/// between equal blocks by address, the same plan comes out each time.
pub(crate) fn keep_addresses() {
    // A container may forbid it. The plan is no worse for it: a card's run differs from the next in this too.
    if let Ok(persona) = personality::get() {
        let _ = personality::set(persona | Persona::ADDR_NO_RANDOMIZE);
    }
}

/// The signals that would end this process, counted instead for as long as this value lives.
pub(crate) struct Signals {
    interrupts: Arc<AtomicUsize>,
    others: Arc<AtomicUsize>,
    handlers: Vec<signal_hook::SigId>,
}

impl Signals {
    pub(crate) fn catch() -> Self {
        let (interrupts, others) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut handlers = Vec::new();
        for (signal, counter) in [(SIGINT, &interrupts), (SIGTERM, &others), (SIGHUP, &others)] {
            let counter = Arc::clone(counter);
            // SAFETY: the handler adds to an atomic number, which is allowed in one.
            let registered = unsafe {
                signal_hook::low_level::register(signal, move || {
                    counter.fetch_add(1, Ordering::Relaxed);
                })
            };
            handlers.extend(registered.ok());
        }
        Self { interrupts, others, handlers }
    }

    pub(crate) fn interrupts(&self) -> usize {
        self.interrupts.load(Ordering::Relaxed)
    }

    pub(crate) fn wants_us_gone(&self) -> bool {
        self.others.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            signal_hook::low_level::unregister(handler);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workspace;

    /// A process runs one job at a time: at its end every descendant is ended.
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    struct Nobody;

    impl Watch for Nobody {
        fn look(&mut self) -> bool {
            true
        }

        fn working(&self) -> Vec<u32> {
            Vec::new()
        }
    }

    /// Runs a shell without the layer's library: what is left is the kernel's guard.
    fn shell(text: &str) -> (i32, Workspace) {
        let workspace = Workspace::create().expect("a folder");
        let layer = Layer::create(workspace.folder(), 1 << 30, Vec::new()).expect("a layer");
        let program = Program {
            path: "sh".into(),
            arguments: vec!["-c".into(), text.into()],
            environment: layer.environment(&[]).into_iter().map(|(name, value)| (name.into(), value)).collect(),
            output: Some(tempfile::tempfile().expect("a file")),
        };
        let ended = program.run(&layer, &mut Nobody).expect("it runs");
        (ended.status.and_then(|status| status.code()).expect("a code"), workspace)
    }

    #[test]
    fn a_job_ends_with_its_own_code_and_takes_its_children_along() {
        let _alone = ALONE.lock();
        let (code, _) = shell("sleep 300 & exit 7");
        assert_eq!(code, 7);
        assert!(family::descendants().is_empty());
    }

    #[test]
    fn the_kernel_refuses_what_the_layer_does_not_catch() {
        if Guard::prepare(std::iter::empty()).is_none() {
            // An old kernel: the layer is alone.
            return;
        }
        let _alone = ALONE.lock();
        let outside = tempfile::tempdir().expect("a folder");
        let kept = outside.path().join("kept");
        std::fs::write(&kept, "mine").expect("written");
        let place = kept.display();
        let text = format!(
            "echo changed > '{place}'; rm -f '{place}'; mv '{place}' '{place}.moved'; mkdir '{place}.made'; \
             echo x > \"$OOMPH_LAYER/inside\" && echo x > /dev/null"
        );
        let (code, workspace) = shell(&text);
        assert_eq!(code, 0, "the layer's own folder and devices can be written");
        assert!(workspace.folder().join("layer/inside").exists());
        assert_eq!(std::fs::read_to_string(&kept).expect("still there"), "mine");
        assert_eq!(std::fs::read_dir(outside.path()).expect("a folder").count(), 1);
    }
}
