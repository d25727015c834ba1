//! What a notebook takes as code that Python does not: Jupyter reads a cell before Python does.

use crate::python::is_cell;

/// Magics that Jupyter runs without their `%` when they are all there is in a cell.
const MAGICS: &[&str] = &[
    "alias",
    "autoreload",
    "cat",
    "cd",
    "clear",
    "conda",
    "config",
    "cp",
    "debug",
    "env",
    "less",
    "ll",
    "load",
    "load_ext",
    "ls",
    "man",
    "matplotlib",
    "mkdir",
    "more",
    "mv",
    "pip",
    "pwd",
    "reload_ext",
    "reset",
    "rm",
    "rmdir",
    "run",
    "time",
    "timeit",
    "who",
    "whos",
];

/// Whether Jupyter runs a cell that Python cannot parse as it stands.
pub(crate) fn takes(cell: &str) -> bool {
    is_magic_alone(cell) || is_cell(&as_python(cell))
}

/// `ls -l data`: one line, a magic without its sign.
fn is_magic_alone(cell: &str) -> bool {
    let mut lines = cell.lines().filter(|line| !line.trim().is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else { return false };
    let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    MAGICS.contains(&word) && !rest.trim_start().starts_with(['=', '.', ',', '('])
}

/// The cell as Jupyter hands it on: without what the first line is indented by, prompts of a terminal, and questions for
/// help.
fn as_python(cell: &str) -> String {
    let lines = cell.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.clone().next().unwrap_or_default();
    let indent = &first[..first.len() - first.trim_start().len()];
    let prompted = first.trim_start().starts_with(">>>");
    let mut text = String::with_capacity(cell.len());
    for line in lines {
        let line = line.strip_prefix(indent).unwrap_or(line);
        let line = if prompted { without_prompt(line) } else { line };
        text.push_str(if asks_for_help(line) { "" } else { line });
        text.push('\n');
    }
    text
}

fn without_prompt(line: &str) -> &str {
    let rest = line.strip_prefix(">>>").or_else(|| line.strip_prefix("..."));
    rest.map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest))
}

/// `torch.*Tensor?`: a pattern of names, which Python takes for a product.
fn asks_for_help(line: &str) -> bool {
    let asked = line.trim().trim_end_matches('?');
    asked.len() < line.trim().len() && asked.chars().all(|c| c.is_alphanumeric() || "._*".contains(c))
}

#[cfg(test)]
mod tests {
    use super::takes;

    #[test]
    fn what_jupyter_rewrites_is_taken() {
        let cells = [
            " x = 1\n y = 2\n",
            "\n    for x in y:\n        print(x)\n",
            " !nvidia-smi \\\n   --help\n",
            "ls -l data\n",
            "mv *.pt ../models",
            "rm -r $folder\n",
            ">>> x = [1,\n...      2]\n>>> x\n",
            "# all of them\ntorch.*Tensor?\n",
        ];
        for cell in cells {
            assert!(takes(cell), "{cell}");
        }
    }

    #[test]
    fn what_it_does_not_is_not() {
        let cells = [
            "  x = 1\n    y = 2\n",
            "x =\n",
            "print x\n",
            "import torch\npip install torch\n",
            "git status now\n",
            "ls = = 1\n",
            "lr = ???\n",
            ">>> x =\n",
        ];
        for cell in cells {
            assert!(!takes(cell), "{cell}");
        }
    }
}
