//! What only the processes themselves know about their host memory.

use serde::Deserialize;
use serde_json::Value;

/// A line that keeps memory of the host from step to step.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LineGrowth {
    /// The process; set by whoever reads the fact.
    #[serde(default)]
    pub pid: u32,
    /// The file; none where no line was found.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<u32>,
    /// What every step adds: batches, in a worker of a `DataLoader`.
    pub bytes_per_step: u64,
    /// Steps that were looked at.
    pub steps: u64,
}

/// A `DataLoader` with workers that the script iterates over.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LoaderFacts {
    /// The process; set by whoever reads the fact.
    #[serde(default)]
    pub pid: u32,
    /// The line that iterates.
    pub file: Option<String>,
    /// Its number.
    pub line: Option<u32>,
    /// Worker processes.
    pub workers: u64,
    /// Batches that each of them prepares ahead.
    pub prefetch_factor: u64,
    /// The bytes of one batch, once one was seen.
    pub batch_bytes: Option<u64>,
    /// Whether batches are copied to pinned memory.
    #[serde(default)]
    pub pin_memory: bool,
}

/// A file of tensors that was loaded whole.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LoadFacts {
    /// The process; set by whoever reads the fact.
    #[serde(default)]
    pub pid: u32,
    /// The line that loads it.
    pub file: Option<String>,
    /// Its number.
    pub line: Option<u32>,
    /// The size of the file.
    pub bytes: u64,
}

/// What the processes of a job told about their host memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Lines that grow.
    pub growth: Vec<LineGrowth>,
    /// Loaders with workers.
    pub loaders: Vec<LoaderFacts>,
    /// Files that were loaded.
    pub loads: Vec<LoadFacts>,
    /// Tracebacks and messages that processes ended with, by pid.
    pub messages: Vec<(u32, String)>,
}

impl HostFacts {
    /// Takes one fact of a process: a JSON list, its kind first. Facts about other things are passed over.
    pub fn add(&mut self, pid: u32, fact: &str) {
        let Ok(Value::Array(mut parts)) = serde_json::from_str(fact) else { return };
        if parts.len() < 2 {
            return;
        }
        let what = parts.swap_remove(1);
        match parts[0].as_str() {
            Some("host_growth") => self.growth.extend(read(what).map(|found| LineGrowth { pid, ..found })),
            Some("host_growth_ended") => self.end_growth(pid, read(what)),
            Some("loader") => self.add_loader(read(what).map(|found| LoaderFacts { pid, ..found })),
            Some("load") => self.loads.extend(read(what).map(|found| LoadFacts { pid, ..found })),
            Some("end") => self.add_end(pid, &what),
            _ => {}
        }
    }

    /// What was told of a line was the filling of a cache: it has come to its end.
    fn end_growth(&mut self, pid: u32, ended: Option<LineGrowth>) {
        let Some(ended) = ended else { return };
        self.growth.retain(|known| (known.pid, &known.file, known.line) != (pid, &ended.file, ended.line));
    }

    /// A loader is told again once a batch was seen.
    fn add_loader(&mut self, loader: Option<LoaderFacts>) {
        let Some(loader) = loader else { return };
        let is_same =
            |known: &&mut LoaderFacts| (known.pid, &known.file, known.line) == (loader.pid, &loader.file, loader.line);
        match self.loaders.iter_mut().find(is_same) {
            Some(known) => *known = loader,
            None => self.loaders.push(loader),
        }
    }

    fn add_end(&mut self, pid: u32, end: &Value) {
        let outcome = &end["outcome"];
        let text = [&outcome["traceback"], &outcome["message"]].into_iter().find_map(Value::as_str);
        self.messages.extend(text.map(|text| (pid, text.to_owned())));
    }
}

fn read<T: for<'de> Deserialize<'de>>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_host_memory_are_taken_and_others_passed_over() {
        let mut facts = HostFacts::default();
        for fact in [
            r#"["host_growth", {"file": "a.py", "line": 3, "bytes_per_step": 1000, "steps": 8}]"#,
            r#"["loader", {"file": "a.py", "line": 5, "workers": 4, "prefetch_factor": 2, "batch_bytes": null}]"#,
            r#"["loader", {"file": "a.py", "line": 5, "workers": 4, "prefetch_factor": 2, "batch_bytes": 64}]"#,
            r#"["load", {"file": null, "line": null, "bytes": 7}]"#,
            r#"["end", {"outcome": {"kind": "error", "message": "MemoryError", "traceback": "x\nMemoryError\n"}}]"#,
            r#"["step", 4]"#,
            r#"["host_growth", {"file": "b.py", "line": 9, "bytes_per_step": 10, "steps": 8}]"#,
            r#"["host_growth_ended", {"file": "b.py", "line": 9, "bytes_per_step": 10, "steps": 8}]"#,
            r#"["host_growth"]"#,
            "not JSON",
        ] {
            facts.add(9, fact);
        }
        assert_eq!((facts.growth.len(), facts.growth[0].pid, facts.growth[0].line), (1, 9, Some(3)));
        assert_eq!(facts.loaders.iter().map(|loader| loader.batch_bytes).collect::<Vec<_>>(), [Some(64)]);
        assert_eq!((facts.loads.len(), facts.messages), (1, vec![(9, "x\nMemoryError\n".to_owned())]));
    }
}
