//! `one-hot-large`: a huge one-hot tensor where indices would do.

use crate::analysis::events::{At, BlockKind, Call, StoreKind};
use crate::facts::Facts;
use crate::python::{Expr, Ranged, Stmt, TextRange};
use crate::report::Report;
use crate::rule::{Group, Rule};
use crate::size::{Amount, Size};
use crate::uses::{is_number, last_name, string_of, uses_in, whole_number};

pub(super) static RULE: Rule = Rule {
    name: "one-hot-large",
    group: Group::Operations,
    size: Size::per_batch(Amount::Batch),
    is_opportunity: false,
    fix: None,
    summary: "Indices are spread out over thousands of classes.",
    why: "`F.one_hot` makes 64-bit integers, one for every index and class, and nearly all of them are zero. `.float()` \
          makes a second tensor of that shape.",
    cost: "8 bytes x indices x classes, 12 with the float copy: 8,192 tokens over a vocabulary of 50,000 are 3 GB, 5 GB \
           with the copy.",
    instead: "Losses take class indices; `gather` and `index_select` pick, `scatter_` and `index_add_` add up; an \
              `nn.Embedding` is the product with a one-hot matrix.",
    when_not: "There are few classes.",
    programs: include_str!("one_hot_large.py"),
    check,
};

/// Fewer classes than this are no matter.
const MANY: u64 = 4096;

/// The same where every point of an image has an index: 64 classes of a million points are half a gigabyte.
const MANY_IN_IMAGE: u64 = 64;

/// The same for volumes, which have tens of millions of points.
const MANY_IN_VOLUME: u64 = 16;

fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.is_test_file() {
        return;
    }
    check_put(facts, report);
    for call in facts.calls_to("torch.nn.functional.one_hot") {
        let Some(classes) = call.keyword("num_classes").or_else(|| call.arg(1)) else { continue };
        if call.arg(0).is_some_and(|index| is_one_index(facts, call, index)) {
            continue;
        }
        let text = facts.written(classes);
        if is_many(facts, &call.at, classes) {
            report
                .add(call, format!("`one_hot` makes an 8-byte number for every index and each of `{text}` classes"))
                .because(classes, "that many classes");
        } else if let Some(found) = call.arg(0).and_then(|index| facts.neighbours_spread(index, classes, &call.at)) {
            report
                .add(call, format!("`one_hot` makes an 8-byte number for every neighbour and each of `{text}` classes"))
                .because(&found, "that many indices for every sample")
                .because(classes, "that many classes");
        } else if let Some(map) = spread_map(facts, call, classes) {
            report
                .add(call, format!("`one_hot` makes an 8-byte number for every point and each of `{text}` classes"))
                .because(&map, "the indices are a map: one for each point of an image or a volume")
                .because(classes, "that many classes");
        }
    }
    for call in facts.calls_to("torch.eye") {
        let Some(classes) = call.arg(0) else { continue };
        let around = facts.around(call);
        let picks = around.iter().any(
            |outer| matches!(outer, Expr::Subscript(node) if node.value.range().contains_range(call.node.range())),
        );
        let Some(map) = spread_map(facts, call, classes).filter(|_| picks) else { continue };
        let text = facts.written(classes);
        report
            .add(call, format!("This makes a number for every point and each of `{text}` classes"))
            .because(&map, "the indices are a map: one for each point of an image or a volume")
            .because(classes, "that many classes");
    }
    for call in facts.calls_named("scatter_") {
        let Some(classes) = table_spread_over(facts, call) else { continue };
        if !is_many(facts, &call.at, classes) {
            continue;
        }
        let text = facts.written(classes);
        report
            .add(call, format!("This one-hot table has a number for every index and each of `{text}` classes"))
            .because(classes, "that many classes");
    }
}

