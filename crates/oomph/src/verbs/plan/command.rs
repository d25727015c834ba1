//! What is to be run: a script, a module, or a launcher's command line.

use std::ffi::OsString;

use oomph_plan::promise::Promise;
use oomph_plan::search::Cards;
use oomph_plan::values::Values;
use oomph_plan::whole_loops::WholeLoops;
use oomph_plan::{Forks, Job, Launch, Target};

use super::{Args, Ranks, launch};
use crate::command_line::{self, Verb};
use crate::error::Error;

/// Options of torchrun that take no value.
const SWITCHES: [&str; 6] = ["standalone", "module", "m", "no-python", "run-path", "use-env"];

const PLAN: Verb = Verb { name: "plan", options: command_line::options_of::<Args> };

/// The job the command line describes.
pub(super) fn job(args: &Args) -> Result<Job, Error> {
    let mut job = Job {
        command: command_line::command(PLAN, args.python.as_deref(), &args.job.module, &args.job.command)?,
        steps: args.steps,
        batches: args.batches,
        launch: launch(args),
        has_all_ranks: args.ranks == Ranks::All,
        show_output: args.show_output,
        disk_limit_bytes: args.disk_limit.0,
        remedies: Vec::new(),
        allocator: None,
        is_surveyed: args.fit,
        values: Values::within(args.values),
        whole_loops: WholeLoops::default(),
        forks: if args.fit { Forks::wanted() } else { Forks::default() },
        is_host_only: false,
        seeks_growth: false,
        needs_card: !args.fit,
    };
    if let Some(words) = command_line::launcher_words(&args.job) {
        set_launch(&mut job, words, args)?;
    }
    if let (true, Some(gpus), Some(processes)) = (args.fit, args.gpus, job.launch.processes_per_node)
        && gpus != processes
    {
        return Err(Error::CardsContradict { gpus, processes });
    }
    Ok(job)
}

/// Over how many cards `--fit` may divide the job.
pub(super) fn cards(args: &Args, job: &Job) -> Cards {
    match args.gpus {
        _ if job.launch.processes_per_node.is_some() => Cards::One,
        Some(count) if count > 1 => Cards::All(count),
        _ => Cards::HowMany,
    }
}

/// Puts into a job what a plan file says.
pub(super) fn follow(plan: Promise, job: &mut Job, args: &Args) -> Result<(), Error> {
    job.remedies.extend(plan.remedies);
    job.allocator = plan.allocator;
    let Some(gpus) = plan.gpus else { return Ok(()) };
    let processes = job.launch.processes_per_node.or(args.gpus).unwrap_or(gpus);
    if processes != gpus {
        return Err(Error::CardsContradict { gpus, processes });
    }
    job.launch = Launch { processes_per_node: Some(gpus), nodes: 1, rank: 0 };
    Ok(())
}

/// Says which options of ours the script got instead.
pub(super) fn warn_of_misplaced_options(job: &Job) {
    command_line::warn_of_misplaced_options(PLAN, &job.command);
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
        let (first, rest) = words.split_first().ok_or(Error::NothingToRun { verb: PLAN.name })?;
        job.command.target = Target::Module(first.to_string_lossy().into_owned());
        job.command.arguments = rest.to_vec();
        return Ok(());
    }
    command_line::set_target(PLAN, &mut job.command, words)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{self, Cli};

    fn read(line: &str) -> Job {
        let cli = Cli::try_parse_from(line.split_whitespace()).expect(line);
        let args::Verb::Plan(args) = cli.verb else { panic!("{line}") };
        job(&args).expect(line)
    }

    fn words(job: &Job) -> Vec<&str> {
        job.command.arguments.iter().map(|word| word.to_str().expect("plain")).collect()
    }

    #[test]
    fn options_stand_before_the_script() {
        let job = read("oomph plan --steps 5 train.py --steps 9 --json -m x");
        assert_eq!((job.steps, &job.command.target), (Some(5), &Target::Script("train.py".into())));
        assert_eq!(words(&job), ["--steps", "9", "--json", "-m", "x"]);
    }

    #[test]
    fn modules_take_everything_behind_them() {
        let job = read("oomph plan --steps 5 -m pkg.train --steps 9 data --json");
        assert_eq!((job.steps, &job.command.target), (Some(5), &Target::Module("pkg.train".into())));
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
            assert_eq!(job.command.target, Target::Script("train.py".into()), "{line}");
            assert_eq!((job.launch.processes_per_node, job.launch.world_size()), (Some(8), 16), "{line}");
            assert_eq!(words(&job), ["--lr", "1"], "{line}");
        }
        let job = read("oomph plan torchrun --nproc-per-node 4 -m pkg.train --lr 1");
        assert_eq!((job.command.target, job.launch.world_size()), (Target::Module("pkg.train".into()), 4));
    }

    #[test]
    fn an_option_nobody_has_is_no_script() {
        for (line, meant) in
            [("--step 5 train.py", Some("--steps")), ("--batch=4 train.py", Some("--batches")), ("--zzz x", None)]
        {
            let line = format!("oomph plan {line}");
            let args::Verb::Plan(args) = Cli::try_parse_from(line.split_whitespace()).expect(&line).verb else {
                panic!("{line}")
            };
            let Err(Error::UnknownOption { similar, .. }) = job(&args) else { panic!("{line} was taken for a script") };
            assert_eq!(similar.as_deref(), meant, "{line}");
        }
    }

    #[test]
    fn a_python_in_front_is_forgiven() {
        let job = read("oomph plan python train.py --lr 1");
        assert_eq!((&job.command.target, words(&job)), (&Target::Script("train.py".into()), vec!["--lr", "1"]));
    }

    #[test]
    fn a_job_is_named_as_it_was_typed() {
        let typed = |line: &str| super::super::fitting::typed(&read(line));
        assert_eq!(typed("oomph plan --fit train.py --lr 1"), "train.py");
        assert_eq!(typed("oomph plan --fit -m pkg.train --lr 1"), "-m pkg.train");
        assert_eq!(typed("oomph plan --fit torchrun --nproc-per-node 4 train.py --lr 1"), "torchrun ... train.py");
    }
}
