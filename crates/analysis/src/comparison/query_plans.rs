//! Whether the query plans of two arms differ: by their nodes, not by the words or figures of a
//! release.

use rqps_plan::QueryPlan;
use rqps_store::StatementRecord;

/// What differs between the query plans of the statements of a baseline and a contender, in words;
/// empty where all plans are the same, and none where that is not known.
///
/// There is a pair for each round. ANALYZE samples rows, so the plan of one build may differ
/// between two loads: only what differs in all rounds is a difference of the arms.
pub(super) fn changes<'a>(
    rounds: impl Iterator<Item = [&'a [StatementRecord]; 2]>,
) -> Option<Vec<String>> {
    let mut known: Option<Vec<String>> = None;
    for [base, contender] in rounds {
        let here = changes_of_round(base, contender)?;
        if known.as_ref().is_some_and(|known| known.is_empty() != here.is_empty()) {
            return None;
        }
        known = Some(here);
    }
    known
}

/// What differs for any of several sets of values; none where nothing is known.
pub(super) fn changes_of_sets(
    base: &[Vec<StatementRecord>],
    contender: &[Vec<StatementRecord>],
) -> Option<Vec<String>> {
    let mut all: Option<Vec<String>> = None;
    for (base, contender) in base.iter().zip(contender) {
        let Some(changes) = changes_of_round(base, contender) else { continue };
        let known = all.get_or_insert_default();
        known.extend(
            changes.into_iter().filter(|change| !known.contains(change)).collect::<Vec<_>>(),
        );
    }
    all
}

fn changes_of_round(
    base: &[StatementRecord],
    contender: &[StatementRecord],
) -> Option<Vec<String>> {
    let is_planned = |one: &StatementRecord| one.plan.is_some() || one.tree.is_some();
    if base.len() != contender.len() || !base.iter().any(is_planned) {
        return None;
    }
    let (mut changes, mut is_unknown) = (Vec::new(), false);
    for (base, contender) in base.iter().zip(contender) {
        match (&base.tree, &contender.tree) {
            (Some(one), Some(other)) => {
                for change in plan_differences(one, other) {
                    if !changes.contains(&change) {
                        changes.push(change);
                    }
                }
            }
            _ => is_unknown |= is_planned(base) || is_planned(contender),
        }
    }
    // A difference is one, whatever the other statements do.
    (!changes.is_empty() || !is_unknown).then_some(changes)
}

/// What differs between two trees, in words; empty where they are the same.
pub fn plan_differences(base: &QueryPlan, contender: &QueryPlan) -> Vec<String> {
    if is_same(base, contender) {
        return Vec::new();
    }
    let (old, new) = (base.nodes(), contender.nodes());
    let kept = in_both(&old, &new);
    let mut told = Vec::new();
    let (mut from, mut to) = (0, 0);
    for (at, place) in kept.into_iter().chain([(old.len(), new.len())]) {
        let change = change(&old[from..at], &new[to..place]);
        told.extend(change.filter(|change| !told.contains(change)));
        (from, to) = (at + 1, place + 1);
    }
    if told.is_empty() {
        told.push(format!("the inputs of {} are nested differently", title(base)));
    }
    told
}

fn is_same(one: &QueryPlan, other: &QueryPlan) -> bool {
    is_same_node(one, other)
        && one.inputs.len() == other.inputs.len()
        && one.inputs.iter().zip(&other.inputs).all(|(one, other)| is_same(one, other))
}

/// The same but for what feeds it.
fn is_same_node(one: &QueryPlan, other: &QueryPlan) -> bool {
    let is_same_index = match (&one.index, &other.index) {
        (Some(one), Some(other)) => one.is_same(other),
        (one, other) => one.is_none() && other.is_none(),
    };
    let rest = |node: &QueryPlan| {
        let QueryPlan { operator, kind, table, keys, filters, is_covering, .. } = node.clone();
        (operator, kind, table, keys, filters, is_covering)
    };
    is_same_index && rest(one) == rest(other)
}

