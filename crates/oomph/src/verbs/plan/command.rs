//! What is to be run: a script, a module, or a launcher's command line.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args as _;
use oomph_plan::{Job, Target};

use super::{Args, Ranks, launch};
use crate::error::Error;
use crate::output;

/// Options of torchrun that take no value.
const SWITCHES: [&str; 6] = ["standalone", "module", "m", "no-python", "run-path", "use-env"];

/// The job the command line describes.
pub(super) fn job(args: &Args) -> Result<Job, Error> {
    let mut job = Job {
        python: args.python.clone().unwrap_or_else(Job::default_python),
        is_python_named: args.python.is_some(),
        target: Target::Module(String::new()),
        arguments: Vec::new(),
        steps: args.steps,
        batches: args.batches,
        launch: launch(args),
        has_all_ranks: args.ranks == Ranks::All,
        show_output: args.show_output,
        disk_limit_bytes: args.disk_limit.0,
    };
    let Some((first, rest)) = args.module.split_first() else {
        let (first, rest) = args.command.split_first().ok_or(Error::NothingToPlan)?;
        let launched = match Path::new(first).file_name().and_then(OsStr::to_str) {
            Some("torchrun") => Some(rest),
            // `python train.py` is what people have in their history.
            Some(name) if name.starts_with("python") && !Path::new(first).is_file() => {
                return set_target(&mut job, rest).map(|()| job);
            }
            _ => None,
        };
        match launched {
            Some(words) => set_launch(&mut job, words, args)?,
            None => set_target(&mut job, &args.command)?,
        }
        return Ok(job);
    };
    if matches!(first.to_str(), Some("torch.distributed.run" | "torch.distributed.launch")) {
        set_launch(&mut job, rest, args)?;
    } else {
        job.target = Target::Module(first.to_string_lossy().into_owned());
        job.arguments = rest.to_vec();
    }
    Ok(job)
}

