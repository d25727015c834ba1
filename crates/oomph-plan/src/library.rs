//! Where the stand-in for the CUDA libraries is found.

use std::path::PathBuf;

use crate::error::PlanError;

/// Its file name.
const NAME: &str = "liboomph_hollow.so";
/// Says where it is, for whoever builds or tests it.
const VARIABLE: &str = "OOMPH_HOLLOW_LIB";

/// The hollow GPU's library: named by `OOMPH_HOLLOW_LIB`, beside the command (a build), or in `../lib/oomph` from it
/// (an installed wheel).
///
/// # Errors
/// If it is nowhere.
pub fn hollow_library() -> Result<PathBuf, PlanError> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let path = PathBuf::from(named);
        return if path.is_file() { Ok(std::path::absolute(path)?) } else { Err(PlanError::NoLibrary) };
    }
    let command = std::env::current_exe()?;
    // The wheel's command may be reached through a link; the library lies beside the file itself.
    let command = command.canonicalize().unwrap_or(command);
    let folder = command.parent().ok_or(PlanError::NoLibrary)?;
    let places = [folder.join(NAME), folder.join("../lib/oomph").join(NAME)];
    places.into_iter().find(|path| path.is_file()).ok_or(PlanError::NoLibrary)
}
