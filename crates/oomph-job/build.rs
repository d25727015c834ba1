//! Lists the Python files that run inside the user's process, so that the command can carry them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let root = fs::canonicalize(Path::new(&manifest).join("../../python"))?;
    let mut files = vec![root.join("sitecustomize.py")];
    collect(&root.join("oomph"), &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).expect("lies below").display();
        writeln!(list, "    ({:?}, include_str!({:?})),", name.to_string(), file.display().to_string())
            .expect("text can always be written");
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("files.rs"), list)
}

/// Every Python file below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "py") {
            files.push(path);
        }
    }
    Ok(())
}
