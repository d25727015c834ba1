//! Runs the real binary and shows everything that came out of it as one text.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().nth(2).expect("the crate lies two folders below the root").to_owned()
}

/// A file of the corpus, as a path from the root.
pub(crate) fn corpus(name: &str) -> String {
    format!("corpus/h200/{name}.pickle.gz")
}

/// `oomph ARGS` from the root of the repository, without a terminal and with nothing inherited that changes output.
pub(crate) fn oomph<I: IntoIterator<Item: AsRef<OsStr>>>(args: I) -> Output {
    command(&root()).args(args).output().expect("the binary was built for this test")
}

/// The command, ready to be given arguments, to run in `folder`.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oomph"));
    command.current_dir(folder).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("RUST_BACKTRACE");
    command
}

/// Exit code, stdout and stderr in one readable text.
pub(crate) fn transcript(output: &Output) -> String {
    format!(
        "exit code: {}\n----- stdout -----\n{}----- stderr -----\n{}",
        output.status.code().map_or("killed".to_owned(), |code| code.to_string()),
        text(&output.stdout),
        text(&output.stderr)
    )
}

/// Output as text; anything that is not UTF-8 is a defect.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// Text that must equal a file in the repository; with `OOMPH_BLESS` set the file is rewritten instead.
pub(crate) fn check_file(path: &str, expected: &str) {
    let full = root().join(path);
    let found = std::fs::read_to_string(&full).unwrap_or_default();
    if found == expected {
        return;
    }
    if std::env::var_os("OOMPH_BLESS").is_some() {
        if let Some(folder) = full.parent() {
            std::fs::create_dir_all(folder).expect("the folder can be made");
        }
        std::fs::write(&full, expected).expect("the file can be written");
        return;
    }
    let line = found.lines().zip(expected.lines()).take_while(|(old, new)| old == new).count() + 1;
    panic!("{path} is out of date from line {line} on; 'make docs' renews it");
}
