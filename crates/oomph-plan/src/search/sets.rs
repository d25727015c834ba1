//! Sets of remedies, each at most once and none beside what excludes it.

use crate::remedies::{RemedyChoice, remedy};

/// Remedies that one set adds to another, at most.
const ADDED_MAX: usize = 4;

/// What remedies are called.
pub(super) fn names(choices: &[RemedyChoice]) -> impl Iterator<Item = &str> {
    choices.iter().map(|choice| choice.name.as_str())
}

/// What a set is known by, in whatever order its remedies come.
pub(super) fn key(choices: &[RemedyChoice]) -> String {
    let mut each: Vec<String> = choices.iter().filter_map(|choice| serde_json::to_string(choice).ok()).collect();
    each.sort_unstable();
    each.concat()
}

/// Whether no remedy of a set excludes another.
pub(super) fn is_compatible(choices: &[RemedyChoice]) -> bool {
    let excluded = choices.iter().filter_map(|choice| Some(remedy(&choice.name)?.excludes())).flatten();
    excluded.into_iter().all(|name| names(choices).all(|other| other != *name))
}

/// One set with another on top.
pub(super) fn joined(first: &[RemedyChoice], second: &[RemedyChoice]) -> Vec<RemedyChoice> {
    let mut all = first.to_vec();
    for choice in second {
        match all.iter_mut().find(|before| before.name == choice.name) {
            Some(before) => {
                *before =
                    remedy(&choice.name).map_or_else(|| choice.clone(), |remedy| remedy.on_top_of(before, choice));
            }
            None => all.push(choice.clone()),
        }
    }
    all
}

/// Every set with at most one choice of each remedy, the smallest sets first.
pub(super) fn sets(options: &[Vec<RemedyChoice>]) -> Vec<Vec<RemedyChoice>> {
    let mut all: Vec<Vec<RemedyChoice>> = vec![Vec::new()];
    for choices in options {
        let with: Vec<Vec<RemedyChoice>> = all
            .iter()
            .filter(|set| set.len() < ADDED_MAX)
            .flat_map(|set| choices.iter().map(move |choice| [set.as_slice(), std::slice::from_ref(choice)].concat()))
            .collect();
        all.extend(with);
    }
    all.sort_by_key(Vec::len);
    all.remove(0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(name: &str, parts: u64) -> RemedyChoice {
        RemedyChoice::new(name).with("parts", parts)
    }

    fn blocks(paths: &[&str]) -> RemedyChoice {
        RemedyChoice::new("checkpoint_blocks").with("blocks", paths.to_vec())
    }

    #[test]
    fn sets_hold_each_remedy_once_and_the_smallest_come_first() {
        let options =
            [vec![parts("micro_batches", 2), parts("micro_batches", 4)], vec![RemedyChoice::new("lazy_logits")]];
        let found = sets(&options);
        let names: Vec<usize> = found.iter().map(Vec::len).collect();
        assert_eq!(names, [1, 1, 1, 2, 2]);
        assert!(sets(&[]).is_empty());
    }

    #[test]
    fn what_comes_on_top_builds_on_what_is_there() {
        let before = [parts("micro_batches", 2), blocks(&["a", "b"])];
        let after =
            joined(&before, &[parts("micro_batches", 4), blocks(&["b", "c"]), RemedyChoice::new("lazy_logits")]);
        assert_eq!(after, [parts("micro_batches", 8), blocks(&["a", "b", "c"]), RemedyChoice::new("lazy_logits")]);
        assert_eq!(joined(&before, &[]), before);
    }

    #[test]
    fn what_excludes_one_another_is_never_in_one_set() {
        let step = RemedyChoice::new("step_in_backward");
        assert!(!is_compatible(&[step.clone(), parts("micro_batches", 2)]));
        assert!(!is_compatible(&[parts("micro_batches", 2), step.clone()]));
        assert!(is_compatible(&[step, RemedyChoice::new("lazy_logits")]));
    }

    #[test]
    fn the_same_blocks_are_the_same_set_in_whatever_order_they_were_chosen() {
        let at_once = joined(&[], &[blocks(&["b.2", "b.9", "b.10"])]);
        let in_two = joined(&[blocks(&["b.10"])], &[blocks(&["b.9", "b.2"])]);
        let beside = RemedyChoice::new("lazy_logits");
        let before = [beside];
        assert_eq!(key(&joined(&at_once, &before)), key(&joined(&before, &in_two)));
    }
}
