//! Rounds of fixes over texts and notebooks.

use super::*;
use crate::finding::Level;
use crate::python::Imported;
use crate::requirements::TorchVersions;
use crate::size::Size;
use crate::source::Kind;

/// A finding whose fix replaces every `old` in the text by `new`.
fn finding(source: &Source, rule: &'static str, old: &str, new: &str, safety: Safety) -> Finding {
    let edit = |(offset, text): (usize, &str)| {
        Edit::replace(TextRange::at(TextSize::of(&source.text[..offset]), TextSize::of(text)), new)
    };
    let edits: Vec<Edit> = source.text.match_indices(old).map(edit).collect();
    Finding {
        rule,
        level: Level::Error,
        size: Size::failure(),
        is_doubtful: false,
        cause: None,
        made_by: None,
        range: edits[0].range,
        message: String::new(),
        evidence: Vec::new(),
        fix: Some(Fix { title: String::new(), safety, edits }),
    }
}

fn open(text: &str) -> (Envelope, Source) {
    Envelope::open("a.py", text.as_bytes().to_vec(), Kind::Script).expect("UTF-8")
}

/// A round in a project of one file that declares nothing.
fn round(source: &Source, envelope: &Envelope, findings: &[Finding], risky: bool) -> Option<Fixed> {
    let surroundings = Surroundings { torch: TorchVersions::default(), imported: &Imported::default() };
    super::round(source, envelope, findings.iter(), risky, surroundings)
}

fn text_after(round: Option<&Fixed>) -> Option<&str> {
    round.map(|fixed| fixed.source.text.as_str())
}

#[test]
fn fixes_that_meet_wait_for_the_next_round() {
    let (envelope, source) = open("print('abc')\nprint('d')\n");
    let first = finding(&source, "one", "'ab", "'xy", Safety::Safe);
    let second = finding(&source, "two", "bc", "z", Safety::Safe);
    let third = finding(&source, "three", "'d", "'e", Safety::Safe);
    let round = round(&source, &envelope, &[second, first, third], false);
    assert_eq!(text_after(round.as_ref()), Some("print('xyc')\nprint('e')\n"));
    assert_eq!(round.expect("fixed").rules, ["one", "three"]);
}

#[test]
fn the_same_edit_is_made_once() {
    let (envelope, source) = open("x = 1\n");
    let insertion = |rule| Finding {
        fix: Some(Fix {
            title: String::new(),
            safety: Safety::Safe,
            edits: vec![Edit::insert(TextSize::from(0), "import torch\n")],
        }),
        ..finding(&source, rule, "x", "x", Safety::Safe)
    };
    let round = round(&source, &envelope, &[insertion("one"), insertion("two")], false);
    assert_eq!(text_after(round.as_ref()), Some("import torch\nx = 1\n"));
    assert_eq!(round.expect("fixed").rules.len(), 2);
}

#[test]
fn risky_fixes_wait_to_be_asked() {
    let (envelope, source) = open("x = 1\n");
    let risky = [finding(&source, "one", "1", "2", Safety::Unsafe)];
    assert_eq!(text_after(round(&source, &envelope, &risky, false).as_ref()), None);
    assert_eq!(text_after(round(&source, &envelope, &risky, true).as_ref()), Some("x = 2\n"));
}

#[test]
fn a_fix_that_breaks_the_file_is_refused_and_the_others_are_not() {
    let (envelope, source) = open("x = 1\ny = 2\n");
    let breaking = finding(&source, "breaks", "1", "(", Safety::Safe);
    let sound = finding(&source, "mends", "2", "3", Safety::Safe);
    let round = round(&source, &envelope, &[breaking, sound], false);
    assert_eq!(text_after(round.as_ref()), Some("x = 1\ny = 3\n"));
    assert_eq!(round.expect("fixed").rules, ["mends"]);
}

#[test]
fn a_file_that_does_not_parse_is_left_alone() {
    let (envelope, source) = open("x = (\ny = 2\n");
    let sound = finding(&source, "mends", "2", "3", Safety::Safe);
    assert_eq!(text_after(round(&source, &envelope, &[sound], true).as_ref()), None);
}

#[test]
fn inserted_lines_end_as_the_others_do() {
    let (envelope, source) = open("x = 1\r\ny = 2\r\n");
    let longer = finding(&source, "one", "1", "1\nz = 2", Safety::Safe);
    assert_eq!(text_after(round(&source, &envelope, &[longer], false).as_ref()), Some("x = 1\r\nz = 2\r\ny = 2\r\n"));
}

#[test]
fn notebooks_are_fixed_cell_by_cell() {
    let json = r#"{"cells": [
      {"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": ["x = 1\n", "del x"]},
      {"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": "x = 1"}
    ], "metadata": {}, "nbformat": 4, "nbformat_minor": 2}"#;
    let (envelope, source) = Envelope::open("a.ipynb", json.as_bytes().to_vec(), Kind::Notebook).expect("a notebook");
    // With the line break that only stands between the cells.
    let last_line = finding(&source, "one", "del x\n", "", Safety::Safe);
    let both = finding(&source, "two", "1", "2", Safety::Safe);
    let across = finding(&source, "three", "x\nx", "y", Safety::Safe);
    let fixed = round(&source, &envelope, &[last_line, both, across], false).expect("fixed");
    let wanted = json.replace(r#"["x = 1\n", "del x"]"#, r#"["x = 2\n"]"#).replace(r#""x = 1"}"#, r#""x = 2"}"#);
    assert_eq!(fixed.envelope.seal(&fixed.source), wanted);
    assert_eq!(fixed.rules, ["two", "one"]);
}
