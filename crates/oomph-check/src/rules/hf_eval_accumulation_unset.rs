//! `hf-eval-accumulation-unset`: Trainer keeps an evaluation's logits on the GPU.

use crate::analysis::events::{At, Call, Callee};
use crate::facts::Facts;
use crate::python::{Expr, Ranged};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::last_name;

pub(super) static RULE: Rule = Rule {
    name: "hf-eval-accumulation-unset",
    group: Group::Frameworks,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: None,
    summary: "A `Trainer` with metrics collects the logits of a whole evaluation on the GPU.",
    why: "To call `compute_metrics` the Trainer concatenates all logits on the GPU and moves them at the end, unless \
          `eval_accumulation_steps` moves them now and then or `preprocess_logits_for_metrics` makes them small.",
    cost: "Samples x tokens x vocabulary x 4 bytes: 1,000 samples of 512 tokens over 50,000 words are 100 GB.",
    instead: "`preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1)`, and \
              `eval_accumulation_steps=...` in the arguments.",
    when_not: "The head is small: a few classes a sample.",
    programs: include_str!("hf_eval_accumulation_unset.py"),
    check,
};

/// Heads whose logits are large: one score a token and word, or a pixel and class.
const LARGE_HEADS: &[&str] = &[
    "ForCausalLM",
    "LMHeadModel",
    "ForMaskedLM",
    "ForConditionalGeneration",
    "ForSemanticSegmentation",
    "ForSeq2SeqLM",
];

const ARGUMENTS: &[&str] =
    &["transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments", "trl.SFTConfig"];

const TRAINERS: &[&str] = &["transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer"];

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    let says = |ways: &[&str]| ways.iter().any(|way| facts.source.text.contains(way));
    let evaluates = says(&[".evaluate(", ".predict("]);
    let arguments = ARGUMENTS.iter().flat_map(|name| facts.calls_to(name)).find(|call| {
        // What is generated are token ids, no scores.
        let told = ["eval_accumulation_steps", "prediction_loss_only", "predict_with_generate"]
            .iter()
            .any(|name| facts.keyword_given(call, name).is_some());
        let set_later = facts.source.text.contains(".eval_accumulation_steps");
        !told && !facts.hides_arguments(call) && !set_later
    });
    // Held-out data alone is not enough: evaluation runs when it is asked for.
    let on_schedule = |call: &&Call<'_>| {
        let asked = ["eval_strategy", "evaluation_strategy"].iter().find_map(|name| facts.keyword_given(call, name));
        asked.is_some_and(|way| facts.written(way).trim_matches(['"', '\'']) != "no")
            || call.keyword_is("do_eval", true)
    };
    let Some(arguments) = arguments.filter(|_| evaluates || says(&["eval_dataset"])) else { return };
    let surely = evaluates || on_schedule(&arguments);
    let own = own_trainers(facts).into_iter().flat_map(|name| facts.calls_named(name));
    for call in TRAINERS.iter().flat_map(|name| facts.calls_to(name)).chain(own) {
        let reduced = call.keyword("preprocess_logits_for_metrics").is_some() || call.has_star();
        if call.keyword("compute_metrics").is_none() || reduced {
            continue;
        }
        let Some(large) = large_head_of(facts, call) else { continue };
        report
            .add(call, "All logits of an evaluation stay on the GPU until its end")
            .doubtful_if(!surely)
            .because(large, "this model gives a score for every token and word")
            .because(
                &call.keyword("compute_metrics").map_or_else(|| call.range(), Ranged::range),
                "metrics need the logits",
            )
            .because(arguments, "no `eval_accumulation_steps`");
    }
}

