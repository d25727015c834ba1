//! Every rule's page is complete, and every example on it is true.

use std::fs;
use std::path::Path;

use oomph_check::{Choice, Finding, Level, Project, Rule, RuleSet, Selection, Source, check, rules};

/// Examples of notebooks begin with `# %%`, which also parts their cells.
fn parse(text: &str) -> Source {
    if !text.starts_with("# %%\n") {
        return Source::parse("example.py", text.to_owned());
    }
    let cell = |code: &str| serde_json::json!({"cell_type": "code", "id": "c", "metadata": {}, "outputs": [], "execution_count": null, "source": code.trim_end()});
    let cells: Vec<_> = text.split("# %%\n").skip(1).map(cell).collect();
    let notebook = serde_json::json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    Source::parse_notebook("example.ipynb", &notebook.to_string()).expect("a notebook")
}

fn run(set: RuleSet, text: &str) -> Vec<Finding> {
    let source = parse(text);
    assert!(source.syntax_errors().is_empty(), "{:?} in:\n{text}", source.syntax_errors());
    check(&Project::new(vec![source]), &Selection::same(set)).remove(0)
}

fn alone(rule: &Rule) -> RuleSet {
    RuleSet::none().with(rule.name, Choice::Selected)
}

#[test]
fn bad_examples_fire_and_say_why() {
    for rule in rules::ALL {
        for example in rule.examples() {
            let found = run(alone(rule), example.bad);
            assert!(!found.is_empty(), "{} does not fire on:\n{}", rule.name, example.bad);
            for finding in found {
                assert!(!finding.evidence.is_empty(), "{} names no fact that made it fire", rule.name);
                assert!(!finding.message.ends_with('.'), "{}: messages have no full stop", rule.name);
                let fix = finding.fix.map(|fix| fix.safety);
                assert!(fix.is_none() || rule.fix.is_some(), "{} offers a fix its page does not name", rule.name);
            }
        }
    }
}

#[test]
fn good_examples_are_clean() {
    for rule in rules::ALL {
        for example in rule.examples() {
            let found = run(alone(rule), example.good);
            assert!(found.is_empty(), "{} fires on its own good example: {found:#?}\n{}", rule.name, example.good);
            let found = run(RuleSet::defaults(), example.good);
            assert!(found.is_empty(), "the good example of {} is not clean: {found:#?}\n{}", rule.name, example.good);
        }
    }
}

#[test]
fn traps_stay_silent() {
    for rule in rules::ALL {
        for text in rule.silent_on() {
            let found = run(alone(rule), text);
            assert!(found.is_empty(), "{} must stay silent: {found:#?}\n{text}", rule.name);
        }
    }
}

#[test]
fn pages_are_complete() {
    for rule in rules::ALL {
        let fields = [rule.summary, rule.why, rule.cost, rule.instead, rule.when_not];
        assert!(fields.iter().all(|field| !field.trim().is_empty()), "{} has an empty field", rule.name);
        assert!(rule.summary.ends_with('.'), "{}: the summary is a sentence", rule.name);
        let count = |what: &str| rule.programs.lines().filter(|line| line.strip_prefix("# --- ") == Some(what)).count();
        let (bad, good) = (count("bad"), count("good"));
        assert!(bad > 0 && bad == good, "{}: {bad} programs are bad, {good} good", rule.name);
        let parts = rule.programs.matches("# --- ").count();
        assert_eq!(parts, bad + good + count("silent"), "{}: a part that is neither bad, good nor silent", rule.name);
        assert!(fields.iter().all(|field| !field.contains("  ")), "{}: doubled space", rule.name);
        let kebab = rule.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        assert!(kebab, "{} is not kebab case", rule.name);
    }
}

#[test]
fn every_file_is_listed_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules");
    let entries = fs::read_dir(folder).expect("the rules' folder");
    let mut files: Vec<String> =
        entries.map(|entry| entry.expect("a file").file_name().to_string_lossy().replace('_', "-")).collect();
    files.sort();
    let mut names: Vec<String> =
        rules::ALL.iter().flat_map(|rule| [".py", ".rs"].map(|ending| format!("{}{ending}", rule.name))).collect();
    names.sort();
    assert_eq!(files, names);
    let groups: Vec<_> = rules::ALL.iter().map(|rule| (rule.group, rule.name)).collect();
    assert!(groups.is_sorted(), "rules::ALL is in the order of groups, then names");
}

