//! The guilty line is told where a run gets to it, and not where none does.

use crate::{Project, RuleSet, Selection, Source, check};

const LOOP: &str = "    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss
    return total
";

/// How often `total += loss` is told in `train.py`, which stands beside `helpers.py` and uses it.
fn told(before: &str) -> usize {
    told_in(&format!(
        "import torch\nimport helpers\n\n\ndef train(model, loader, optimizer, criterion):\n    total = 0\n{before}{LOOP}"
    ))
}

fn told_in(text: &str) -> usize {
    let helpers = "def pair():\n    return 1, 2\n\n\nif __name__ == '__main__':\n    only_here = 1\n";
    let sources =
        [("train.py", text), ("helpers.py", helpers)].map(|(name, text)| Source::parse(name, text.to_owned()));
    let found = check(&Project::new(sources.into()), &Selection::same(RuleSet::defaults()));
    found[0].iter().filter(|finding| finding.rule == "loss-accumulated-with-graph").count()
}

#[test]
fn a_line_behind_one_that_goes_on_is_told() {
    assert_eq!(told(""), 1);
    for innocent in [
        "    print(torch, helpers, __file__)\n",
        "    if total:\n        return undefined\n",
        "    names = [undefined for name in loader if name]\n",
        "    try:\n        print(undefined)\n    except NameError:\n        pass\n",
        "    first, second = helpers.pair()\n",
        "    total and undefined\n",
        "    model.__(total)\n",
        "    later = lambda: undefined\n",
    ] {
        assert_eq!(told(innocent), 1, "{innocent}");
    }
}

#[test]
fn a_line_behind_one_that_always_raises_is_not_told() {
    for guilty in [
        "    print(undefined)\n",
        "    with torch._____:\n        pass\n",
        "    model.____()\n",
        "    lines = [undefined(x) for x in loader]\n",
        "    for x in loader:\n        print(undefined)\n",
        "    with torch.no_grad():\n        undefined.eval()\n",
        "    if undefined:\n        pass\n",
        "    if total:\n        return 1\n    else:\n        print(undefined)\n",
        "    first, second, third = helpers.pair()\n",
        "    for index in xrange(3):\n        print(index)\n",
        "    return total\n",
        "    exit()\n",
        "    while True:\n        print(total)\n",
        "    optimizer.zero_grade()\n",
        "    torch.nn.functional.cross_entropy()\n",
        "    model = torch.utils.checkpoint(model)\n",
    ] {
        assert_eq!(told(guilty), 0, "{guilty}");
    }
}

#[test]
fn the_rest_of_a_turn_that_raises_never_comes_again() {
    let text = |after: &str| {
        let body = LOOP.replace("        total += loss\n", &format!("        total += loss\n        print({after})\n"));
        format!(
            "import torch\nimport helpers\n\n\ndef train(model, loader, optimizer, criterion):\n    total = 0\n{body}"
        )
    };
    assert_eq!(told_in(&text("helpers")), 1);
    assert_eq!(told_in(&text("undefined")), 0);
}

#[test]
fn a_module_whose_body_raises_runs_nothing() {
    let file = |import: &str| {
        format!("import torch\n{import}\n\n\ndef train(model, loader, optimizer, criterion):\n    total = 0\n{LOOP}")
    };
    assert_eq!(told_in(&file("from helpers import pair")), 1);
    assert_eq!(told_in(&file("from helpers import triple")), 1);
    assert_eq!(told_in(&file("import helpers\nprint(triple)")), 0);
    assert_eq!(told_in(&file("from somewhere import *\nfrom helpers import pair\nprint(triple)")), 1);
}

#[test]
fn an_attribute_that_nothing_sets_raises() {
    let class = |init: &str, name: &str, base: &str| {
        let body = LOOP.replace("    for x", "    self.log()\n    for x").replace("    ", "        ");
        let body = body.replace("                ", "            ");
        let head = format!("import torch\nimport helpers\nfrom unknown import Base\n\n\nclass Trainer({base}):\n");
        let methods: String = [init, name].map(|name| format!("    def {name}(self):\n        pass\n\n")).concat();
        let train = "    def train(self, model, loader, optimizer, criterion):\n        total = 0\n";
        format!("{head}{methods}{train}{body}")
    };
    assert_eq!(told_in(&class("__init__", "log", "object")), 1);
    assert_eq!(told_in(&class("__init__", "other", "Base")), 1);
    assert_eq!(told_in(&class("left_out", "other", "object")), 1);
    assert_eq!(told_in(&class("__init__", "other", "object")), 0);
}

#[test]
fn an_option_that_no_argument_defines_raises() {
    let program = |argument: &str, between: &str| {
        format!(
            "import argparse\nimport torch\nparser = argparse.ArgumentParser()\nparser.add_argument({argument})\n\
             opt = parser.parse_args()\nopt.cuda = True\n{between}\n\ndef train(model, loader, optimizer, criterion):\n    \
             total = 0\n    print(opt.dec_dir, opt.cuda)\n{LOOP}"
        )
    };
    assert_eq!(told_in(&program("'--decoder_dir'", "print(opt)")), 0);
    for (argument, between) in [
        ("'--dec-dir', '-d'", ""),
        ("'--decoder', dest='dec_dir'", ""),
        ("name", ""),
        ("'--decoder_dir'", "opt.dec_dir = '.'"),
        ("'--decoder_dir'", "parser.set_defaults(dec_dir='.')"),
        ("'--decoder_dir'", "vars(opt).update(dec_dir='.')"),
        ("'--decoder_dir'", "opt = load()"),
    ] {
        assert_eq!(told_in(&program(argument, between)), 1, "{argument} {between}");
    }
}

