//! The releases that can be built without asking anything over the network: those with a tarball in
//! a folder of sources, and those that are built.

use std::fs;
use std::path::Path;

use rqps_plan::Dbms;

use super::named;
use super::recipe::Recipe;
use super::supply::Places;
use crate::home::Home;
use crate::source::error::SourceError;
use crate::source::version;

/// Their versions, oldest first.
pub(in crate::source) fn releases(home: &Home, dbms: Dbms) -> Result<Vec<String>, SourceError> {
    let recipe = Recipe::of(dbms)?;
    let built = named(home, dbms, |built| built.variant.is_none())?;
    let mut versions: Vec<String> = built.map(|build| build.version).collect();
    if let Some(sources) = Places::sources_from_env() {
        versions.extend(of_folder(&recipe, Path::new(&sources)));
    }
    versions.sort_by(|a, b| version::compare(a, b));
    versions.dedup();
    Ok(versions)
}

/// Of the tarballs in a folder, flat or in the layout of upstream's site.
fn of_folder(recipe: &Recipe, root: &Path) -> Vec<String> {
    let tarball = &recipe.tarball;
    let of_layout = root.join(&tarball.folder).parent().map(Path::to_path_buf);
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let below = of_layout.iter().flat_map(|folder| entries(folder)).map(|entry| entry.path());
    let folders = [root.to_path_buf()].into_iter().chain(below.filter(|path| path.is_dir()));
    let names = folders.flat_map(|folder| {
        let names = entries(&folder).map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect::<Vec<_>>()
    });
    names.filter_map(|name| tarball.version(&name).map(str::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tarballs_are_found_flat_and_in_the_layout_of_upstream() {
        let root = tempfile::tempdir().unwrap();
        let layout = root.path().join("source/v17.10");
        fs::create_dir_all(&layout).unwrap();
        for file in ["postgresql-17.6.tar.gz", "other.tar.gz", "postgresql-docs.tar.gz"] {
            fs::write(root.path().join(file), "").unwrap();
        }
        fs::write(layout.join("postgresql-17.10.tar.bz2"), "").unwrap();
        let mut found = of_folder(&Recipe::of(Dbms::Postgres).unwrap(), root.path());
        found.sort();
        assert_eq!(found, ["17.10", "17.6"]);
        assert!(of_folder(&Recipe::of(Dbms::Sqlite).unwrap(), &root.path().join("x")).is_empty());
    }
}
