//! What a job finds in its environment beyond our own.

use std::ffi::{OsStr, OsString};

/// Environment variables, each once.
#[derive(Clone, Debug, Default)]
pub struct Variables(Vec<(OsString, OsString)>);

impl Variables {
    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.into(), value.as_ref().to_owned()));
    }

    /// Puts a path before what a variable holds already.
    pub fn put_before(&mut self, name: &str, first: impl AsRef<OsStr>) {
        let own = self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let mut value = first.as_ref().to_owned();
        if let Some(rest) = own.or_else(|| std::env::var_os(name)).filter(|rest| !rest.is_empty()) {
            value.push(":");
            value.push(rest);
        }
        self.set(name, value);
    }

    /// The names that were set.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    /// Names and values.
    #[must_use]
    pub fn into_pairs(self) -> Vec<(OsString, OsString)> {
        self.0
    }
}