#[test]
fn a_branch_behind_a_switch_set_off_is_not_told() {
    assert_eq!(told("    fast = False\n    if fast:\n        return 1\n"), 1);
    let branch = |switch: &str| {
        let body = LOOP.replace("    ", "        ").replace("                ", "            ");
        let head = "import torch\nimport helpers\n\n\ndef train(model, loader, optimizer, criterion):\n    total = 0\n";
        told_in(&format!("{head}    fast = {switch}\n    if fast:\n{body}"))
    };
    assert_eq!(branch("helpers.pair()"), 1);
    assert_eq!(branch("False"), 0);
    assert_eq!(
        told("    seen = 0\n    for x in loader:\n        if seen == 0:\n            return 1\n        seen += 1\n"),
        1
    );
}

#[test]
fn an_excerpt_leaves_its_actors_out() {
    let excerpt = format!("import torch\n\n\ndef train():\n    total = 0\n    model.train()\n{LOOP}");
    assert_eq!(told_in(&excerpt), 1);
}

#[test]
fn a_file_that_no_interpreter_takes_runs_nothing() {
    let program = |line: &str| {
        told_in(&format!(
            "import torch\n{line}\n\ndef train(model, loader, optimizer, criterion):\n    total = 0\n{LOOP}"
        ))
    };
    assert_eq!(program("names = ['a' 1]"), 0);
    for runs in ["print 'Python 2'", "!nvidia-smi", "x = x.cuda(async=True)", ""] {
        assert_eq!(program(runs), 1, "{runs}");
    }
}

#[test]
fn a_function_that_another_one_replaces_is_not_told() {
    let train = |rest: &str| {
        format!("import torch\n\n\ndef train(model, loader, optimizer, criterion):\n    total = 0\n{LOOP}\n\n{rest}")
    };
    let again = "def train(model, loader):\n    return model, loader\n";
    assert_eq!(told_in(&train(again)), 0);
    for innocent in [
        "def test(model, loader):\n    return model, loader\n".to_owned(),
        format!("print(train)\n\n\n{again}"),
        format!("def main():\n    return train\n\n\nmain()\n\n\n{again}"),
        format!("@torch.jit.export\ndef other(step=train):\n    return step\n\n\n{again}"),
        format!("if torch.cuda.is_available():\n    {}", again.replace('\n', "\n    ")),
    ] {
        assert_eq!(told_in(&train(&innocent)), 1, "{innocent}");
    }
}

#[test]
fn a_loop_that_is_left_on_its_first_turn_adds_up_nothing() {
    let left = |end: &str| {
        let body = LOOP.replace("    return total\n", &format!("        {end}\n    return total\n"));
        told_in(&format!(
            "import torch\nimport helpers\n\n\ndef train(model, loader, optimizer, criterion, once=True):\n    total = 0\n\
             {body}\n\ndef all(model, loader, optimizer, criterion):\n    train(model, loader, optimizer, criterion)\n"
        ))
    };
    for goes_on in ["print(total)", "if total > 3:\n            break", "if helpers.pair():\n            return total"]
    {
        assert_eq!(left(goes_on), 1, "{goes_on}");
    }
    for leaves in ["break", "return total", "if once:\n            break"] {
        assert_eq!(left(leaves), 0, "{leaves}");
    }
}

#[test]
fn a_switch_that_a_caller_turns_off_ends_no_loop() {
    let body = LOOP.replace("    return total\n", "        if once:\n            break\n    return total\n");
    let program = |call: &str| {
        told_in(&format!(
            "import torch\nimport helpers\n\n\ndef train(model, loader, optimizer, criterion, once=True):\n    total = 0\n\
             {body}\n\ndef all(model, loader, optimizer, criterion):\n    {call}\n"
        ))
    };
    assert_eq!(program("train(model, loader, optimizer, criterion, once=True)"), 0);
    assert_eq!(program("train(model, loader, optimizer, criterion, once=False)"), 1);
    assert_eq!(program("train(model, loader, optimizer, criterion, False)"), 1);
}

#[test]
fn a_definition_that_another_replaces_never_runs() {
    let twice = |between: &str, decorator: &str| {
        let head =
            format!("import torch\nimport helpers\n\n\n{decorator}def train(model, loader, optimizer, criterion):");
        let again = "def train(model, loader):\n    return model\n";
        told_in(&format!("{head}\n    total = 0\n{LOOP}\n\n{between}\n{again}"))
    };
    assert_eq!(twice("", ""), 0);
    assert_eq!(twice("def other():\n    return train\n", ""), 0);
    assert_eq!(twice("first = train", ""), 1);
    assert_eq!(twice("def other(step=train):\n    return step\n", ""), 1);
    assert_eq!(twice("def other():\n    return train\n\n\nfirst = other()", ""), 1);
    assert_eq!(twice("", "@helpers.register\n"), 1);
}

#[test]
fn methods_of_a_class_that_cannot_be_made_never_run() {
    let class = |init: &str, heir: &str| {
        let body = LOOP.replace("    ", "        ").replace("                ", "            ");
        let train = "    def train(self, model, loader, optimizer, criterion):\n        total = 0\n";
        told_in(&format!(
            "import torch\nimport helpers\n\n\nclass Trainer:\n    def __init__(self):\n        self.loss = {init}\n\n\
             {train}{body}\n\n{heir}"
        ))
    };
    assert_eq!(class("torch.nn.functional.cross_entropy", ""), 1);
    assert_eq!(class("torch.nn.functional.cross_entropy()", ""), 0);
    assert_eq!(class("torch.nn.functional.cross_entropy()", "class Other(Trainer):\n    pass\n"), 1);
}