#[test]
fn a_retained_graph_is_not_said_to_be_freed() {
    let program = |flag: &str| {
        format!(
            "import torch\n\ndef train(model, loader, optimizer, criterion):\n    total, losses = 0, []\n    for x, y in \
             loader:\n        optimizer.zero_grad()\n        loss = criterion(model(x.cuda()), y.cuda())\n        \
             loss.backward({flag})\n        optimizer.step()\n        total += loss\n        losses.append(loss)\n    \
             print(total)\n    return [float(loss) for loss in losses]\n"
        )
    };
    let told = |flag: &str| {
        let findings = run(RuleSet::all(), &program(flag));
        let says = |finding: &Finding| finding.evidence.iter().any(|fact| fact.text.contains("frees activations"));
        let of_sums = findings.iter().filter(|finding| finding.rule == "loss-accumulated-with-graph").count();
        (of_sums, findings.iter().filter(|finding| says(finding)).count())
    };
    assert_eq!(told(""), (1, 2));
    assert_eq!(told("retain_graph=True"), (1, 0));
    assert_eq!(told("None, True"), (1, 0));
}

#[test]
fn one_bug_is_reported_once_at_its_cause() {
    let program = "import torch\n\ndef train(model, loader, optimizer):\n    model.cuda()\n    saved = torch.load('last.pt')\n    \
                   model.load_state_dict(saved['model'])\n    for x in loader:\n        optimizer.zero_grad()\n        \
                   model(x.cuda()).sum().backward()\n        optimizer.step()\n";
    let told = |set: RuleSet| run(set, program).iter().map(|finding| finding.rule).collect::<Vec<_>>();
    let (cause, keeper) = ("load-without-map-location", "checkpoint-dict-kept");
    assert_eq!(told(RuleSet::none().with(keeper, Choice::Default)), [keeper]);
    assert_eq!(told(RuleSet::defaults()), [cause]);
    // What is only information hides nothing.
    let quiet = RuleSet::defaults().with(cause, Choice::At(Level::Info));
    assert_eq!(told(quiet), [keeper, cause]);
}

#[test]
fn a_second_copy_of_the_weights_matters_where_it_stays() {
    let program = |before: &str, after: &str| {
        format!(
            "import torch\n{before}\n\ndef start(net, path, x):\n    {after}\n    return net(x)\n\nstart(torch.nn.Linear(1, \
             1), 'a.pt', torch.ones(1).cuda())\n"
        )
    };
    let level = |before: &str, after: &str| {
        let set = RuleSet::none().with("load-without-map-location", Choice::Selected);
        run(set, &program(before, after)).first().map(|finding| finding.level)
    };
    let load = "net.load_state_dict(torch.load(path)['net'])";
    assert_eq!(level("", &format!("{load}\n    net.cuda()")), Some(Level::Info));
    assert_eq!(level("", &format!("net.cuda()\n    {load}")), Some(Level::Warning));
    assert_eq!(level("import torch.distributed", &format!("{load}\n    net.cuda()")), Some(Level::Warning));
    let named = "saved = torch.load(path)\n    net.load_state_dict(saved['net'])\n    net.cuda()";
    assert_eq!(level("", named), Some(Level::Warning));
    assert_eq!(level("", &format!("{named}\n    del saved")), Some(Level::Info));
}

#[test]
fn without_torch_there_is_nothing_to_say() {
    let program = |import: &str| {
        format!(
            "{import}\n\ndef train(model, loader, optimizer, criterion):\n    total = 0\n    for x, y in loader:\n        \
             loss = criterion(model(x), y)\n        loss.backward()\n        optimizer.step(8)\n        total += loss\n    \
             print(total)\n"
        )
    };
    assert!(!run(RuleSet::all(), &program("import torch")).is_empty());
    for import in ["from mxnet import autograd, gluon", "import paddle", "import numpy as np", "import jax", ""] {
        assert_eq!(run(RuleSet::all(), &program(import)), [], "{import}");
    }
    // What a file with torch calls is torch's too.
    let helper = program("import numpy as np");
    let sources =
        [("main.py", "import torch\nimport helper\n\nhelper.train(torch.nn.Linear(1, 1))\n"), ("helper.py", &helper)];
    let sources = sources.map(|(name, text)| Source::parse(name, text.to_owned()));
    let found = check(&Project::new(sources.into()), &Selection::same(RuleSet::all()));
    assert!(!found[1].is_empty());
}
