//! The analysis ends and does not panic, whatever it is given.

use oomph_lint::{Input, check};
use proptest::prelude::*;

fn run(text: &str) {
    let _ = check(&[Input { name: "a.py".to_owned(), text: format!("import torch\n{text}") }]);
}

fn indented(body: &str) -> String {
    body.lines().flat_map(|line| ["    ", line, "\n"]).collect()
}

/// Statements that read and write a few names in every way, nested.
fn statement() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "model", "loss", "total", "self.x", "d['k']", "out[0]"]);
    let value = prop::sample::select(vec![
        "model(a)",
        "a + b",
        "[]",
        "loss",
        "a.detach()",
        "lambda: a",
        "{'k': a}",
        "[x for x in a]",
        "f(a, *b, **d)",
        "total",
        "g",
        "(a, b)",
        "None",
        "torch.cat([a, b])",
        "a if b else loss",
        "(yield a)",
        "super().f()",
        "torch.load('f')",
    ]);
    let simple = (name.clone(), value.clone(), 0..8u8).prop_map(|(name, value, kind)| match kind {
        0 => format!("{name} += {value}\n"),
        1 => format!("a.append({value})\n"),
        2 => "loss.backward()\n".to_owned(),
        3 => format!("del {name}\n"),
        4 => format!("return {value}\n"),
        5 => "break\n".to_owned(),
        _ => format!("{name} = {value}\n"),
    });
    simple.prop_recursive(4, 40, 5, move |inner| {
        (0..8u8, prop::collection::vec(inner, 1..4)).prop_map(|(kind, body)| {
            let body = indented(&body.concat());
            match kind {
                0 => format!("for a in b:\n{body}"),
                1 => format!("while total:\n{body}"),
                2 => format!("def f(model, a, *b, **d):\n{body}"),
                3 => format!("class g(torch.nn.Module):\n    def forward(self, a):\n        pass\n{body}"),
                4 => format!("with torch.no_grad():\n{body}"),
                5 => format!("try:\n{body}finally:\n{body}"),
                6 => format!("match a:\n    case [b, *d]:\n{}", indented(&body)),
                _ => format!("if a:\n{body}else:\n{body}"),
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn generated_programs_end(statements in prop::collection::vec(statement(), 1..8)) {
        run(&statements.concat());
    }
}

#[test]
fn deep_nesting_ends() {
    run(&format!("x = {}model(a){}\n", "f(".repeat(3000), ")".repeat(3000)));
    run(&format!("x = {}a\n", "a + ".repeat(20_000)));
    run(&format!("x = {}a\n", "-".repeat(5000)));
    let nested: Vec<String> = (0..90).map(|depth| format!("{}for a in b:\n", " ".repeat(depth))).collect();
    let nested = nested.concat();
    run(&format!("{nested}{}a.append(model(a))\n", " ".repeat(90)));
    run("def f(a):\n    return f(f(a))\nf(f)\n");
}