/// The places of a longest sequence of nodes that are in both plans.
fn in_both(old: &[&QueryPlan], new: &[&QueryPlan]) -> Vec<(usize, usize)> {
    let mut longest = vec![vec![0; new.len() + 1]; old.len() + 1];
    for at in (0..old.len()).rev() {
        for place in (0..new.len()).rev() {
            longest[at][place] = match is_same_node(old[at], new[place]) {
                true => longest[at + 1][place + 1] + 1,
                false => longest[at + 1][place].max(longest[at][place + 1]),
            };
        }
    }
    let (mut at, mut place) = (0, 0);
    let mut pairs = Vec::new();
    while at < old.len() && place < new.len() {
        if is_same_node(old[at], new[place]) {
            pairs.push((at, place));
            (at, place) = (at + 1, place + 1);
        } else if longest[at + 1][place] >= longest[at][place + 1] {
            at += 1;
        } else {
            place += 1;
        }
    }
    pairs
}

/// `Index Scan on sbtest1 using k_1 became Seq Scan on sbtest1`
fn change(old: &[&QueryPlan], new: &[&QueryPlan]) -> Option<String> {
    let titles = |nodes: &[&QueryPlan], title: fn(&QueryPlan) -> String| {
        nodes.iter().map(|node| title(node)).collect::<Vec<_>>().join(" over ")
    };
    let (mut before, mut after) = (titles(old, title), titles(new, title));
    if before == after {
        (before, after) = (titles(old, details), titles(new, details));
    }
    match (old, new) {
        ([], []) => None,
        ([], _) => Some(format!("{after} is new")),
        (_, []) => Some(format!("{before} is gone")),
        _ => Some(format!("{before} became {after}")),
    }
}

/// `Index Scan on sbtest1 using k_1`
fn title(node: &QueryPlan) -> String {
    let kind = node.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let table = node.table.as_ref().map(|table| format!(" on {table}")).unwrap_or_default();
    let index = node.index.as_ref().map(|index| format!(" using {}", index.name));
    let covering =
        if node.is_covering && !node.operator.contains("Only") { ", covering" } else { "" };
    format!("{}{kind}{table}{}{covering}", node.operator, index.unwrap_or_default())
}

