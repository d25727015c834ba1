//! The user's own source, to show beside the lines a report names.

use std::fs;
use std::path::Path;

/// Longer files are not written by people.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The text of a Python file, if there is one by this name.
///
/// Names come from traces, which others may have made: nothing but Python files is opened, so that no page can be made
/// to show, say, a key.
pub(crate) fn read(path: &str) -> Option<String> {
    let path = Path::new(path);
    let is_python = path.extension().is_some_and(|extension| extension == "py");
    let about = fs::metadata(path).ok().filter(|about| is_python && about.is_file())?;
    if about.len() > FILE_BYTES_MAX {
        return None;
    }
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_python_files_are_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).expect("it is ours");
            path.to_string_lossy().into_owned()
        };
        assert_eq!(read(&write("train.py", b"x = 1\n")).as_deref(), Some("x = 1\n"));
        assert_eq!(read(&write("id_rsa", b"secret")), None);
        assert_eq!(read(&write("latin.py", b"# \xe4\n")), None);
        assert_eq!(read(&write("long.py", &vec![b'#'; FILE_BYTES_MAX as usize + 1])), None);
        assert_eq!(read("missing.py"), None);
        fs::create_dir(folder.path().join("folder.py")).expect("it is ours");
        assert_eq!(read(&folder.path().join("folder.py").to_string_lossy()), None);
    }
}
