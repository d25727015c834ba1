//! `oomph completions SHELL`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::Error;
use crate::output;

/// Print a script that teaches your shell to complete oomph's commands
///
/// Load it from your shell's start-up file, or save it where your shell looks for completions.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  \
    source <(oomph completions bash)                          # in ~/.bashrc\n  \
    oomph completions zsh > ~/.zfunc/_oomph\n  \
    oomph completions fish > ~/.config/fish/completions/oomph.fish")]
pub(crate) struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "oomph", &mut script);
    output::data(&String::from_utf8_lossy(&script))
}