/// The same with what two nodes of one title may differ in.
fn details(node: &QueryPlan) -> String {
    let definition = node.index.as_ref().and_then(|index| index.definition.as_ref());
    let parts = [
        definition.cloned(),
        (!node.keys.is_empty()).then(|| format!("by {}", node.keys.join(", "))),
        (!node.filters.is_empty()).then(|| format!("filter on {}", node.filters.join(", "))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => title(node),
        false => format!("{} [{}]", title(node), parts.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::IndexUsed;

    use super::*;

    fn scan(operator: &str, index: Option<(&str, &str)>) -> QueryPlan {
        let index = index.map(|(name, definition)| IndexUsed {
            name: name.to_string(),
            definition: Some(definition.to_string()),
        });
        let table = Some("sbtest1".to_string());
        QueryPlan { table, index, ..QueryPlan::new(operator) }
    }

    fn over(operator: &str, input: QueryPlan) -> QueryPlan {
        QueryPlan { inputs: vec![input], ..QueryPlan::new(operator) }
    }

    fn by_k() -> QueryPlan {
        QueryPlan { keys: vec!["k".into()], ..scan("Index Scan", Some(("k_1", "btree (k)"))) }
    }

    #[test]
    fn the_nodes_that_differ_are_named() {
        let seq = scan("Seq Scan", None);
        let told = |one: QueryPlan, other: QueryPlan| plan_differences(&one, &other);
        let became = "Index Scan on sbtest1 using k_1 became Seq Scan on sbtest1";
        assert_eq!(told(over("Limit", by_k()), over("Limit", seq.clone())), [became]);
        assert_eq!(told(by_k(), over("Sort", by_k())), ["Sort is new"]);
        assert_eq!(told(over("Sort", by_k()), by_k()), ["Sort is gone"]);
        let bitmap = over("Bitmap Heap Scan", scan("Bitmap Index Scan", None));
        let two = "Seq Scan on sbtest1 became Bitmap Heap Scan over Bitmap Index Scan on sbtest1";
        assert_eq!(told(seq, bitmap), [two]);
    }

    #[test]
    fn nodes_of_one_title_are_told_apart_by_what_differs() {
        let filtered = QueryPlan { filters: vec!["c".into()], ..by_k() };
        assert_eq!(
            plan_differences(&by_k(), &filtered),
            ["Index Scan on sbtest1 using k_1 [btree (k); by k] became \
              Index Scan on sbtest1 using k_1 [btree (k); by k; filter on c]"]
        );
        let covering = QueryPlan { is_covering: true, ..by_k() };
        assert_eq!(
            plan_differences(&by_k(), &covering),
            ["Index Scan on sbtest1 using k_1 became Index Scan on sbtest1 using k_1, covering"]
        );
        let pair = |one: QueryPlan, other: QueryPlan| QueryPlan {
            inputs: vec![one, other],
            ..QueryPlan::new("Nested Loop")
        };
        let flat = pair(QueryPlan::new("A"), QueryPlan::new("B"));
        let deep = over("Nested Loop", over("A", QueryPlan::new("B")));
        assert_eq!(
            plan_differences(&flat, &deep),
            ["the inputs of Nested Loop are nested differently"]
        );
    }

    #[test]
    fn an_index_is_what_it_indexes_and_not_its_name() {
        let named = |name: &str, definition: &str| scan("Index Scan", Some((name, definition)));
        let same =
            plan_differences(&named("k_1", "btree (k)"), &named("sbtest1_k_idx", "btree (k)"));
        assert_eq!(same, [""; 0]);
        assert_eq!(
            plan_differences(&named("i", "btree (k)"), &named("i", "btree (k, c)")).len(),
            1
        );
        let mut unknown = named("k_2", "");
        unknown.index.as_mut().unwrap().definition = None;
        assert_eq!(
            plan_differences(&named("k_1", "btree (k)"), &unknown),
            ["Index Scan on sbtest1 using k_1 became Index Scan on sbtest1 using k_2"]
        );
    }

    fn sent(text: &str, tree: Option<QueryPlan>) -> Vec<StatementRecord> {
        let plan = Some(text.to_string());
        let begin = StatementRecord { text: "BEGIN".to_string(), ..StatementRecord::default() };
        vec![begin, StatementRecord { plan, tree, ..StatementRecord::default() }]
    }

    fn of_rounds(rounds: &[[&[StatementRecord]; 2]]) -> Option<Vec<String>> {
        changes(rounds.iter().copied())
    }

    #[test]
    fn texts_are_for_people_and_decide_nothing() {
        let seq = || Some(scan("Seq Scan", None));
        let old = sent("Seq Scan on sbtest1", seq());
        let new = sent("Seq Scan on sbtest1 (Disabled: true)", seq());
        assert_eq!(of_rounds(&[[&old, &new]]), Some(Vec::new()), "the same in other words");
        let other = sent("Seq Scan on sbtest1", Some(by_k()));
        assert_eq!(of_rounds(&[[&old, &other]]).unwrap().len(), 1, "others in the same words");
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let known = sent("Seq Scan on sbtest1", Some(scan("Seq Scan", None)));
        let unknown = sent("Seq Scan on sbtest1", None);
        assert_eq!(of_rounds(&[[&known, &unknown]]), None);
        assert_eq!(of_rounds(&[[&unknown, &unknown]]), None, "equal texts are no equal plans");
        assert_eq!(of_rounds(&[[&known[..1], &known[..1]]]), None, "nothing is planned");
        assert_eq!(of_rounds(&[]), None);
        let other = sent("", Some(by_k()));
        assert_eq!(of_rounds(&[[&known, &known], [&known, &other]]), None, "it varies");
        assert!(of_rounds(&[[&known, &other], [&known, &other]]).is_some());
    }
}
