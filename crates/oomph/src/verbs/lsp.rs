//! `oomph lsp`.

mod actions;
mod document;
mod notebook;
mod position;
mod server;

use std::io::{BufReader, ErrorKind, Write as _};

use lsp_server::Message;

use self::server::{Server, Step};
use crate::error::Error;
use crate::output;
use crate::verbs::Verdict;

/// Serve editors: findings as you type, hover pages, quick fixes
///
/// Speaks the Language Server Protocol over stdin and stdout; editors start it by themselves. It shows what 'oomph
/// check' finds, with the page of a rule on hover, a quick fix where there is one, 'source.fixAll.oomph' for all safe
/// fixes, and a comment that ignores a finding. Settings come from the nearest pyproject.toml and are read again when it
/// changes.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  \
    Neovim:  vim.lsp.config('oomph', { cmd = { 'oomph', 'lsp' }, filetypes = { 'python' } })\n           \
    vim.lsp.enable('oomph')\n  \
    Helix:   [language-server.oomph]  command = 'oomph', args = ['lsp']\n\n\
    Exit codes:\n  \
    0   the editor said goodbye\n  \
    1   the editor left without a word")]
pub(crate) struct Args {
    /// Speak over stdin and stdout: the default, and what some editors insist on saying
    #[arg(long)]
    stdio: bool,
}

pub(crate) fn run(args: &Args) -> Result<Verdict, Error> {
    let Args { stdio: _ } = args;
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut server = Server::default();
    loop {
        let step = match Message::read(&mut input) {
            Ok(Some(message)) => server.receive(message),
            // A message that is none is passed over: what follows it may be one.
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                output::note(&format!("oomph lsp: {error}"));
                Step::Go(Vec::new())
            }
            Ok(None) | Err(_) => Step::End { orderly: false },
        };
        match step {
            Step::Go(messages) => send(&messages)?,
            Step::End { orderly } => return Ok(if orderly { Verdict::Yes } else { Verdict::No }),
        }
    }
}

fn send(messages: &[Message]) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    for message in messages {
        message.write(&mut stdout).map_err(Error::stdout)?;
    }
    stdout.flush().map_err(Error::stdout)
}
