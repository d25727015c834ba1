//! Reads `[tool.oomph.check]` of a `pyproject.toml`. What is wrong is named with its line, and with what was meant.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Globs, Options, Selector, Severity, did_you_mean, near};
use crate::error::Error;
use crate::finding::Level;
use crate::rule::Rule;

/// Every key of the table.
pub const KEYS: [&str; 7] =
    ["select", "extend-select", "ignore", "per-file-ignores", "severity", "exclude", "extend-exclude"];

const SEVERITIES: [&str; 4] = ["error", "warning", "info", "off"];

/// Whether a `pyproject.toml` speaks to oomph at all; one that does not leaves the word to the folder above.
#[must_use]
pub fn find_table(text: &str) -> bool {
    // Most projects never heard of oomph: a table cannot be there without its name.
    text.contains("oomph") && DeTable::parse(text).is_ok_and(|table| own_table(table.get_ref()).is_some())
}

/// What the `[tool.oomph.check]` table of a file says; nothing where there is none.
///
/// # Errors
/// The file is not TOML, or the table holds something it should not; the error says where.
pub fn read(path: &Path, text: &str, rules: &[&'static Rule]) -> Result<Options, Error> {
    let reader = Reader { path, text, rules };
    let table = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        reader.fault(place, error.message().to_owned(), "write it as TOML: https://toml.io")
    })?;
    let Some(own) = own_table(table.get_ref()) else { return Ok(Options::default()) };
    if let Some(unknown) = own.keys().find(|key| key.get_ref() != SECTION) {
        let name = unknown.get_ref();
        let hint = did_you_mean(&near(name, [SECTION].into_iter()), "the table is named tool.oomph.check");
        return Err(reader.fault(unknown.span().start, format!("unknown table 'tool.oomph.{name}'"), &hint));
    }
    let section = own.get(SECTION).map(Spanned::get_ref);
    section.and_then(DeValue::as_table).map_or(Ok(Options::default()), |section| reader.options(section))
}

/// Where the settings are, within `tool.oomph`.
const SECTION: &str = "check";

fn own_table<'a, 'i>(table: &'a DeTable<'i>) -> Option<&'a DeTable<'i>> {
    table.get("tool")?.get_ref().get("oomph")?.get_ref().as_table()
}

/// A file with what is needed to complain about it.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    rules: &'a [&'static Rule],
}

type Value<'i> = Spanned<DeValue<'i>>;

impl Reader<'_> {
    fn options(&self, table: &DeTable) -> Result<Options, Error> {
        let mut options = Options::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "select" => options.select = Some(self.selectors(key.get_ref(), value)?),
                "extend-select" => options.extend_select = self.selectors(key.get_ref(), value)?,
                "ignore" => options.ignore = self.selectors(key.get_ref(), value)?,
                "per-file-ignores" => {
                    for (glob, selectors) in self.table("per-file-ignores", value)? {
                        self.pattern(glob.get_ref(), glob.span().start)?;
                        let selectors = self.selectors("per-file-ignores", selectors)?;
                        options.per_file_ignores.push((glob.get_ref().to_string(), selectors));
                    }
                }
                "severity" => {
                    for (name, level) in self.table("severity", value)? {
                        let selector = self.selector(name.get_ref(), name.span().start)?;
                        options.severity.push((selector, self.severity(level)?));
                    }
                }
                "exclude" => options.exclude = Some(self.patterns("exclude", value)?),
                "extend-exclude" => options.extend_exclude = self.patterns("extend-exclude", value)?,
                unknown => {
                    let hint =
                        did_you_mean(&near(unknown, KEYS.into_iter()), &format!("known are {}", KEYS.join(", ")));
                    return Err(self.fault(key.span().start, format!("unknown key '{unknown}'"), &hint));
                }
            }
        }
        Ok(options)
    }

    fn selectors(&self, key: &str, value: &Value) -> Result<Vec<Selector>, Error> {
        self.strings(key, value)?.into_iter().map(|(name, place)| self.selector(name, place)).collect()
    }

    fn selector(&self, name: &str, place: usize) -> Result<Selector, Error> {
        Selector::parse(name, self.rules).map_err(|similar| {
            let hint = did_you_mean(&similar, "'oomph doc' lists all rules");
            self.fault(place, format!("there is no rule or group named '{name}'"), &hint)
        })
    }

    fn patterns(&self, key: &str, value: &Value) -> Result<Vec<String>, Error> {
        let check = |(pattern, place): (&str, usize)| self.pattern(pattern, place).map(|()| pattern.to_owned());
        self.strings(key, value)?.into_iter().map(check).collect()
    }

    fn pattern(&self, pattern: &str, place: usize) -> Result<(), Error> {
        Globs::new([pattern]).map(drop).map_err(|(pattern, problem)| {
            self.fault(place, format!("'{pattern}' is no pattern: {problem}"), "write it like \"tests/*.py\"")
        })
    }

    fn severity(&self, value: &Value) -> Result<Severity, Error> {
        Ok(match value.get_ref().as_str() {
            Some("off") => Severity::Off,
            Some("info") => Severity::At(Level::Info),
            Some("warning") => Severity::At(Level::Warning),
            Some("error") => Severity::At(Level::Error),
            other => {
                let known = "it is one of \"error\", \"warning\", \"info\", \"off\"";
                let similar = other.map(|name| near(name, SEVERITIES.into_iter())).unwrap_or_default();
                let problem = format!("not a severity: {}", &self.text[value.span()]);
                return Err(self.fault(value.span().start, problem, &did_you_mean(&similar, known)));
            }
        })
    }

    fn strings<'a>(&self, key: &str, value: &'a Value) -> Result<Vec<(&'a str, usize)>, Error> {
        let wanted =
            |place| self.fault(place, format!("'{key}' must be a list of strings"), "write it like [\"graph\"]");
        let items = value.get_ref().as_array().ok_or_else(|| wanted(value.span().start))?;
        let string = |item: &'a Value| {
            let place = item.span().start;
            item.get_ref().as_str().map(|text| (text, place)).ok_or_else(|| wanted(place))
        };
        items.iter().map(string).collect()
    }

    fn table<'a, 'i>(&self, key: &str, value: &'a Value<'i>) -> Result<&'a DeTable<'i>, Error> {
        value.get_ref().as_table().ok_or_else(|| {
            let hint = format!("write it as a table: [tool.oomph.check.{key}]");
            self.fault(value.span().start, format!("'{key}' must be a table"), &hint)
        })
    }

    fn fault(&self, place: usize, problem: String, hint: &str) -> Error {
        let before = self.text.get(..place).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Error::Settings { path: self.path.to_owned(), line, column, problem, hint: hint.to_owned() }
    }
}
