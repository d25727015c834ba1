//! What the words after our own options mean: a script, a module, or a program that starts one.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use oomph_job::{Command, Target};

use crate::error::Error;
use crate::output;

/// What is planned or run: the words after our own options.
#[derive(Debug, clap::Args)]
pub(crate) struct JobWords {
    /// Run a module, as 'python -m' does; everything after its name is given to it
    #[arg(short = 'm', value_name = "MODULE", num_args = 1.., allow_hyphen_values = true)]
    pub(crate) module: Vec<OsString>,

    /// The script and its arguments, a notebook, a torchrun command, or a program that starts Python
    #[arg(
        value_name = "SCRIPT",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "module"
    )]
    pub(crate) command: Vec<OsString>,
}

/// The verb whose options stand before the words.
#[derive(Clone, Copy)]
pub(crate) struct Verb {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its options, without dashes.
    pub(crate) options: fn() -> Vec<String>,
}

/// The long options that clap knows of a verb.
pub(crate) fn options_of<A: clap::Args>() -> Vec<String> {
    let known = A::augment_args(clap::Command::new("oomph"));
    known.get_opts().filter_map(clap::Arg::get_long).map(str::to_owned).collect()
}

/// What stands after PyTorch's own launcher, where the job is started by it.
pub(crate) fn launcher_words(job: &JobWords) -> Option<&[OsString]> {
    let (first, rest) = job.module.split_first().or_else(|| job.command.split_first())?;
    let is_launcher = if job.module.is_empty() {
        Path::new(first).file_name() == Some(OsStr::new("torchrun"))
    } else {
        matches!(first.to_str(), Some("torch.distributed.run" | "torch.distributed.launch"))
    };
    is_launcher.then_some(rest)
}

/// The command in `SCRIPT ARGS`, `python SCRIPT ARGS` or, in `module`, what stands after `-m`.
pub(crate) fn command(
    verb: Verb,
    python: Option<&Path>,
    module: &[OsString],
    words: &[OsString],
) -> Result<Command, Error> {
    let mut command = Command {
        python: python.map_or_else(Command::default_python, Path::to_path_buf),
        is_python_named: python.is_some(),
        target: Target::Module(String::new()),
        arguments: Vec::new(),
    };
    if let Some((first, rest)) = module.split_first() {
        command.target = Target::Module(first.to_string_lossy().into_owned());
        command.arguments = rest.to_vec();
        return Ok(command);
    }
    let first = words.first().ok_or(Error::NothingToRun { verb: verb.name })?;
    // `python train.py` is what people have in their history.
    let name = Path::new(first).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_python = name.starts_with("python") && !Path::new(first).is_file();
    set_target(verb, &mut command, &words[usize::from(is_python)..])?;
    Ok(command)
}

/// `SCRIPT ARGS` or `-m MODULE ARGS`.
pub(crate) fn set_target(verb: Verb, command: &mut Command, words: &[OsString]) -> Result<(), Error> {
    let (first, rest) = words.split_first().ok_or(Error::NothingToRun { verb: verb.name })?;
    if first == "-m" {
        let (module, rest) = rest.split_first().ok_or(Error::NothingToRun { verb: verb.name })?;
        command.target = Target::Module(module.to_string_lossy().into_owned());
        command.arguments = rest.to_vec();
    } else {
        let script = PathBuf::from(first);
        if first.as_encoded_bytes().starts_with(b"-") && !script.exists() {
            return Err(unknown_option(verb, &first.to_string_lossy()));
        }
        command.arguments = rest.to_vec();
        command.target = match program(&script, &command.python) {
            Some(program) => Target::Program(program),
            None if is_shell_script(&script) => {
                command.arguments.insert(0, script.into());
                Target::Program("bash".into())
            }
            None => Target::Script(script),
        };
    }
    Ok(())
}

/// The program that a word on the command line stands for, where it is no Python script: a file that the system can
/// execute, or a command that lies beside the interpreter or on the path.
fn program(word: &Path, python: &Path) -> Option<PathBuf> {
    if word.is_dir() || is_python(word) {
        return None;
    }
    if word.exists() {
        return is_executable(word).then(|| std::path::absolute(word).ok()).flatten();
    }
    if word.components().count() != 1 {
        return None;
    }
    let beside = python.parent().map(Path::to_path_buf).into_iter();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = beside.chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(word)).find(|file| file.is_file() && is_executable(file))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// Whether a file is Python's: by its name, or by its first line.
fn is_python(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    matches!(extension, "py" | "pyw" | "pyz" | "zip" | "ipynb")
        || first_line(path).is_some_and(|line| line.starts_with("#!") && line.contains("python"))
        || path.is_file() && !is_executable(path) && !is_shell_script(path)
}

fn is_shell_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sh" || extension == "bash")
}

fn first_line(path: &Path) -> Option<String> {
    let mut line = String::new();
    // What is no text is no script.
    BufReader::new(File::open(path).ok()?).take(256).read_line(&mut line).ok()?;
    Some(line)
}

/// Options of ours that stand after the script are the script's. One that its text does not even mention was meant for
/// us.
pub(crate) fn warn_of_misplaced_options(verb: Verb, command: &Command) {
    let Target::Script(script) = &command.target else { return };
    let Ok(text) = std::fs::read_to_string(script) else { return };
    let ours = (verb.options)();
    let given = command.arguments.iter().filter_map(|word| word.to_str()?.strip_prefix("--"));
    for option in given.map(|word| word.split_once('=').map_or(word, |(name, _)| name)) {
        if ours.iter().any(|known| known == option)
            && !text.contains(option)
            && !text.contains(&option.replace('-', "_"))
        {
            output::warning(&format!(
                "--{option} stands after {name}, so it was passed to the script, which does not mention it; options of \
                 oomph stand before the script: oomph {verb} --{option} ... {name}",
                verb = verb.name,
                name = script.display()
            ));
        }
    }
}

/// What stands where the script should and looks like an option: clap lets everything pass that may be the script's.
fn unknown_option(verb: Verb, text: &str) -> Error {
    let option = text.split_once('=').map_or(text, |(name, _)| name);
    let names = (verb.options)().into_iter().map(|name| format!("--{name}"));
    let similar = names
        .map(|name| (strsim::jaro_winkler(option, &name), name))
        .filter(|(likeness, _)| *likeness > 0.87)
        .max_by(|left, right| left.0.total_cmp(&right.0));
    Error::UnknownOption { verb: verb.name, option: option.to_owned(), similar: similar.map(|(_, name)| name) }
}
