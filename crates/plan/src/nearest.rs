//! "Did you mean": the known name closest to what was typed.

/// A sentence listing what there is, led by the nearest match when one is close enough to be
/// a slip of the fingers.
pub fn suggestion<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let lower = wanted.to_lowercase();
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), *name))
        .min()
        .filter(|(distance, name)| *distance <= 2.max(name.len() / 3));
    let list = known.join(", ");
    match nearest {
        Some((_, name)) => format!("did you mean '{name}'? (there are: {list})"),
        None => format!("there are: {list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::suggestion;

    #[test]
    fn a_slip_is_answered_with_the_nearest_name() {
        let text = suggestion("postgers", ["postgres", "sqlite"]);
        assert_eq!(text, "did you mean 'postgres'? (there are: postgres, sqlite)");
    }

    #[test]
    fn something_else_entirely_is_answered_with_the_list_alone() {
        assert_eq!(suggestion("oracle", ["postgres", "sqlite"]), "there are: postgres, sqlite");
    }
}
