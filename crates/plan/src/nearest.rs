//! "Did you mean": the known name that is closest to a typed one.

/// A sentence that lists the known names, after the nearest one if that is close enough to be a
/// typing error.
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