/// `table[torch.arange(n), ids] = 1` of a table that was made of zeros.
fn check_put(facts: &Facts<'_>, report: &mut Report) {
    for store in facts.stores().iter().filter(|store| store.kind == StoreKind::Item && is_one(facts, store.value_expr))
    {
        let Some(Stmt::Assign(assign)) = facts.statement(store.at.stmt).map(|found| found.node) else { continue };
        let [Expr::Subscript(target)] = assign.targets.as_slice() else { continue };
        let (Expr::Name(table), Expr::Tuple(index)) = (&*target.value, &*target.slice) else { continue };
        let rows = index.elts.first().and_then(|row| facts.call_at(row)).is_some_and(|row| row.name == "arange");
        let own = facts.binds_of(table.id.as_str()).filter(|bind| bind.at.function == store.at.function);
        let made = own.filter(|bind| bind.at.order < store.at.order).last().and_then(|bind| bind.value_expr);
        let Some(classes) = made.and_then(|made| sizes_of_zeros(facts, made)) else { continue };
        if rows && index.elts.len() == 2 && is_many(facts, &store.at, classes) {
            let text = facts.written(classes);
            report
                .add(assign, format!("This one-hot table has a number for every index and each of `{text}` classes"))
                .because(classes, "that many classes");
        }
    }
}

/// Whether the index is a single one: `torch.tensor(label)` of a number, or of an item that a loop goes over.
fn is_one_index(facts: &Facts<'_>, call: &Call<'_>, index: &Expr) -> bool {
    let Some(made) = facts.call_at(index) else { return false };
    let scalar = |expr: &Expr| match expr {
        Expr::NumberLiteral(_) => true,
        Expr::List(list) => list.elts.len() == 1 && !list.elts[0].is_starred_expr(),
        Expr::Call(inner) => matches!(last_name(&inner.func), Some("int" | "item" | "randint")),
        // What a loop goes over item by item, numbers as their names say.
        Expr::Name(name) => facts.loops(&call.at).any(|turns| match turns.node {
            BlockKind::Loop(_, Stmt::For(node)) => {
                let word = name.id.as_str();
                let says_one = ["id", "idx", "index", "label", "i", "j", "c"].contains(&word)
                    || ["_id", "_idx", "_index", "_label", "_class"].iter().any(|end| word.ends_with(end));
                says_one && matches!(&*node.target, Expr::Name(target) if target.id == name.id)
            }
            _ => false,
        }),
        _ => false,
    };
    let tensor = matches!(facts.full_name(made), Some("torch.tensor" | "torch.as_tensor" | "torch.LongTensor"));
    tensor && made.arg(0).is_some_and(scalar)
}

/// The last size of `torch.zeros(..., classes).scatter_(dim, index, 1)`, and of the same in two statements.
fn table_spread_over<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a Expr> {
    let ones = call.keyword("value").or_else(|| call.arg(2)).is_some_and(|ones| is_one(facts, ones));
    sizes_of_zeros(facts, made_by(facts, call)?).filter(|_| ones)
}

/// What a label puts in its place: a one, or `1 - smoothing`.
fn is_one(facts: &Facts<'_>, ones: &Expr) -> bool {
    is_number(ones, 1)
        || matches!(facts.written(ones), "1." | "1.0")
        || matches!(ones, Expr::BinOp(node) if node.op.is_sub() && is_number(&node.left, 1))
}

/// The last size of a table that is made with several rows: `torch.zeros(n, classes)`.
fn sizes_of_zeros<'a>(facts: &Facts<'a>, made: &Expr) -> Option<&'a Expr> {
    let made = facts.call_at(made)?;
    let full = facts.full_name(made)?;
    let args = &made.node.arguments.args;
    let sizes = match (full, made.arg(0)?) {
        ("torch.zeros" | "torch.full", Expr::Tuple(sizes)) => &sizes.elts[..],
        ("torch.zeros" | "torch.full", Expr::List(sizes)) => &sizes.elts[..],
        ("torch.zeros", _) => &args[..],
        _ => return None,
    };
    let few = sizes.split_last().is_some_and(|(_, others)| others.iter().all(|size| whole_number(size) == Some(1)));
    sizes.last().filter(|_| sizes.len() > 1 && !few)
}

/// The expression that makes what a method is called on: itself, or what its name was bound to last.
fn made_by<'a>(facts: &Facts<'a>, call: &Call<'a>) -> Option<&'a Expr> {
    let receiver = call.receiver_expr()?;
    let Expr::Name(name) = receiver else { return Some(receiver) };
    let own = facts.binds_of(name.id.as_str()).filter(|bind| bind.at.function == call.at.function);
    let before = own.filter(|bind| bind.at.order < call.at.order);
    before.last().and_then(|bind| bind.value_expr)
}

