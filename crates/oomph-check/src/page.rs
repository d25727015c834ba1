//! The page of a rule: what `oomph doc`, the reference, editors and SARIF viewers show.

use std::fmt::Write as _;

use crate::finding::{Level, Safety};
use crate::render::level_name;
use crate::rule::Rule;

impl Rule {
    /// Its page in Markdown, from the title on.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = format!("# {}\n\n{}\n\n{}\n", self.name, sentence(self.summary), self.standing());
        let mut section = |title: &str, text: &str| {
            let _ = write!(page, "\n## {title}\n\n{}\n", sentence(text));
        };
        section("Why it costs memory", self.why);
        section("How much", self.cost);
        for (index, example) in self.examples().enumerate() {
            let title = if index == 0 { "Example" } else { "Another example" };
            section(title, &fenced(example.bad));
            section("Use instead", &format!("{}\n\n{}", sentence(self.instead), fenced(example.good)));
        }
        section("When it is right", self.when_not);
        page
    }

    /// Level, group and fix in one line.
    fn standing(&self) -> String {
        let default = if self.level() == Level::Info { "off unless selected" } else { "on by default" };
        let fix = match self.fix {
            Some(Safety::Safe) => "`--fix` mends it",
            Some(Safety::Unsafe) => "`--fix --unsafe-fixes` mends it",
            None => "no automatic fix",
        };
        let level = level_name(self.level());
        let size = self.size.words();
        format!("Level `{level}`, {default}; size: {size}; group `{}`; {fix}.", self.group.name())
    }
}

fn fenced(code: &str) -> String {
    format!("```python\n{}\n```", code.trim_matches('\n').trim_end())
}

/// Text with a full stop, unless it ends in some way of its own.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let ended = text.is_empty() || text.ends_with(['.', '!', '?', '`', ':', '|']);
    if ended { text.to_owned() } else { format!("{text}.") }
}
