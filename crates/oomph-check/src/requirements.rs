//! Which versions of torch a project says it works with: `pyproject.toml`, `requirements.txt`, `setup.py`, conda's files.

use std::fmt;

use toml::{Table, Value};

/// A version of torch, as far as names go: major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16, pub u16);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The versions of torch that a project allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TorchVersions {
    /// The oldest, where one is named.
    pub oldest: Option<Version>,
    /// The first that is too new, where one is named.
    pub below: Option<Version>,
}

impl TorchVersions {
    /// Whether all of them have what came with `version`. Where nothing is declared, a new one is taken for granted.
    #[must_use]
    pub fn have(self, version: Version) -> bool {
        self.oldest.is_none_or(|oldest| oldest >= version) && self.below.is_none_or(|below| below > version)
    }

    /// What both of two declarations allow at the least: the older of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let lower = |a: Option<Version>, b: Option<Version>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        };
        Self { oldest: lower(self.oldest, other.oldest), below: lower(self.below, other.below) }
    }

    /// Whether nothing is declared.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// What a file declares, by its name.
    #[must_use]
    pub fn declared_in(file: &str, text: &str) -> Self {
        if !text.contains("torch") {
            return Self::default();
        }
        match file {
            "pyproject.toml" => of_pyproject(text),
            _ if declares(file) => text.lines().map(of_line).fold(Self::default(), Self::and),
            _ => Self::default(),
        }
    }
}

/// Whether a file of this name may declare what a project needs.
#[must_use]
pub fn declares(file: &str) -> bool {
    let (stem, ending) = file.rsplit_once('.').unwrap_or((file, ""));
    let is_list =
        matches!(ending, "txt" | "in") && (stem.starts_with("requirements") || stem.ends_with("requirements"));
    let is_conda = matches!(ending, "yml" | "yaml") && (stem.starts_with("environment") || stem == "conda");
    matches!(file, "pyproject.toml" | "setup.py" | "setup.cfg") || is_list || is_conda
}

/// `torch>=1.7`, wherever it stands in a line: between quotes of a list, after the dash of a list of conda.
fn of_line(line: &str) -> TorchVersions {
    let line = line.split('#').next().unwrap_or_default();
    let parts = line.split(['"', '\'']);
    parts.map(of_requirement).fold(TorchVersions::default(), TorchVersions::and)
}

/// One requirement as PEP 508 and conda write it: `torch >=1.7,<2 ; python_version > "3.8"`.
fn of_requirement(text: &str) -> TorchVersions {
    let text = text.trim().trim_start_matches(['-', ' ', '[', '(', '=']).trim_start();
    let Some(rest) = ["torch", "pytorch"].iter().find_map(|name| text.strip_prefix(name)) else {
        return TorchVersions::default();
    };
    if rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '-' | '_' | '.')) {
        return TorchVersions::default();
    }
    let rest = rest.split(';').next().unwrap_or_default().trim();
    let rest = rest.strip_prefix('[').and_then(|extras| extras.split_once(']')).map_or(rest, |(_, rest)| rest);
    of_specifiers(rest.trim().trim_start_matches('(').trim_end_matches([')', ',', ']']))
}

/// `>=1.7,<2`, `==1.13.*`, `~=1.10`, Poetry's `^1.8`, conda's `=1.12`.
fn of_specifiers(text: &str) -> TorchVersions {
    let mut found = TorchVersions::default();
    for part in text.split([',', '|']).map(str::trim) {
        let number = part.find(|c: char| c.is_ascii_digit()).map_or("", |at| &part[at..]);
        let Some(version) = version(number) else { continue };
        match part[..part.len() - number.len()].trim() {
            ">=" | ">" | "==" | "===" | "=" | "~=" | "~" | "^" | "" => found.oldest = Some(version),
            "<=" => found.below = Some(Version(version.0, version.1.saturating_add(1))),
            "<" => found.below = Some(version),
            _ => {}
        }
    }
    found
}

