//! `hf-load-in-fp32`: a large model is loaded in 32 bits.

use crate::analysis::events::{At, Call};
use crate::facts::Facts;
use crate::finding::Safety;
use crate::python::Expr;
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{last_name, string_of};

pub(super) static RULE: Rule = Rule {
    name: "hf-load-in-fp32",
    group: Group::Frameworks,
    size: Size::once(Amount::Model),
    is_opportunity: true,
    fix: Some(Safety::Unsafe),
    summary: "A model of billions of parameters is loaded with no word on its type.",
    why: "Before transformers 5, `from_pretrained` made every weight a 32-bit float, whatever the checkpoint holds. Such \
          models are published in 16 bits.",
    cost: "4 bytes a parameter in the place of 2: 14 GB more for 7 billion.",
    instead: "`from_pretrained(name, dtype=\"auto\")` (`torch_dtype=\"auto\"` before 4.56), or `torch.bfloat16`.",
    when_not: "transformers 5 or later, where `\"auto\"` is the default; training that needs 32-bit weights.",
    programs: include_str!("hf_load_in_fp32.py"),
    check,
};

/// Models below this many billion parameters fit in 32 bits.
const LARGE_BILLIONS: f64 = 2.0;

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    for call in facts.calls_named("from_pretrained") {
        let class = facts.written(&*call.node.func);
        let is_model = (class.contains("Model") || class.contains("For"))
            && !class.contains("Config")
            && !class.contains("Tokenizer");
        let told = ["dtype", "torch_dtype", "quantization_config", "load_in_8bit", "load_in_4bit", "config"];
        if !is_model || call.has_star() || told.iter().any(|name| call.keyword(name).is_some()) {
            continue;
        }
        let Some(path) = call.arg(0).or_else(|| call.keyword("pretrained_model_name_or_path")) else { continue };
        let Some((name, billions)) = model_size(facts, &call.at, path) else { continue };
        if billions < LARGE_BILLIONS || is_cast(facts, call) {
            continue;
        }
        let wide = billions * 4.0;
        report
            .add(
                call,
                format!(
                    "`{name}` is loaded in 32 bits by transformers before 5: {wide:.0} GB, twice what its file holds"
                ),
            )
            .because(path, format!("{billions} billion parameters, and no `dtype`"))
            .unsafe_fix("Load in the type of the checkpoint", facts.add_argument(call, "torch_dtype=\"auto\""));
    }
}

/// The name of a published model and how many billion parameters that name says it has.
fn model_size<'f>(facts: &'f Facts<'_>, at: &At, path: &'f Expr) -> Option<(&'f str, f64)> {
    let literal = |expr: &'f Expr| string_of(expr);
    let bound = |name: &str| {
        let mut values = facts.binds_of(name).map(|bind| bind.value_expr.and_then(string_of));
        let first = values.next()??;
        values.all(|other| other == Some(first)).then_some(first)
    };
    let name = literal(path).or_else(|| bound(last_name(path)?)).or_else(|| default_of(facts, at, path))?;
    let lower = name.to_ascii_lowercase();
    if ["gptq", "awq", "int4", "int8", "4bit", "8bit", "gguf", "fp8", "moe"].iter().any(|word| lower.contains(word)) {
        return None;
    }
    billions(&lower).map(|size| (name, size))
}

/// The `7` of `llama-2-7b-hf`.
fn billions(name: &str) -> Option<f64> {
    let parts = name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    parts
        .filter_map(|part| part.strip_suffix('b'))
        .filter_map(|number| number.parse().ok())
        .find(|size| (0.1..1000.0).contains(size))
}

/// Whether the model is made smaller at once: `.half()`, `.to(torch.bfloat16)`.
fn is_cast(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let statement = facts.statement(call.at.stmt).map_or("", |found| facts.written(found.node));
    ["half()", "bfloat16", "float16"].iter().any(|word| statement.contains(word))
}

/// What a parameter of the function around is when nothing is given: `def __init__(self, name="org/model-7b")`.
fn default_of<'f>(facts: &'f Facts<'_>, at: &At, path: &Expr) -> Option<&'f str> {
    let Expr::Name(name) = path else { return None };
    let mut parameters = facts.function(at)?.node.parameters.iter_non_variadic_params();
    let own = parameters.find(|parameter| parameter.name().as_str() == name.id.as_str())?;
    let rebound = facts.binds_of(name.id.as_str()).any(|bind| bind.at.function == at.function);
    own.default.as_deref().filter(|_| !rebound).and_then(string_of)
}
