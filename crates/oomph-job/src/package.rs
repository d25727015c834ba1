//! The Python that runs inside the user's process: carried in this binary, written where interpreters find it.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// File name and text, from `python/`.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Writes the package below `folder` and returns the folder to put on `PYTHONPATH`.
///
/// The name `site-packages` in its path tells every reader of stacks that these frames are a library's.
///
/// # Errors
/// If it cannot be written.
pub fn write(folder: &Path) -> io::Result<PathBuf> {
    let root = folder.join("site-packages");
    for (name, text) in FILES {
        let path = root.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(root)
}

/// Writes an `nvidia-smi` that answers for the cards of the run, and returns the folder it lies in.
///
/// A real one, where there is one, would speak of other cards than the script sees.
///
/// # Errors
/// If it cannot be written.
pub fn write_nvidia_smi(folder: &Path, package: &Path, python: &Path) -> io::Result<PathBuf> {
    let commands = folder.join("bin");
    std::fs::create_dir_all(&commands)?;
    let quoted = |path: &Path| format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"));
    let program = package.join("oomph/hollow/smi.py");
    let text = format!("#!/bin/sh\nexec {} -E -S {} \"$@\"\n", quoted(python), quoted(&program));
    let path = commands.join("nvidia-smi");
    std::fs::write(&path, text)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = write(folder.path()).expect("written");
        assert!(root.join("sitecustomize.py").is_file());
        assert!(root.join("oomph/session.py").is_file());
        assert!(root.join("oomph/watching/__init__.py").is_file());
    }
}