fn version(text: &str) -> Option<Version> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    Some(Version(major, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}

fn of_pyproject(text: &str) -> TorchVersions {
    let Ok(table) = text.parse::<Table>() else { return TorchVersions::default() };
    of_value(None, &Value::Table(table))
}

/// Requirements are strings in lists, or values under the name of what is required: both are told wherever they stand.
fn of_value(key: Option<&str>, value: &Value) -> TorchVersions {
    let is_torch = key == Some("torch");
    match value {
        Value::String(text) if is_torch => of_specifiers(text),
        Value::String(text) => of_requirement(text),
        Value::Array(items) => {
            items.iter().map(|item| of_value(key, item)).fold(TorchVersions::default(), TorchVersions::and)
        }
        Value::Table(table) if is_torch => table.get("version").map(|own| of_value(key, own)).unwrap_or_default(),
        Value::Table(table) => {
            table.iter().map(|(key, own)| of_value(Some(key), own)).fold(TorchVersions::default(), TorchVersions::and)
        }
        _ => TorchVersions::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::{TorchVersions, Version};

    fn oldest(file: &str, text: &str) -> Option<Version> {
        TorchVersions::declared_in(file, text).oldest
    }

    #[test]
    fn lower_bounds_are_read_from_every_kind_of_file() {
        let cases = [
            ("requirements.txt", "numpy\ntorch>=1.7\n", Version(1, 7)),
            ("requirements-dev.txt", "torch == 2.0.1+cu118  # pinned\n", Version(2, 0)),
            ("requirements.txt", "torch[opt-einsum]~=1.13 ; python_version < '3.11'\n", Version(1, 13)),
            ("setup.py", "setup(install_requires=['torchvision>=0.9', \"torch>=1.8,<3\"])\n", Version(1, 8)),
            ("setup.cfg", "install_requires =\n    torch >= 1.10\n", Version(1, 10)),
            (
                "environment.yml",
                "dependencies:\n  - pytorch=1.12.1=py3.9_cuda11.3\n  - pip:\n    - timm\n",
                Version(1, 12),
            ),
            ("pyproject.toml", "[project]\ndependencies = ['torch (>=2.1)']\n", Version(2, 1)),
            ("pyproject.toml", "[project.optional-dependencies]\ngpu = ['torch>=1.9']\n", Version(1, 9)),
            ("pyproject.toml", "[tool.poetry.dependencies]\ntorch = '^1.11'\n", Version(1, 11)),
            (
                "pyproject.toml",
                "[tool.poetry.group.x.dependencies]\ntorch = {version = '>=2.2', source = 'a'}\n",
                Version(2, 2),
            ),
        ];
        for (file, text, wanted) in cases {
            assert_eq!(oldest(file, text), Some(wanted), "{file}: {text}");
        }
    }

    #[test]
    fn other_packages_and_plain_names_say_nothing() {
        for text in
            ["torchvision>=0.9\n", "torch\n", "pytorch-lightning==1.4\n", "# torch>=1.0\n", "torch_geometric>=2\n"]
        {
            assert!(TorchVersions::declared_in("requirements.txt", text).is_empty(), "{text}");
        }
        assert!(TorchVersions::declared_in("notes.txt", "torch>=1.0\n").is_empty());
    }

    #[test]
    fn an_older_torch_lacks_what_came_later() {
        let allowed = |text| TorchVersions::declared_in("requirements.txt", text);
        assert!(!allowed("torch>=1.7").have(Version(2, 4)) && allowed("torch>=2.4").have(Version(2, 4)));
        assert!(!allowed("torch<2.0").have(Version(2, 4)) && allowed("torch<2.0").have(Version(1, 10)));
        assert!(allowed("torch").have(Version(2, 6)));
        assert!(!allowed("torch>=2.5\ntorch>=1.7").have(Version(2, 4)), "the oldest of several counts");
    }
}
