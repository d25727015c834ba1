//! The edge to C: what a caller hands over is not trusted further than it must be.
//!
//! Every function that the library exports is called with nothing but zeros and null pointers, each in a process of its
//! own. A program that makes such a mistake on a real card gets an error code, so it must get one here: no function may
//! read through a null pointer, panic, or wait forever.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::ffi::{CString, c_int, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// How long a call may take before `SIGALRM` ends its process.
const LONGEST_CALL_SECONDS: u32 = 20;

/// What the library returns where a panic was caught at its edge.
const AFTER_A_PANIC: c_int = 999;

/// More than any function takes, structures by value in words.
const ARGUMENTS: usize = 24;

/// Something in every register that arguments come in, and in the first words of the stack.
#[rustfmt::skip]
type Anything = unsafe extern "C" fn(
    usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize,
    usize, usize, usize, usize, usize, usize, usize, usize, f64, f64, f64, f64, f64, f64, f64, f64,
) -> usize;

#[test]
fn a_bad_end_is_noticed() {
    let null = std::ptr::null::<c_int>();
    // SAFETY: none: the child is to die of it.
    let read = || unsafe { null.read_volatile() } == 0;
    assert!(end_of_child(read).is_some_and(|end| end.contains("through a pointer")));
    // SAFETY: ends the child.
    assert_eq!(end_of_child(|| unsafe { libc::abort() }).as_deref(), Some("panicked"));
    assert!(end_of_child(|| true).is_some());
    assert_eq!(end_of_child(|| false), None);
}

#[test]
fn no_function_dies_of_null_pointers() {
    let library = open(&library());
    let initialize = function(library, "cudaFree").expect("the runtime is there");
    let names = exported();
    assert!(names.len() > 4000, "the lists name every function of thirteen libraries");
    let dead: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let function = function(library, name).unwrap_or_else(|| panic!("{name} is listed and not exported"));
            let end = end_of_child(|| {
                let before = call_with_nothing(function);
                // Many functions look at their arguments only once there is a context.
                call_with_nothing(initialize);
                [before, call_with_nothing(function)].contains(&AFTER_A_PANIC)
            });
            end.map(|end| format!("{name}: {end}"))
        })
        .collect();
    assert!(dead.is_empty(), "{} functions:\n{}", dead.len(), dead.join("\n"));
}

