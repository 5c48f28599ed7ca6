//! Names in a sentence.

/// More names than this are counted rather than listed.
const LISTED: usize = 4;

pub fn list(names: &[&str]) -> String {
    match names {
        [] => "nothing was started".to_string(),
        names if names.len() <= LISTED => names.join(", "),
        names => {
            format!("{} and {} more", names[..LISTED - 1].join(", "), names.len() - LISTED + 1)
        }
    }
}
