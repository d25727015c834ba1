//! The `oomph` command: the only crate that prints.
//!
//! A verb reads its arguments, calls the libraries and hands text to [`output`]; here every outcome becomes an exit
//! code, in one place: 0 for success or a yes, 1 for a no, 2 for an error, and success too when the reader of a pipe has
//! had enough.

mod args;
mod bytes;
mod error;
mod output;
mod pages;
mod progress;
mod settings;
mod source;
mod source_text;
mod verbs;

use std::process::ExitCode;

use clap::Parser as _;

use crate::error::Error;
use crate::verbs::Verdict;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    cli.color.apply();
    match cli.verb.run() {
        Ok(Verdict::Yes) | Err(Error::ClosedPipe) => ExitCode::SUCCESS,
        Ok(Verdict::No) => ExitCode::from(1),
        Ok(Verdict::Failed) => ExitCode::from(2),
        Err(error) => {
            output::error(&error);
            ExitCode::from(2)
        }
    }
}
