//! `oomph man [DIR]`.

use std::io::Write as _;
use std::path::PathBuf;

use clap::CommandFactory as _;

use crate::args::Cli;
use crate::error::Error;
use crate::output::{self, Drafts};

/// Print the manual page, or write the pages of all verbs into a folder
///
/// The pages say what --help says: both come from the same definitions.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  \
    oomph man | man -l -\n  \
    oomph man ~/.local/share/man/man1 && man oomph-explain")]
pub(crate) struct Args {
    /// Folder for oomph.1, oomph-explain.1 and so on; it must exist
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let Some(folder) = &args.folder else {
        return output::data(&String::from_utf8_lossy(&page(&root)));
    };
    let mut drafts = Drafts::default();
    for command in std::iter::once(&root).chain(root.get_subcommands()) {
        // clap names the page of a verb `oomph-explain`, as git does.
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let path = folder.join(format!("{name}.1"));
        drafts.add(&path, |file| file.write_all(&page(command)))?;
    }
    drafts.publish()
}

fn page(command: &clap::Command) -> Vec<u8> {
    let mut roff = Vec::new();
    // Writing into memory cannot fail.
    let _ = clap_mangen::Man::new(command.clone()).render(&mut roff);
    roff
}
