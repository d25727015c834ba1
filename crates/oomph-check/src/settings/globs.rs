//! Patterns for paths, as in `exclude = ["build", "tests/data/*.py"]`.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns that belong to a folder: a bare name is looked for at any depth, a pattern with a slash from that folder on.
#[derive(Debug, Clone)]
pub struct Globs {
    names: GlobSet,
    paths: GlobSet,
}

impl Globs {
    /// Reads patterns; the error names the one that is none, and why.
    ///
    /// # Errors
    /// A pattern is malformed.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, (String, String)> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let fault = |pattern: &str, error: &globset::Error| (pattern.to_owned(), error.kind().to_string());
        for pattern in patterns {
            let trimmed = pattern.trim_start_matches("./").trim_end_matches('/');
            let glob =
                GlobBuilder::new(trimmed).literal_separator(true).build().map_err(|error| fault(pattern, &error))?;
            if trimmed.contains('/') {
                paths.add(glob)
            } else {
                names.add(glob)
            };
        }
        let built = |set: &GlobSetBuilder| set.build().map_err(|error| fault("", &error));
        Ok(Self { names: built(&names)?, paths: built(&paths)? })
    }

    /// Whether a file or folder fits by its own name or by its path from `folder`.
    #[must_use]
    pub fn fits(&self, path: &Path, folder: &Path) -> bool {
        path.file_name().is_some_and(|name| self.names.is_match(name))
            || (!self.paths.is_empty() && self.paths.is_match(path.strip_prefix(folder).unwrap_or(path)))
    }

    /// Whether the path, or any folder between `folder` and it, fits.
    #[must_use]
    pub fn fits_anywhere(&self, path: &Path, folder: &Path) -> bool {
        let own = |part: &&Path| *part != folder && !part.as_os_str().is_empty();
        path.ancestors().take_while(own).any(|part| self.fits(part, folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_at_any_depth_and_paths_from_the_folder() {
        let globs = Globs::new(["build", "*.gen.py", "tests/*.py", "docs/**"]).expect("good patterns");
        let fits = |path: &str| globs.fits(&Path::new("/p").join(path), Path::new("/p"));
        for path in ["build", "src/build", "a/b/c.gen.py", "tests/a.py", "docs/deep/down.py"] {
            assert!(fits(path), "{path}");
        }
        for path in ["rebuild", "tests/deep/a.py", "src/tests/a.py", "docs.py"] {
            assert!(!fits(path), "{path}");
        }
        assert!(globs.fits_anywhere(Path::new("/p/build/x/a.py"), Path::new("/p")));
        assert!(!globs.fits_anywhere(Path::new("/build/p/a.py"), Path::new("/build/p")), "above the folder");
    }

    #[test]
    fn a_malformed_pattern_is_named() {
        let (pattern, problem) = Globs::new(["ok", "a[b"]).expect_err("malformed");
        assert_eq!(pattern, "a[b");
        assert!(problem.contains("unclosed"), "{problem}");
    }
}
