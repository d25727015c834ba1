//! The command line as a whole: global options, the list of verbs and the text their help pages share.

use std::ffi::OsString;

use clap::{ArgMatches, Parser, Subcommand, ValueEnum};

use crate::error::Error;
use crate::verbs::{Verdict, check, completions, doc, explain, lsp, man, plan, replay, run, top};

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
        It says before a job starts what it will take (plan), finds what makes it fit (plan --fit), records it while it \
        runs (run, top), and names the line to blame when memory runs out (run, explain), with a proof: a replay of the \
        same run without the bytes of that line, in which the failed request fits. Scripts are not edited. Planning needs \
        your own torch and no GPU; explaining and checking need neither.",
    after_long_help = concat!(
        "Examples:\n  \
        oomph check                                       which lines will cost memory?\n  \
        oomph plan train.py                               will it fit, on which cards?\n  \
        oomph plan --fit train.py                         what makes it fit?\n  \
        oomph run train.py                                run it, and what did it take?\n  \
        oomph explain snapshot.pickle                     why did memory run out?\n  \
        oomph explain train.log                           a first verdict from the log\n  \
        oomph replay snapshot.pickle                      would a setting have helped?\n  \
        oomph top                                         what holds memory now?\n  \
        oomph doc fragmentation                           what does a verdict mean?\n\n",
        "Data goes to stdout, everything else to stderr. 'oomph help VERB' tells more."
    ),
    term_width = crate::output::width()
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
    Run(run::Args),
    Explain(explain::Args),
    Replay(replay::Args),
    Top(top::Args),
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
            Self::Run(args) => return run::run(args),
            Self::Explain(args) => explain::run(args),
            Self::Replay(args) => replay::run(args),
            Self::Top(args) => top::run(args),
            Self::Doc(args) => doc::run(args),
            Self::Completions(args) => completions::run(args),
            Self::Man(args) => man::run(args),
        }?;
        Ok(Verdict::Yes)
    }
}

/// Whether the verb was asked for JSON.
pub(crate) fn wants_json(matches: &ArgMatches) -> bool {
    let flag = |verb: &ArgMatches| matches!(verb.try_get_one::<bool>("json"), Ok(Some(true)));
    matches.subcommand().is_some_and(|(_, verb)| flag(verb))
}

/// The same of a command line that could not be understood; what follows `--` belongs to others.
pub(crate) fn asks_for_json(args: impl Iterator<Item = OsString>) -> bool {
    args.skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// The first sentence of clap's message, and its tip or usage as the way out.
pub(crate) fn split_usage(text: &str) -> (String, Option<String>) {
    let mut paragraphs = text.trim().split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    let hint = paragraphs.find(|part| part.starts_with("tip: ") || part.starts_with("Usage: "));
    (message, hint.map(|hint| hint.strip_prefix("tip: ").unwrap_or(&hint).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clap_says_becomes_a_message_and_a_hint() {
        let text =
            "error: unexpected argument '--jsn' found\n\n  tip: a similar argument exists: '--json'\n\nUsage: x\n";
        let (message, hint) = split_usage(text);
        assert_eq!(message, "unexpected argument '--jsn' found");
        assert_eq!(hint.as_deref(), Some("a similar argument exists: '--json'"));
        assert_eq!(split_usage("error: no"), ("no".to_owned(), None));
    }

    #[test]
    fn json_is_asked_for_before_a_double_dash() {
        let asks = |args: &[&str]| asks_for_json(args.iter().map(OsString::from));
        assert!(asks(&["oomph", "explain", "--json", "--nonsense"]));
        assert!(!asks(&["oomph", "plan", "--", "train.py", "--json"]) && !asks(&["--json"]));
    }

    #[test]
    fn definitions_are_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
