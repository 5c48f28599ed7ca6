//! Weights of commits before anything is measured.

use std::fs;
use std::path::Path;

use anyhow::{anyhow, bail};
use rqps_dbms::source::Commit;

/// The weight of a commit that touches only files that cannot change the server.
const QUIET: f64 = 0.1;

/// A weight for each commit: less for quiet ones, and what a file says.
pub(super) fn weights(commits: &[Commit], file: Option<&Path>) -> anyhow::Result<Vec<f64>> {
    let weight = |commit: &Commit| if commit.is_quiet { QUIET } else { 1.0 };
    let mut weights: Vec<f64> = commits.iter().map(weight).collect();
    let Some(file) = file else { return Ok(weights) };
    let name = file.display();
    let text = fs::read_to_string(file)
        .map_err(|error| anyhow!("cannot read --prior '{name}': {error}"))?;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (start, weight) = match line.split_whitespace().collect::<Vec<_>>()[..] {
            [start, weight] => (start, weight),
            _ => bail!("'{name}', line {number}: write a commit and a weight, as in 1a2b3c4 10"),
        };
        let weight = weight.parse::<f64>().ok().filter(|it| it.is_finite() && *it > 0.0);
        let Some(weight) = weight else {
            bail!("'{name}', line {number}: the weight must be a number above 0");
        };
        let is_it = |commit: &Commit| start.len() >= 4 && commit.hash.starts_with(start);
        let places: Vec<usize> = (0..commits.len()).filter(|at| is_it(&commits[*at])).collect();
        match places[..] {
            [place] => weights[place] = weight,
            [] => bail!("'{name}', line {number}: '{start}' is none of the commits to search"),
            _ => bail!("'{name}', line {number}: '{start}' is the start of several commits"),
        }
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(hash: &str, is_quiet: bool) -> Commit {
        let (tree, parents, subject) = (String::new(), Vec::new(), String::new());
        Commit { hash: hash.to_string(), tree, parents, subject, is_quiet }
    }

    #[test]
    fn suspects_are_named_by_the_start_of_their_hash() {
        let commits = [commit("aaaa1", false), commit("aaaa2", true), commit("bbbb", false)];
        assert_eq!(weights(&commits, None).unwrap(), [1.0, 0.1, 1.0]);
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |text: &str| {
            fs::write(file.path(), text).unwrap();
            weights(&commits, Some(file.path())).map_err(|error| error.to_string())
        };
        assert_eq!(read("# suspects\naaaa2 5 # why\n\nbbbb 0.5\n").unwrap(), [1.0, 5.0, 0.5]);
        for (text, told) in [
            ("aaaa 2", "line 1: 'aaaa' is the start of several commits"),
            ("\ncccc 2", "line 2: 'cccc' is none of the commits"),
            ("bbbb", "line 1: write a commit and a weight"),
            ("bbbb -1", "line 1: the weight must be a number above 0"),
            ("bbbb nan", "line 1: the weight must be a number above 0"),
            ("bb 1", "line 1: 'bb' is none"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
        assert!(weights(&commits, Some(Path::new("/no/file"))).is_err());
    }
}
