//! The `oomph` command: the only crate that prints.
//!
//! A verb reads its arguments, calls the libraries and hands text to [`output`]; here every outcome becomes an exit
//! code, in one place: 0 for success, 2 for an error, and success too when the reader of a pipe has had enough.

mod args;
mod bytes;
mod error;
mod output;
mod pages;
mod progress;
mod source;
mod verbs;

use std::process::ExitCode;

use clap::Parser as _;

use crate::error::Error;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    cli.color.apply();
    match cli.verb.run() {
        Ok(()) | Err(Error::ClosedPipe) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::from(2)
        }
    }
}
