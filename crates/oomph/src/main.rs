//! The `oomph` command: the only crate that prints.
//!
//! A verb reads its arguments, calls the libraries and hands text to [`output`]; here every outcome becomes an exit
//! code, in one place: 0 for success or a yes, 1 for a no, 2 for an error, a script's own where one was run, and success
//! too when the reader of a pipe has had enough.

mod args;
mod bytes;
mod command_line;
mod error;
mod levels;
mod numbers;
mod output;
mod pages;
mod progress;
mod settings;
mod source;
mod source_text;
mod verbs;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::error::Error;
use crate::verbs::Verdict;

fn main() -> ExitCode {
    let parsed = args::Cli::command()
        .try_get_matches()
        .and_then(|matches| Ok((args::Cli::from_arg_matches(&matches)?, args::wants_json(&matches))));
    let (cli, as_json) = match parsed {
        Ok(parsed) => parsed,
        Err(problem) => return usage(&problem),
    };
    cli.color.apply();
    match cli.verb.run() {
        Ok(Verdict::Yes) | Err(Error::ClosedPipe) => ExitCode::SUCCESS,
        Ok(Verdict::No) => ExitCode::from(1),
        Ok(Verdict::Failed) => ExitCode::from(2),
        Ok(Verdict::Script(code)) => ExitCode::from(code),
        Ok(Verdict::Signal(signal)) => oomph_job::real::die_by(signal),
        Err(error) => {
            if as_json {
                output::error_as_json(&error.to_string(), error.hint().as_deref(), error.evidence());
            }
            output::error(&error);
            ExitCode::from(2)
        }
    }
}

/// What clap itself has to say: help and versions are answers, all else is an error.
fn usage(problem: &clap::Error) -> ExitCode {
    if problem.use_stderr() && args::asks_for_json(std::env::args_os()) {
        let (message, hint) = args::split_usage(&problem.render().to_string());
        output::error_as_json(&message, hint.as_deref(), None);
    }
    // Nobody is left to tell when the stream is closed.
    let _ = problem.print();
    if problem.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}
