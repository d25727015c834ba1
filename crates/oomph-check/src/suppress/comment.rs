//! The grammar of ignore comments.

use crate::python::{TextRange, TextSize};

/// How much of the file a comment speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The statement on its line, or below it.
    Line,
    /// All of it.
    File,
}

/// A name between the brackets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'a> {
    pub(super) text: &'a str,
    pub(super) range: TextRange,
}

/// What one comment asks for.
#[derive(Debug)]
pub(super) struct Directive<'a> {
    /// Where its `#` is.
    pub(super) start: TextSize,
    pub(super) scope: Scope,
    /// Empty for "everything".
    pub(super) names: Vec<Name<'a>>,
    /// A bracket that never closes, or with nothing in it.
    pub(super) malformed: bool,
}

/// Reads a comment that begins at `start`; one comment may hold several: `# noqa  # oomph: ignore  # type: ignore`.
pub(super) fn read(comment: &str, start: TextSize) -> Vec<Directive<'_>> {
    let mut directives = Vec::new();
    for (offset, _) in comment.match_indices('#') {
        let rest = &comment[offset + 1..];
        let end = rest.find('#').unwrap_or(rest.len());
        let place = |part: &str| start + TextSize::of(&comment[..part.as_ptr() as usize - comment.as_ptr() as usize]);
        directives.extend(directive(&rest[..end], start + TextSize::of(&comment[..offset]), place));
    }
    directives
}

fn directive<'a>(text: &'a str, start: TextSize, place: impl Fn(&str) -> TextSize) -> Option<Directive<'a>> {
    let text = text.trim_start().strip_prefix("oomph:")?.trim_start().strip_prefix("ignore")?;
    let (scope, text) = text.strip_prefix("-file").map_or((Scope::Line, text), |rest| (Scope::File, rest));
    if text.starts_with(|next: char| next.is_alphanumeric() || next == '-' || next == '_') {
        return None;
    }
    let Some(list) = text.trim_start().strip_prefix('[') else {
        return Some(Directive { start, scope, names: Vec::new(), malformed: false });
    };
    let inside = list.split(']').next().unwrap_or_default();
    let name = |part: &'a str| {
        let text = part.trim();
        (!text.is_empty()).then(|| Name { text, range: TextRange::at(place(text), TextSize::of(text)) })
    };
    let names: Vec<Name> = inside.split(',').filter_map(name).collect();
    let malformed = names.is_empty() || inside.len() == list.len();
    Some(Directive { start, scope, names: if malformed { Vec::new() } else { names }, malformed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(comment: &str) -> Vec<String> {
        let show = |found: Directive| {
            let names: Vec<String> =
                found.names.iter().map(|name| format!("{}@{}", name.text, name.range.start().to_u32())).collect();
            let fault = if found.malformed { " malformed" } else { "" };
            format!("{:?} {}{fault}", found.scope, names.join(" ")).replace("  ", " ").trim_end().to_owned()
        };
        read(comment, TextSize::from(100)).into_iter().map(show).collect()
    }

    #[test]
    fn comments_that_ask() {
        assert_eq!(shown("# oomph: ignore"), ["Line"]);
        assert_eq!(shown("#oomph:ignore because"), ["Line"]);
        assert_eq!(shown("# oomph: ignore[a, b-c] why [not]"), ["Line a@116 b-c@119"]);
        assert_eq!(shown("# oomph: ignore-file[a]"), ["File a@121"]);
        assert_eq!(shown("# oomph: ignore-file"), ["File"]);
        assert_eq!(shown("# noqa: E501  # oomph: ignore[a]  # type: ignore"), ["Line a@130"]);
        assert_eq!(shown("# oomph: ignore[a"), ["Line malformed"]);
        assert_eq!(shown("# oomph: ignore[ ]"), ["Line malformed"]);
    }

    #[test]
    fn comments_that_do_not() {
        for comment in ["# oomph", "# oomph: ignored", "# oomph: run this", "# see oomph: ignore", "# ignore[a]"] {
            assert_eq!(shown(comment), [""; 0], "{comment}");
        }
    }
}
