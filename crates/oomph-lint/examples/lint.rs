//! Checks files and folders and prints the findings as `oomph check --json` does: `lint [check] [OPTIONS] PATHS`.

use std::io::Write;
use std::path::Path;

use oomph_lint::{Finding, Input, check};

fn main() -> std::io::Result<()> {
    let mut paths = Vec::new();
    let mut words = std::env::args().skip(1).peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            "check" | "--json" => {}
            "--select" | "--output-format" => {
                words.next();
            }
            _ => paths.push(word),
        }
    }
    let mut inputs = Vec::new();
    for path in &paths {
        for entry in ignore::WalkBuilder::new(path).build().flatten() {
            let is_python = entry.path().extension().is_some_and(|ending| ending == "py" || ending == "ipynb");
            if is_python {
                read(entry.path(), &mut inputs);
            }
        }
    }
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    let findings: Vec<Finding> = check(&inputs);
    let text = serde_json::to_string_pretty(&serde_json::json!({ "findings": findings }))?;
    writeln!(std::io::stdout(), "{text}")
}

fn read(path: &Path, inputs: &mut Vec<Input>) {
    if let Ok(bytes) = std::fs::read(path) {
        inputs.push(Input {
            name: path.to_string_lossy().into_owned(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        });
    }
}
