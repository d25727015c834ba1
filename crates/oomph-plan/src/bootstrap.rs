//! The Python that runs inside the user's process: carried in this binary, written where the interpreter finds it.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// File name and text, from `python/`. One line a file.
const FILES: &[(&str, &str)] = &[
    ("__main__.py", include_str!("../../../python/__main__.py")),
    ("oomph/__init__.py", include_str!("../../../python/oomph/__init__.py")),
    ("oomph/checkpoints.py", include_str!("../../../python/oomph/checkpoints.py")),
    ("oomph/distributed.py", include_str!("../../../python/oomph/distributed.py")),
    ("oomph/drawing.py", include_str!("../../../python/oomph/drawing.py")),
    ("oomph/endless.py", include_str!("../../../python/oomph/endless.py")),
    ("oomph/errors.py", include_str!("../../../python/oomph/errors.py")),
    ("oomph/following.py", include_str!("../../../python/oomph/following.py")),
    ("oomph/hostcost.py", include_str!("../../../python/oomph/hostcost.py")),
    ("oomph/imports.py", include_str!("../../../python/oomph/imports.py")),
    ("oomph/installed.py", include_str!("../../../python/oomph/installed.py")),
    ("oomph/journal.py", include_str!("../../../python/oomph/journal.py")),
    ("oomph/launch.py", include_str!("../../../python/oomph/launch.py")),
    ("oomph/operators.py", include_str!("../../../python/oomph/operators.py")),
    ("oomph/reads.py", include_str!("../../../python/oomph/reads.py")),
    ("oomph/recorder.py", include_str!("../../../python/oomph/recorder.py")),
    ("oomph/scaling.py", include_str!("../../../python/oomph/scaling.py")),
    ("oomph/session.py", include_str!("../../../python/oomph/session.py")),
    ("oomph/settings.py", include_str!("../../../python/oomph/settings.py")),
    ("oomph/smi.py", include_str!("../../../python/oomph/smi.py")),
    ("oomph/start.py", include_str!("../../../python/oomph/start.py")),
    ("oomph/stepping.py", include_str!("../../../python/oomph/stepping.py")),
    ("oomph/values.py", include_str!("../../../python/oomph/values.py")),
];

/// Writes the package below `folder` and returns the folder to start the interpreter with.
///
/// The name `site-packages` in its path tells every reader of stacks that these frames are a library's.
pub(crate) fn write(folder: &Path) -> io::Result<PathBuf> {
    let root = folder.join("site-packages");
    std::fs::create_dir_all(root.join("oomph"))?;
    for (name, text) in FILES {
        std::fs::write(root.join(name), text)?;
    }
    Ok(root)
}

/// Writes an `nvidia-smi` that answers for the cards of the run, and returns the folder it lies in.
///
/// A real one, where there is one, would speak of other cards than the script sees.
pub(crate) fn write_nvidia_smi(folder: &Path, package: &Path, python: &Path) -> io::Result<PathBuf> {
    let commands = folder.join("bin");
    std::fs::create_dir(&commands)?;
    let quoted = |path: &Path| format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"));
    let program = package.join("oomph/smi.py");
    let text = format!("#!/bin/sh\nexec {} -E -S {} \"$@\"\n", quoted(python), quoted(&program));
    let path = commands.join("nvidia-smi");
    std::fs::write(&path, text)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(commands)
}
