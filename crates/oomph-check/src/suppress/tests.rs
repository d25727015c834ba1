//! Findings, comments, and what is left.

use super::*;
use crate::file_rules::FILE_RULES;
use crate::finding::Level;
use crate::size::Size;

/// Any name the catalogue knows will do.
const RULE: &str = "syntax-error";

/// A finding on every `BUG` of the text.
fn findings(text: &str) -> Vec<Finding> {
    let finding = |(offset, bug): (usize, &str)| Finding {
        rule: RULE,
        level: Level::Error,
        size: Size::failure(),
        is_doubtful: false,
        cause: None,
        made_by: None,
        range: TextRange::at(TextSize::of(&text[..offset]), TextSize::of(bug)),
        message: String::new(),
        evidence: Vec::new(),
        fix: None,
    };
    text.match_indices("BUG").map(finding).collect()
}

fn apply_to(text: &str, choice: Choice) -> (Source, Vec<Finding>) {
    let source = Source::parse("a.py", text.to_owned());
    let mut found = findings(text);
    let before = found.len();
    let silenced = apply(&source, &RuleSet::all(), FILE_RULES.map(|_| choice), &mut found);
    assert_eq!(found.iter().filter(|finding| finding.rule == RULE).count() + silenced, before);
    found.sort_by_key(|finding| finding.range.start());
    (source, found)
}

/// The lines on which the bug is still reported.
fn lines_left(text: &str) -> Vec<usize> {
    let (source, found) = apply_to(text, Choice::Off);
    found.iter().map(|finding| source.line_of(finding.range.start())).collect()
}

/// What is said about the comments themselves.
fn complaints(text: &str) -> Vec<String> {
    let (_, found) = apply_to(text, Choice::Selected);
    let own = found.iter().filter(|finding| finding.rule != RULE);
    own.map(|finding| format!("{}: {}", finding.rule, finding.message)).collect()
}

#[test]
fn a_comment_speaks_for_its_statement() {
    assert_eq!(lines_left("BUG\nBUG  # oomph: ignore\nBUG\n"), [1, 3]);
    assert_eq!(lines_left("BUG  # oomph: ignore[syntax-error] for a reason\n"), [0; 0]);
    assert_eq!(lines_left("BUG  # oomph: ignore[unused-ignore, file]\n"), [0; 0]);
    assert_eq!(lines_left("BUG  # oomph: ignore[graph]\n"), [1]);
    assert_eq!(lines_left("BUG  # oomph: ignore[syntax-error\n"), [1]);
    assert_eq!(lines_left("call(  # oomph: ignore\n    1,\n    BUG,\n)\n"), [0; 0]);
    assert_eq!(lines_left("call(\n    1,\n    BUG,\n)  # oomph: ignore\nBUG\n"), [5]);
}

#[test]
fn a_comment_above_speaks_too() {
    assert_eq!(lines_left("# oomph: ignore\nBUG\nBUG\n"), [3]);
    assert_eq!(lines_left("# oomph: ignore\n# more words\nBUG\n"), [0; 0]);
    assert_eq!(lines_left("# oomph: ignore\n\nBUG\n"), [3]);
    assert_eq!(lines_left("x = 1  # oomph: ignore\nBUG\n"), [2]);
}

#[test]
fn a_comment_inside_a_block_does_not_speak_for_its_header() {
    let block = "for x in BUG:\n    y = 1  # oomph: ignore\n    z = BUG\n";
    assert_eq!(lines_left(block), [1, 3]);
    assert_eq!(lines_left("for x in BUG:  # oomph: ignore\n    y = BUG\n"), [2]);
    assert_eq!(lines_left("if a:\n    b = 1  # oomph: ignore\nelif BUG:\n    c = 1  # oomph: ignore\n"), [3]);
    assert_eq!(lines_left("def f(\n    a,\n    b=BUG,\n):  # oomph: ignore\n    BUG\n"), [5]);
}

#[test]
fn a_comment_can_speak_for_the_file() {
    assert_eq!(lines_left("BUG\nBUG\n# oomph: ignore-file[syntax-error]\n"), [0; 0]);
    assert_eq!(lines_left("# oomph: ignore-file[graph]\nBUG\n"), [2]);
    assert_eq!(lines_left("BUG = '# oomph: ignore-file'\n"), [1]);
}

#[test]
fn comments_without_effect_are_named() {
    assert_eq!(
        complaints("BUG  # oomph: ignore[syntax-eror]\n"),
        ["unknown-ignore: There is no rule named 'syntax-eror': did you mean syntax-error?"]
    );
    assert_eq!(complaints("BUG  # oomph: ignore[syntax-error]\n"), [""; 0]);
    assert_eq!(
        complaints("x = 1  # oomph: ignore\n"),
        ["unused-ignore: This comment ignores nothing: no rule has anything to say here"]
    );
    assert!(complaints("BUG  # oomph: ignore[\n")[0].starts_with("unknown-ignore: This comment ignores nothing"));
}

/// What the editor's "ignore this line" writes does ignore it.
#[test]
fn written_comments_are_heeded() {
    for (text, wanted) in [
        ("BUG\n", "BUG  # oomph: ignore[syntax-error]\n"),
        ("BUG", "BUG  # oomph: ignore[syntax-error]"),
        ("call(\n    BUG,\n)\n", "call(\n    BUG,\n)  # oomph: ignore[syntax-error]\n"),
        ("BUG  # why\n", "BUG  # why  # oomph: ignore[syntax-error]\n"),
        ("BUG  # oomph: ignore[graph] why\n", "BUG  # oomph: ignore[graph, syntax-error] why\n"),
        ("for x in BUG:\n    pass\n", "for x in BUG:  # oomph: ignore[syntax-error]\n    pass\n"),
    ] {
        let source = Source::parse("a.py", text.to_owned());
        let edit = ignore_edit(&source, &findings(text)[0]);
        let after = crate::fixes::edited(text, TextSize::from(0), std::iter::once(&edit));
        assert_eq!(after, wanted);
        assert_eq!(lines_left(&after), [0; 0], "{after}");
    }
}
