//! The command line as a whole: global options, the list of verbs and the text their help pages share.

use clap::{Parser, Subcommand, ValueEnum};

use crate::error::Error;
use crate::verbs::{Verdict, check, completions, doc, explain, lsp, man, plan, replay};

/// What every number in oomph's output means, shown at the foot of each help page.
pub(crate) const GLOSSARY: &str = "\
Words:
  allocated   bytes in blocks that tensors hold: torch.cuda.memory_allocated()
  reserved    bytes PyTorch took from the driver: torch.cuda.memory_reserved()
  device      bytes used on the card by everything: what NVML and nvidia-smi show";

/// The exit codes of every verb that exists so far.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0   done (whatever the verdict is)
  2   an error: a bad option, an unreadable file; nothing was written";

/// Everything on oomph's command line.
#[derive(Debug, Parser)]
#[command(
    name = "oomph",
    version,
    about = "Keeps PyTorch jobs inside their memory",
    long_about = "Keeps PyTorch jobs inside their memory.\n\n\
        Give it what PyTorch recorded before it ran out of memory and it names the line to blame, how many bytes that \
        line holds, and a proof: a replay of the same run without those bytes, in which the failed request fits. \
        It needs no GPU, no PyTorch and no network.\n\n\
        PyTorch records a snapshot like this:\n\n    \
        torch.cuda.memory._record_memory_history()\n    \
        ...                                        # the job\n    \
        torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")",
    after_long_help = concat!(
        "Examples:\n  \
        oomph check                                       which lines will cost memory?\n  \
        oomph explain snapshot.pickle                     why did memory run out?\n  \
        oomph explain snapshot.pickle --html report.html  the same, to look around in\n  \
        oomph replay snapshot.pickle                      would a setting have helped?\n  \
        oomph doc fragmentation                           what does a verdict mean?\n\n",
        "Data goes to stdout, everything else to stderr. 'oomph help VERB' tells more."
    ),
    max_term_width = 80
)]
pub(crate) struct Cli {
    /// When to colour the output
    #[arg(long, global = true, value_name = "WHEN", default_value_t, value_enum)]
    pub(crate) color: Color,

    /// What to do
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// When output is coloured. Colour never carries meaning that the text lacks.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Even into a pipe or a file
    Always,
    /// Not at all
    Never,
}

impl std::fmt::Display for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        })
    }
}

impl Color {
    /// Makes the choice hold for every stream of this process.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// One entry a verb; the order is that of the help page.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Check(check::Args),
    Plan(plan::Args),
    Explain(explain::Args),
    Replay(replay::Args),
    Doc(doc::Args),
    Lsp(lsp::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Verb {
    /// Does what the user asked for.
    pub(crate) fn run(&self) -> Result<Verdict, Error> {
        match self {
            Self::Check(args) => return check::run(args),
            Self::Lsp(args) => return lsp::run(args),
            Self::Plan(args) => return plan::run(args),
            Self::Explain(args) => explain::run(args),
            Self::Replay(args) => replay::run(args),
            Self::Doc(args) => doc::run(args),
            Self::Completions(args) => completions::run(args),
            Self::Man(args) => man::run(args),
        }?;
        Ok(Verdict::Yes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