#[test]
fn functions_that_trust_a_pointer_are_unsafe() {
    let mut seen = 0;
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        for (before, function) in functions(&text) {
            let (signature, body) = function.split_once(" {\n").unwrap_or((function, ""));
            let refers = ["&", "Box<", "Out<", "Callback"].iter().any(|word| signature.contains(word));
            let follows = signature.contains('*') && body.contains("unsafe");
            let is_safe = !before.ends_with("unsafe ");
            assert!(!(is_safe && (refers || follows)), "{}: unsafe extern \"C\" fn {signature}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 500, "{seen} functions are implemented");
}

/// What stands before each function of C's that a source defines, and the function from its name to its end.
fn functions(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("extern \"C\" fn ").filter_map(|(at, mark)| {
        let rest = text.get(at + mark.len()..)?;
        let is_definition = rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        is_definition.then(|| (text.get(..at).unwrap(), rest.split("\n}").next().unwrap()))
    })
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Numbers that no program means: a count for an array that is not there, sizes that overflow, handles of nothing.
const ODD_NUMBERS: [usize; 3] = [1, usize::MAX, i32::MAX as usize];

#[test]
fn no_function_dies_of_odd_numbers_beside_null_pointers() {
    let library = open(&library());
    let initialize = function(library, "cudaFree").expect("the runtime is there");
    let mut dead = Vec::new();
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        for (before, definition) in functions(&text) {
            let (name, rest) = definition.split_once('(').unwrap();
            let attributes = before.trim_end_matches("unsafe ").trim_end_matches("pub(crate) ");
            let comes_back = !definition.contains(") -> ! {");
            if !attributes.ends_with("#[unsafe(no_mangle)]\n") || !comes_back {
                continue;
            }
            let function = function(library, name).unwrap_or_else(|| panic!("{name} is not exported"));
            for number in ODD_NUMBERS {
                let arguments = arguments(rest, number);
                let end = end_of_child(|| {
                    call(initialize, [0; ARGUMENTS]);
                    call(function, arguments) == AFTER_A_PANIC
                });
                dead.extend(end.map(|end| format!("{name} with {number}: {end}")));
            }
        }
    }
    assert!(dead.is_empty(), "{} calls:\n{}", dead.len(), dead.join("\n"));
}

/// Arguments for parameters as a source lists them: the number where one is wanted, null for any pointer.
fn arguments(parameters: &str, number: usize) -> [usize; ARGUMENTS] {
    let types = parameters.split(") ").next().unwrap().split(',').filter_map(|parameter| parameter.split_once(": "));
    let mut arguments = [0; ARGUMENTS];
    let is_number = |kind: &str| ["c_int", "c_uint", "c_longlong", "usize", "u64", "i64", "u32", "i32"].contains(&kind);
    for (place, (name, kind)) in arguments.iter_mut().zip(types) {
        // Addresses of either side are numbers to a copy.
        let is_address = ["to", "from"].contains(&name.trim());
        *place = if is_number(kind.trim().trim_end_matches(')')) && !is_address { number } else { 0 };
    }
    arguments
}

/// The names in `symbols/`, and what oomph's own Python calls.
fn exported() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lists = fs::read_dir(root.join("symbols")).unwrap().map(|entry| entry.unwrap().path());
    let text: String = lists
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let name = |line: &str| Some(line.split('#').next()?.split_whitespace().next()?.to_owned());
    let listed = text.lines().filter_map(name).filter(|name| name != "!");
    let own = fs::read_to_string(root.join("src/api.rs")).unwrap();
    let own = own.split("extern \"C\" fn ").skip(1).filter_map(|rest| Some(rest.split('(').next()?.to_owned()));
    listed.chain(own.collect::<Vec<_>>()).collect()
}

/// The status of a call with nothing but zeros, if that is what the function returns.
fn call_with_nothing(function: Anything) -> c_int {
    call(function, [0; ARGUMENTS])
}

#[rustfmt::skip]
fn call(function: Anything, of: [usize; ARGUMENTS]) -> c_int {
    // SAFETY: in C's calling convention a function ignores arguments that it does not take, and the caller cleans up.
    // That it does not trust those it takes is what is tried here, in a process that may die of it.
    let result = unsafe {
        function(
            of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7], of[8], of[9], of[10], of[11],
            of[12], of[13], of[14], of[15], of[16], of[17], of[18], of[19], of[20], of[21], of[22], of[23],
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        )
    };
    result as c_int
}

/// How a child ended that does this and no more; none if it came to its end and `body` found nothing wrong.
fn end_of_child(body: impl FnOnce() -> bool) -> Option<String> {
    // SAFETY: the child only calls the library, whose locks survive a fork, and ends without unwinding.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "cannot fork");
    if child == 0 {
        // SAFETY: these only set a timer and end the process.
        unsafe { libc::alarm(LONGEST_CALL_SECONDS) };
        let is_wrong = body();
        // SAFETY: as above.
        unsafe { libc::_exit(c_int::from(is_wrong)) };
    }
    let mut status: c_int = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    if libc::WIFSIGNALED(status) {
        return Some(match libc::WTERMSIG(status) {
            libc::SIGSEGV | libc::SIGBUS => "read or wrote through a pointer it was given".to_owned(),
            libc::SIGABRT => "panicked".to_owned(),
            libc::SIGALRM => "did not come back".to_owned(),
            signal => format!("died of signal {signal}"),
        });
    }
    (libc::WEXITSTATUS(status) != 0).then(|| "panicked, and returned an error".to_owned())
}

fn open(path: &Path) -> *mut c_void {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a path with its closing zero; the library's own start-up code runs.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "cannot open {path:?}");
    library
}

fn function(library: *mut c_void, name: &str) -> Option<Anything> {
    let name = CString::new(name).unwrap();
    // SAFETY: an open library and a name with its closing zero.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: every name that is looked up is a function's; arguments beyond those it takes are ignored.
    (!address.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Anything>(address) })
}

/// The library, beside the test that cargo built with it.
fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("liboomph_hollow.so")
}