/// `SCRIPT ARGS` or `-m MODULE ARGS`.
fn set_target(job: &mut Job, words: &[OsString]) -> Result<(), Error> {
    let (first, rest) = words.split_first().ok_or(Error::NothingToPlan)?;
    if first == "-m" {
        let (module, rest) = rest.split_first().ok_or(Error::NothingToPlan)?;
        job.target = Target::Module(module.to_string_lossy().into_owned());
        job.arguments = rest.to_vec();
    } else {
        let script = PathBuf::from(first);
        if first.as_encoded_bytes().starts_with(b"-") && !script.exists() {
            return Err(unknown_option(&first.to_string_lossy()));
        }
        job.arguments = rest.to_vec();
        job.target = match program(&script, &job.python) {
            Some(program) => Target::Program(program),
            None if is_shell_script(&script) => {
                job.arguments.insert(0, script.into());
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
pub(super) fn warn_of_misplaced_options(job: &Job) {
    let Target::Script(script) = &job.target else { return };
    let Ok(text) = std::fs::read_to_string(script) else { return };
    let known = Args::augment_args(clap::Command::new("plan"));
    let ours: Vec<&str> = known.get_opts().filter_map(clap::Arg::get_long).collect();
    let given = job.arguments.iter().filter_map(|word| word.to_str()?.strip_prefix("--"));
    for option in given.map(|word| word.split_once('=').map_or(word, |(name, _)| name)) {
        if ours.contains(&option) && !text.contains(option) && !text.contains(&option.replace('-', "_")) {
            output::warning(&format!(
                "--{option} stands after {name}, so it was passed to the script, which does not mention it; options of \
                 oomph stand before the script: oomph plan --{option} ... {name}",
                name = script.display()
            ));
        }
    }
}

/// What stands where the script should and looks like an option: clap lets everything pass that may be the script's.
fn unknown_option(text: &str) -> Error {
    let option = text.split_once('=').map_or(text, |(name, _)| name);
    let known = Args::augment_args(clap::Command::new("plan"));
    let names = known.get_opts().filter_map(clap::Arg::get_long).map(|name| format!("--{name}"));
    let similar = names
        .map(|name| (strsim::jaro_winkler(option, &name), name))
        .filter(|(likeness, _)| *likeness > 0.87)
        .max_by(|left, right| left.0.total_cmp(&right.0));
    Error::UnknownOption { option: option.to_owned(), similar: similar.map(|(_, name)| name) }
}

/// Reads a launcher's own options up to the script.
fn set_launch(job: &mut Job, words: &[OsString], args: &Args) -> Result<(), Error> {
    let mut processes = None;
    let mut nodes = 1;
    let mut module = false;
    let mut at = 0;
    while let Some(option) = words.get(at).and_then(|word| word.to_str()).and_then(|word| word.strip_prefix('-')) {
        at += 1;
        let option = option.trim_start_matches('-').replace('_', "-");
        let (name, mut value) = match option.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (option, None),
        };
        module |= name == "m" || name == "module";
        if value.is_none() && !SWITCHES.contains(&name.as_str()) {
            value = words.get(at).map(|word| word.to_string_lossy().into_owned());
            at += 1;
        }
        match name.as_str() {
            "nproc-per-node" => processes = value,
            "nnodes" => nodes = value.and_then(|value| value.parse().ok()).unwrap_or(1),
            _ => {}
        }
    }
    // `gpu` and `auto` mean one for each card.
    let by_cards = args.gpus.unwrap_or(1);
    let count = processes.map_or(by_cards, |text| text.parse().unwrap_or(by_cards));
    job.launch.processes_per_node = Some(job.launch.processes_per_node.unwrap_or(count));
    job.launch.nodes = job.launch.nodes.max(nodes);
    let words = &words[at.min(words.len())..];
    if module {
        let (first, rest) = words.split_first().ok_or(Error::NothingToPlan)?;
        job.target = Target::Module(first.to_string_lossy().into_owned());
        job.arguments = rest.to_vec();
        return Ok(());
    }
    set_target(job, words)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Verb};

    fn read(line: &str) -> Job {
        let cli = Cli::try_parse_from(line.split_whitespace()).expect(line);
        let Verb::Plan(args) = cli.verb else { panic!("{line}") };
        job(&args).expect(line)
    }

    fn words(job: &Job) -> Vec<&str> {
        job.arguments.iter().map(|word| word.to_str().expect("plain")).collect()
    }

    #[test]
    fn options_stand_before_the_script() {
        let job = read("oomph plan --steps 5 train.py --steps 9 --json -m x");
        assert_eq!((job.steps, &job.target), (Some(5), &Target::Script("train.py".into())));
        assert_eq!(words(&job), ["--steps", "9", "--json", "-m", "x"]);
    }

    #[test]
    fn modules_take_everything_behind_them() {
        let job = read("oomph plan --steps 5 -m pkg.train --steps 9 data --json");
        assert_eq!((job.steps, &job.target), (Some(5), &Target::Module("pkg.train".into())));
        assert_eq!(words(&job), ["--steps", "9", "data", "--json"]);
    }

    #[test]
    fn launchers_are_understood() {
        for line in [
            "oomph plan torchrun --nproc-per-node 8 --nnodes=2 --standalone train.py --lr 1",
            "oomph plan torchrun --nproc_per_node=8 --nnodes 2 --rdzv-backend c10d train.py --lr 1",
            "oomph plan -m torch.distributed.run --nproc-per-node 8 --nnodes 2 train.py --lr 1",
            "oomph plan --nproc-per-node 8 --nnodes 2 train.py --lr 1",
        ] {
            let job = read(line);
            assert_eq!(job.target, Target::Script("train.py".into()), "{line}");
            assert_eq!((job.launch.processes_per_node, job.launch.world_size()), (Some(8), 16), "{line}");
            assert_eq!(words(&job), ["--lr", "1"], "{line}");
        }
        let job = read("oomph plan torchrun --nproc-per-node 4 -m pkg.train --lr 1");
        assert_eq!((job.target, job.launch.world_size()), (Target::Module("pkg.train".into()), 4));
    }

    #[test]
    fn an_option_nobody_has_is_no_script() {
        for (line, meant) in
            [("--step 5 train.py", Some("--steps")), ("--batch=4 train.py", Some("--batches")), ("--zzz x", None)]
        {
            let line = format!("oomph plan {line}");
            let Verb::Plan(args) = Cli::try_parse_from(line.split_whitespace()).expect(&line).verb else {
                panic!("{line}")
            };
            let Err(Error::UnknownOption { similar, .. }) = job(&args) else { panic!("{line} was taken for a script") };
            assert_eq!(similar.as_deref(), meant, "{line}");
        }
    }

    #[test]
    fn a_python_in_front_is_forgiven() {
        let job = read("oomph plan python train.py --lr 1");
        assert_eq!((&job.target, words(&job)), (&Target::Script("train.py".into()), vec!["--lr", "1"]));
    }
}
