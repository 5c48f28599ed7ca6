//! "Did you mean": the known name that is closest to a typed one.

/// Names that are listed; of more than these, the nearest.
const LISTED: usize = 12;

/// A sentence that lists the known names, after the nearest one if that is close enough to be a
/// typing error.
pub fn suggestion<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let lower = wanted.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    let mut near: Vec<(usize, &str)> = known.iter().map(|name| (distance(name), *name)).collect();
    near.sort_unstable();
    let nearest =
        near.first().filter(|(distance, name)| *distance <= 2.max(name.len() / 3)).copied();
    let far = near.split_off(near.len().min(LISTED));
    let is_listed = |name: &&str| near.iter().any(|(_, near)| near == name);
    let mut list = known.iter().copied().filter(is_listed).collect::<Vec<_>>().join(", ");
    if !far.is_empty() {
        list += &format!(" and {} more", far.len());
    }
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
    fn of_many_names_the_nearest_are_listed_in_their_order() {
        let names: Vec<String> = (1..=40).map(|number| format!("test-{number:02}")).collect();
        let text = suggestion("test-3", names.iter().map(String::as_str));
        let list = "test-03, test-13, test-23, test-30, test-31, test-32, test-33, test-34, test-35, \
                    test-36, test-37, test-38 and 28 more";
        assert_eq!(text, format!("did you mean 'test-03'? (there are: {list})"));
    }

    #[test]
    fn something_else_entirely_is_answered_with_the_list_alone() {
        assert_eq!(suggestion("oracle", ["postgres", "sqlite"]), "there are: postgres, sqlite");
    }
}
