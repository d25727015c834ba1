//! What is to be run: a script, a module, or a launcher's command line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args as _;
use oomph_plan::{Job, Target};

use super::{Args, launch};
use crate::error::Error;

/// Options of torchrun and `accelerate launch` that take no value.
const SWITCHES: [&str; 14] = [
    "standalone",
    "module",
    "m",
    "no-python",
    "run-path",
    "use-env",
    "multi-gpu",
    "use-fsdp",
    "use-deepspeed",
    "same-network",
    "debug",
    "quiet",
    "q",
    "use-agent-store",
];

/// The job the command line describes.
pub(super) fn job(args: &Args) -> Result<Job, Error> {
    let mut job = Job {
        python: args.python.clone().unwrap_or_else(Job::default_python),
        target: Target::Module(String::new()),
        arguments: Vec::new(),
        steps: args.steps,
        batches: args.batches,
        launch: launch(args),
        show_output: args.show_output,
    };
    let Some((first, rest)) = args.module.split_first() else {
        let (first, rest) = args.command.split_first().ok_or(Error::NothingToPlan)?;
        let launched = match Path::new(first).file_name().and_then(OsStr::to_str) {
            Some("torchrun") => Some(rest),
            Some("accelerate") if rest.first().is_some_and(|word| word == "launch") => Some(&rest[1..]),
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
        job.target = Target::Script(script);
        job.arguments = rest.to_vec();
    }
    Ok(())
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
            "nproc-per-node" | "num-processes" => processes = value,
            "nnodes" | "num-machines" => nodes = value.and_then(|value| value.parse().ok()).unwrap_or(1),
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
        assert_eq!((job.steps, &job.target), (5, &Target::Script("train.py".into())));
        assert_eq!(words(&job), ["--steps", "9", "--json", "-m", "x"]);
    }

    #[test]
    fn modules_take_everything_behind_them() {
        let job = read("oomph plan --steps 5 -m pkg.train --steps 9 data --json");
        assert_eq!((job.steps, &job.target), (5, &Target::Module("pkg.train".into())));
        assert_eq!(words(&job), ["--steps", "9", "data", "--json"]);
    }

    #[test]
    fn launchers_are_understood() {
        for line in [
            "oomph plan torchrun --nproc-per-node 8 --nnodes=2 --standalone train.py --lr 1",
            "oomph plan torchrun --nproc_per_node=8 --nnodes 2 --rdzv-backend c10d train.py --lr 1",
            "oomph plan -m torch.distributed.run --nproc-per-node 8 --nnodes 2 train.py --lr 1",
            "oomph plan accelerate launch --multi_gpu --num_processes 8 --num_machines 2 train.py --lr 1",
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
