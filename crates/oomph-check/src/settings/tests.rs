//! What layers of options come to, and what is said about mistakes in them.

use super::*;
use crate::rule::Group;
use crate::size::{Amount, Size};

const fn rule(name: &'static str, group: Group, size: Size, is_opportunity: bool) -> Rule {
    Rule {
        name,
        group,
        size,
        is_opportunity,
        fix: None,
        summary: "",
        why: "",
        cost: "",
        instead: "",
        when_not: "",
        programs: "",
        check: |_, _| {},
    }
}

static LOUD: Rule = rule("loud-thing", Group::Graph, Size::failure(), false);
static FAIR: Rule = rule("fair-thing", Group::Graph, Size::once(Amount::Batch), false);
static QUIET: Rule = rule("quiet-thing", Group::GradMode, Size::once(Amount::Batch), true);
static RULES: [&Rule; 3] = [&LOUD, &FAIR, &QUIET];

fn options(table: &str) -> Options {
    read(Path::new("pyproject.toml"), &format!("[tool.oomph.check]\n{table}"), &RULES).expect(table)
}

fn on(layers: &[&str]) -> String {
    let layers: Vec<Options> = layers.iter().map(|table| options(table)).collect();
    let settings = Settings::new("/p".into(), &layers.iter().collect::<Vec<_>>(), &RULES);
    names(&settings, "/p/src/a.py")
}

fn names(settings: &Settings, file: &str) -> String {
    let shown = RULES.iter().filter_map(|rule| match settings.choice(rule, Path::new(file)) {
        Choice::Off => None,
        Choice::Default => Some(rule.name.to_owned()),
        Choice::Selected => Some(format!("{}!", rule.name)),
        Choice::At(level) => Some(format!("{}={level:?}", rule.name)),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn opportunities_wait_to_be_asked() {
    assert_eq!(on(&[""]), "loud-thing fair-thing");
    assert_eq!(on(&["select = ['all']"]), "loud-thing! fair-thing! quiet-thing!");
    assert_eq!(on(&["extend-select = ['quiet_thing']"]), "loud-thing fair-thing quiet-thing!");
    assert_eq!(on(&["select = ['default', 'grad-mode']"]), "loud-thing fair-thing quiet-thing!");
}

#[test]
fn the_narrower_name_wins() {
    assert_eq!(on(&["ignore = ['graph']"]), "");
    assert_eq!(on(&["select = ['fair-thing']\nignore = ['graph']"]), "fair-thing!");
    assert_eq!(on(&["select = ['all']\nignore = ['fair-thing']"]), "loud-thing! quiet-thing!");
    assert_eq!(on(&["select = ['graph']\nignore = ['graph']"]), "");
}

#[test]
fn the_later_layer_wins() {
    assert_eq!(on(&["ignore = ['loud-thing']", "select = ['loud-thing']"]), "loud-thing!");
    assert_eq!(on(&["select = ['all']", "ignore = ['graph']"]), "quiet-thing!");
    assert_eq!(on(&["select = ['quiet-thing']", "extend-select = ['loud-thing']"]), "loud-thing! quiet-thing!");
}

#[test]
fn severities_change_the_level_and_wake_opportunities() {
    assert_eq!(on(&["severity = { loud-thing = 'info' }"]), "loud-thing=Info fair-thing");
    assert_eq!(on(&["severity = { quiet-thing = 'warning' }"]), "loud-thing fair-thing quiet-thing=Warning");
    assert_eq!(on(&["severity = { graph = 'off' }"]), "");
    assert_eq!(on(&["severity = { graph = 'off', fair-thing = 'error' }"]), "fair-thing=Error");
    assert_eq!(
        on(&["severity = { all = 'warning' }", "ignore = ['quiet-thing']"]),
        "loud-thing=Warning fair-thing=Warning"
    );
}

#[test]
fn some_files_are_spared() {
    let options = options("per-file-ignores = { 'tests/*' = ['graph'], 'conf.py' = ['all'] }\nselect = ['all']");
    let settings = Settings::new("/p".into(), &[&options], &RULES);
    assert_eq!(names(&settings, "/p/tests/a.py"), "quiet-thing!");
    assert_eq!(names(&settings, "/p/deep/down/conf.py"), "");
    assert_eq!(names(&settings, "/p/a.py"), "loud-thing! fair-thing! quiet-thing!");
}

#[test]
fn excludes_replace_or_add() {
    let excludes = |table: &str, path: &str| {
        let options = options(table);
        Settings::new("/p".into(), &[&options], &RULES).excludes(Path::new(path))
    };
    assert!(excludes("", "/p/node_modules") && excludes("", "/p/x/.venv") && !excludes("", "/p/src"));
    assert!(excludes("exclude = ['src']", "/p/src") && !excludes("exclude = ['src']", "/p/.venv"));
    assert!(excludes("extend-exclude = ['src']", "/p/src") && excludes("extend-exclude = ['src']", "/p/.venv"));
}

#[test]
fn mistakes_are_named_with_their_place_and_the_way_out() {
    for (table, wanted, hint) in [
        ("selct = ['all']", "p.toml:2:1: unknown key 'selct'", "did you mean select?"),
        ("colour = true", "p.toml:2:1: unknown key 'colour'", "known are select, extend-select, ignore"),
        ("select = ['all',\n  'fairthing']", "p.toml:3:3: there is no rule or group named 'fairthing'", "fair-thing"),
        ("ignore = 'all'", "p.toml:2:10: 'ignore' must be a list of strings", "write it like"),
        ("ignore = ['all', 3]", "p.toml:2:18: 'ignore' must be a list of strings", "write it like"),
        ("severity = { graph = 'eror' }", "p.toml:2:22: not a severity: 'eror'", "did you mean error?"),
        ("severity = 'error'", "p.toml:2:12: 'severity' must be a table", "[tool.oomph.check.severity]"),
        ("exclude = ['a[b']", "p.toml:2:12: 'a[b' is no pattern: ", "tests/*.py"),
        ("per-file-ignores = { 'a[b' = ['all'] }", "p.toml:2:22: 'a[b' is no pattern: ", "tests/*.py"),
        ("select = [", "p.toml:2:", "toml.io"),
        ("[tool.oomph.chekc]", "p.toml:2:13: unknown table 'tool.oomph.chekc'", "did you mean check?"),
    ] {
        let error = read(Path::new("p.toml"), &format!("[tool.oomph.check]\n{table}"), &RULES).expect_err(table);
        assert!(error.to_string().starts_with(wanted), "{table}: {error}");
        assert!(error.hint().is_some_and(|text| text.contains(hint)), "{table}: {:?}", error.hint());
    }
}

#[test]
fn files_that_say_nothing_to_oomph_are_passed_over() {
    assert!(!find_table("[project]\nname = 'oomph'"));
    assert!(find_table("[tool.oomph.check]"));
    assert!(find_table("tool.oomph.check.select = []"));
}
