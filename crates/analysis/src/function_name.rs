//! Names of C++ functions, as demangled: short for readers, and shorter to find a function again
//! whose signature has changed.

use std::collections::{BTreeMap, BTreeSet};

/// The one part in parentheses that is not a list of parameters.
const ANONYMOUS: &str = "(anonymous namespace)";

/// Without the returned type and the parameters: `bool ns::List<int>::find<A, false>(bool*) const`
/// is `ns::List<int>::find<A, false>`. A name that is not understood, such as that of an operator,
/// stays whole.
pub fn short(name: &str) -> &str {
    cut(name).unwrap_or(name)
}

/// Functions of one build and what they are called in another, where only their signature differs:
/// each build has one that the other has not, with the same [`stem`].
pub(crate) fn changed_signatures<'a>(
    one: &BTreeSet<&'a str>,
    other: &BTreeSet<&'a str>,
) -> BTreeMap<&'a str, &'a str> {
    let mut by_stem: BTreeMap<String, [Vec<&'a str>; 2]> = BTreeMap::new();
    for (place, names) in [one - other, other - one].into_iter().enumerate() {
        for name in names {
            by_stem.entry(stem(name)).or_default()[place].push(name);
        }
    }
    let pair = |[one, other]: [Vec<&'a str>; 2]| match (&one[..], &other[..]) {
        ([one], [other]) => Some((*one, *other)),
        _ => None,
    };
    by_stem.into_values().filter_map(pair).collect()
}

/// The short name without arguments of templates: `ns::List::find`.
fn stem(name: &str) -> String {
    let Some(short) = cut(name) else { return name.to_string() };
    let mut depth = 0;
    let outside = |one: &char| {
        depth += match one {
            '<' => 1,
            '>' => -1,
            _ => return depth == 0,
        };
        false
    };
    short.chars().filter(outside).collect()
}

fn cut(name: &str) -> Option<&str> {
    // In these, brackets are part of the name, or it is about another function.
    if ["operator", "thunk to ", "{lambda", " for "].iter().any(|word| name.contains(word)) {
        return None;
    }
    let (mut depth, mut start, mut end) = (0, 0, None);
    let mut place = 0;
    while let Some(one) = name[place..].chars().next() {
        let step = match one {
            '(' if name[place..].starts_with(ANONYMOUS) => ANONYMOUS.len(),
            '(' if depth == 0 && end.is_none() => {
                end = Some(place);
                1
            }
            other => other.len_utf8(),
        };
        match one {
            '<' => depth += 1,
            '>' => depth -= 1,
            ' ' if depth == 0 && end.is_none() => start = place + 1,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
        place += step;
    }
    let short = &name[start..end?];
    (depth == 0 && !short.is_empty() && !short.starts_with([':', '<', '['])).then_some(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_no_part_of_a_short_name() {
        for (name, expected) in [
            ("ExecInterpExpr", "ExecInterpExpr"),
            ("[librocksdb.so]", "[librocksdb.so]"),
            ("JOIN::optimize(bool)", "JOIN::optimize"),
            ("rocksdb::Get(rocksdb::Slice const&, bool) const", "rocksdb::Get"),
            ("bool ns::List<int>::find<A, false>(bool*)", "ns::List<int>::find<A, false>"),
            (
                "unsigned long (anonymous namespace)::f((anonymous namespace)::T)",
                "(anonymous namespace)::f",
            ),
            ("f(void (*)(int))", "f"),
            ("g<void (int)>(int)", "g<void (int)>"),
        ] {
            assert_eq!(short(name), expected);
        }
    }

    #[test]
    fn names_that_are_not_understood_stay_whole() {
        for name in [
            "ns::T::operator()(int) const",
            "bool ns::operator< <int>(ns::T const&, int)",
            "std::function<void (int)>::operator()(int) const",
            "virtual thunk to ns::T::f(int)",
            "ns::f(int)::{lambda(int)#1}::g(int)",
            "<T as core::fmt::Display>::fmt",
            "core::fmt::Formatter>::pad(int)",
            "TLS init function for ns::counters",
            "(int)",
            "",
        ] {
            assert_eq!((short(name), stem(name).as_str()), (name, name));
        }
    }

    #[test]
    fn a_function_with_another_signature_is_found_if_there_is_one() {
        let old = ["open(int)", "get(int)", "get(long)", "put(int)", "same"];
        let new = ["open(int, bool)", "get(bool)", "put(int)", "put(long)", "same"];
        let found = changed_signatures(&old.into(), &new.into());
        assert_eq!(found, [("open(int)", "open(int, bool)")].into());
    }

    #[test]
    fn arguments_of_templates_are_no_part_of_a_stem() {
        let stems =
            ["bool ns::List<int>::find<A, false>(bool*)", "ns::List<T<int> >::find<A>(int)"];
        assert_eq!(stems.map(stem), ["ns::List::find"; 2]);
        assert_eq!(stem("ExecInterpExpr"), "ExecInterpExpr");
    }
}