/// Classes of this file that are trainers with an evaluation as the library has it.
fn own_trainers<'a>(facts: &Facts<'a>) -> Vec<&'a str> {
    const ANOTHER_WAY: &[&str] =
        &["def prediction_step", "def evaluation_loop", "def evaluate", "preprocess_logits_for_metrics"];
    let classes = facts.outline().classes.iter();
    let derived = classes.filter(|class| class.bases.iter().any(|base| TRAINERS.contains(&base.as_str())));
    let as_it_is =
        derived.filter(|class| !ANOTHER_WAY.iter().any(|way| facts.source.slice(class.node.range()).contains(way)));
    as_it_is.map(|class| class.node.name.as_str()).collect()
}

/// What made the trainer's model, when it gives a score for every token and word; wrappers of it are seen through.
fn large_head_of<'f, 'a>(facts: &'f Facts<'a>, trainer: &Call<'a>) -> Option<&'f Call<'a>> {
    if let Some(makes) = trainer.keyword("model_init") {
        return match makes {
            Expr::Lambda(lambda) => large_head_in(facts, facts.call_at(&lambda.body)?),
            Expr::Name(name) => large_head_returned(facts, name.id.as_str()),
            _ => None,
        };
    }
    let model = trainer.keyword("model").or_else(|| trainer.arg(0))?;
    if let Some(made) = facts.call_at(model) {
        return large_head_in(facts, made);
    }
    let name = last_name(model)?;
    let mut binds: Vec<_> = facts.binds_of(name).filter(|bind| bind.value_expr.is_some()).collect();
    if binds.is_empty() {
        return facts.calls().iter().find(|call| makes_large_head(facts, call));
    }
    let before = |at: &At| at.function != trainer.at.function || at.order < trainer.at.order;
    binds.retain(|bind| before(&bind.at));
    let made = binds.iter().rev().find_map(|bind| {
        let expr = bind.value_expr?;
        let wraps = |call: &Call<'_>| call.arg(0).is_some_and(|first| last_name(first) == Some(name));
        facts.call_at(expr).filter(|call| !wraps(call))
    })?;
    large_head_in(facts, made)
}

/// The call itself, or the one whose model it moves or adapts: `get_peft_model(AutoModel....from_pretrained(name), lora)`.
fn large_head_in<'f, 'a>(facts: &'f Facts<'a>, made: &'f Call<'a>) -> Option<&'f Call<'a>> {
    const HANDS_ON: &[&str] = &["get_peft_model", "prepare_model_for_kbit_training", "to", "cuda", "train", "compile"];
    if makes_large_head(facts, made) {
        return Some(made);
    }
    if let (Callee::Project(_), Expr::Name(name)) = (made.callee, &*made.node.func) {
        return large_head_returned(facts, name.id.as_str());
    }
    let moved = made.receiver_expr().filter(|own| own.is_call_expr());
    let inner = moved.or_else(|| made.arg(0)).filter(|_| HANDS_ON.contains(&made.name))?;
    large_head_in(facts, facts.call_at(inner)?)
}

/// The same where a function of this file makes the model and returns it.
fn large_head_returned<'f, 'a>(facts: &'f Facts<'a>, name: &str) -> Option<&'f Call<'a>> {
    let function =
        facts.outline().functions.iter().position(|own| own.node.name.as_str() == name && own.class.is_none())?;
    let mut returns = facts.returns().iter().filter(|found| found.at.function == u32::try_from(function).ok());
    let (only, None) = (returns.next()?, returns.next()) else { return None };
    let bound = || {
        let mut binds =
            facts.binds_of(only.expr.as_name_expr()?.id.as_str()).filter(|bind| bind.at.function == only.at.function);
        let (bind, more) = (binds.next()?, binds.next());
        bind.value_expr.filter(|_| more.is_none())
    };
    let made = facts.call_at(bound().unwrap_or(only.expr))?;
    makes_large_head(facts, made).then_some(made)
}

fn makes_large_head(facts: &Facts<'_>, call: &Call<'_>) -> bool {
    let name = facts.full_name(call).unwrap_or_default();
    let text = if name.is_empty() { facts.written(&*call.node.func) } else { name };
    matches!(call.name, "from_pretrained" | "from_config") && LARGE_HEADS.iter().any(|head| text.contains(head))
}
