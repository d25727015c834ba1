//! Bundles the page's script from `page/` with npm and esbuild, into `OUT_DIR` only: the source tree stays as it is,
//! and no third-party code is kept in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Names a finished bundle to use instead of building one.
const BUNDLE_VARIABLE: &str = "OOMPH_PAGE_BUNDLE";
const WAY_OUT: &str = "install nodejs (18 or newer) and npm, or set OOMPH_PAGE_BUNDLE=/path/to/prebuilt/page.js";
/// What a build reads from `page/`.
const INPUTS: [&str; 4] = ["package.json", "package-lock.json", "build.mjs", "src"];

fn main() {
    println!("cargo:rerun-if-env-changed={BUNDLE_VARIABLE}");
    let script = match env::var_os(BUNDLE_VARIABLE) {
        // The compiler would take a relative path as relative to the source file that includes it.
        Some(path) => fs::canonicalize(&path).unwrap_or_else(|_| PathBuf::from(path)),
        None => build(),
    };
    let text = fs::read_to_string(&script)
        .unwrap_or_else(|error| panic!("cannot read the page's script {}: {error}; {WAY_OUT}", script.display()));
    assert!(
        !text.to_ascii_lowercase().contains("</script"),
        "{} holds `</script`, which would end the element it is embedded in",
        script.display()
    );
    println!("cargo:rerun-if-changed={}", script.display());
    println!("cargo:rustc-env=OOMPH_PAGE_SCRIPT={}", script.display());
}

/// Builds the bundle in a copy of `page/` and returns its path.
fn build() -> PathBuf {
    let source = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../page");
    let copy = Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("page");
    fs::create_dir_all(&copy).unwrap_or_else(|error| panic!("cannot make {}: {error}", copy.display()));
    for input in INPUTS {
        let from = source.join(input);
        println!("cargo:rerun-if-changed={}", from.display());
        copy_tree(&from, &copy.join(input)).unwrap_or_else(|error| panic!("cannot copy {}: {error}", from.display()));
    }
    install_packages(&copy);
    let script = copy.join("page.js");
    run(&copy, "node", [OsStr::new("build.mjs"), script.as_os_str()]);
    script
}

/// Installs what the lock file names, unless the same lock was installed here before.
fn install_packages(copy: &Path) {
    let lock = fs::read(copy.join("package-lock.json")).expect("was just copied");
    // Written last, so an installation that was interrupted is done again.
    let stamp = copy.join("installed-lock.json");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return;
    }
    run(copy, "npm", ["ci", "--omit=dev", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"]);
    fs::write(&stamp, lock).unwrap_or_else(|error| panic!("cannot write {}: {error}", stamp.display()));
}

fn run<I: AsRef<OsStr>>(folder: &Path, program: &str, arguments: impl IntoIterator<Item = I>) {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("the HTML page needs `{program}` to build ({error}): {WAY_OUT}"));
    assert!(
        output.status.success(),
        "`{program}` failed while building the HTML page ({}): {}{}\nif it cannot work here: {WAY_OUT}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    // Files deleted from the source must not linger in the copy.
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_tree(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