/// Whether it is a large number, the size of a language model's vocabulary, or a name that is given a large number.
fn is_many<'a>(facts: &Facts<'a>, at: &At, classes: &'a Expr) -> bool {
    let large = |value: &Expr| whole_number(value).is_some_and(|number| number >= MANY);
    let text = facts.written(classes);
    let says_many = |text: &str| {
        ["config.vocab_size", "cfg.vocab_size", "get_input_embeddings()"].iter().any(|word| text.contains(word))
    };
    let handed = |name: &str| {
        let mut given = facts.given_at(name, at).into_iter().map(|value| facts.written(value)).peekable();
        given.peek().is_some() && given.all(says_many)
    };
    let of_model = says_many(text)
        || matches!(classes, Expr::Name(name) if handed(name.id.as_str()))
        || text.contains("tokenizer") && knows_subwords(facts)
        || is_size_of_tokenizer(facts, classes);
    let bound = |name: &str| facts.given_at(name, at).into_iter().any(large);
    let numbers = facts.numbers_given(classes, at);
    let handed_on = !numbers.is_empty() && numbers.iter().all(|number| *number >= MANY);
    large(classes) || of_model && whole_number(classes).is_none() || last_name(classes).is_some_and(bound) || handed_on
}

/// `len(tok)` and `tok.vocab_size` of the tokenizer of a language model.
fn is_size_of_tokenizer(facts: &Facts<'_>, classes: &Expr) -> bool {
    let tokenizer = match classes {
        Expr::Call(call) if last_name(&call.func) == Some("len") => call.arguments.args.first(),
        Expr::Attribute(node) if node.attr.as_str() == "vocab_size" => Some(&*node.value),
        _ => None,
    };
    let made = |expr: &Expr| {
        let call = facts.call_at(expr);
        call.is_some_and(|call| call.name == "from_pretrained" && facts.written(&*call.node.func).contains("Tokenizer"))
    };
    let mut given = tokenizer.and_then(last_name).into_iter().flat_map(|name| facts.given_to(name)).peekable();
    given.peek().is_some() && given.all(made)
}

/// What shows that a map of indices is spread over its classes, each point of an image or a volume: the classes are
/// brought to the front, or an `einsum` names all axes. Fewer classes do harm there.
fn spread_map<'a>(facts: &Facts<'a>, call: &Call<'a>, classes: &'a Expr) -> Option<TextRange> {
    let numbers = facts.numbers_given(classes, &call.at);
    let fewest = numbers.into_iter().min().filter(|_| !facts.is_never_called(&call.at))?;
    let enough = |axes: usize| fewest >= if axes > 4 { MANY_IN_VOLUME } else { MANY_IN_IMAGE };
    let in_place = facts.around(call).into_iter().find_map(|outer| axes_told(outer).map(|axes| (axes, outer.range())));
    let by_name = || {
        let uses = uses_in(facts.body_around(&call.at), facts.bound_name(call)?);
        let after = uses.iter().filter(|found| found.name.start() > call.range().end());
        after.flat_map(|found| &found.around).find_map(|outer| axes_told(outer).map(|axes| (axes, outer.range())))
    };
    in_place.or_else(by_name).filter(|(axes, _)| enough(*axes)).map(|(_, place)| place)
}

/// How many axes a call says that a one-hot map has: `hot.permute(0, 3, 1, 2)`, `einsum("bhwc,bhwd->cd", ...)`.
fn axes_told(outer: &Expr) -> Option<usize> {
    let Expr::Call(call) = outer else { return None };
    let args = &call.arguments.args;
    match last_name(&call.func)? {
        "permute" => {
            let last = i64::try_from(args.len()).ok()? - 1;
            let to_front = args.get(1).is_some_and(|axis| is_number(axis, last) || is_number(axis, -1));
            (args.len() >= 4 && to_front).then_some(args.len())
        }
        "einsum" => {
            let (first, _) = string_of(args.first()?)?.split_once(',')?;
            let axes = first.trim().chars().filter(|letter| letter.is_alphabetic()).count();
            (axes >= 4).then_some(axes)
        }
        _ => None,
    }
}

/// Whether the file has to do with tokenizers of language models; one of its own may have an alphabet's few letters.
fn knows_subwords(facts: &Facts<'_>) -> bool {
    ["transformers", "tokenizers", "sentencepiece", "tiktoken"].iter().any(|word| facts.source.text.contains(word))
}
