//! Tarballs from a site with upstream's layout, and their stored hashes.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use super::*;

/// A folder that is served until the tests end.
struct Site {
    url: String,
    folder: PathBuf,
}

impl Site {
    fn serve(folder: PathBuf) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = folder.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &served);
            }
        });
        Site { url, folder }
    }

    /// Publishes a release with the hash that it has, or with another.
    fn publish(&self, world: &World, version: &str, hash: Option<&str>) {
        let folder = self.folder.join(format!("source/v{version}"));
        fs::create_dir_all(&folder).unwrap();
        let name = format!("postgresql-{version}.tar.gz");
        let path = folder.join(&name);
        fs::rename(world.release(version, ""), &path).unwrap();
        let hash = hash.map_or_else(|| digest::sha256(&path).unwrap(), str::to_string);
        fs::write(folder.join(format!("{name}.sha256")), format!("{hash}  {name}\n")).unwrap();
    }
}

fn answer(stream: TcpStream, folder: &Path) {
    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
    let asked = lines.next().unwrap_or_default();
    while lines.next().is_some_and(|line| !line.is_empty()) {}
    let path = asked.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let (status, body) = match fs::read(folder.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let mut out = &stream;
    let _ = out.write_all(head.as_bytes()).and_then(|()| out.write_all(&body));
}

fn world() -> (World, Site) {
    let world = World::new();
    let folder = world.file("site");
    fs::create_dir(&folder).unwrap();
    (world, Site::serve(folder))
}

fn mirrored<'a>(world: &'a World, site: &Site) -> Maker<'a> {
    Maker { sources: Some(format!("{}/", site.url).into()), ..world.maker(Options::default()) }
}

#[test]
fn a_mirror_is_asked_as_upstreams_site_is() {
    let (world, site) = world();
    site.publish(&world, "17.6", None);
    let mut unpinned = |progress: Progress| {
        assert!(!matches!(progress, Progress::Unpinned { .. }), "its hash is published");
        Ok(())
    };
    let made = mirrored(&world, &site).make("17.6", &mut unpinned).unwrap();
    assert_eq!(made.archives[0].name, "postgresql-17.6.tar.gz");

    // The same from the site that a recipe names.
    let other = World::new();
    let named = format!("[tarball]\nsite = \"{}\"", site.url);
    let other = World { recipe: RECIPE.replace("[tarball]", &named), ..other };
    let maker = Maker { sources: None, ..other.maker(Options::default()) };
    let made = maker.make("17.6", &mut go_on).unwrap();
    assert_eq!(made.archives[0].name, "postgresql-17.6.tar.gz");
}

#[test]
fn what_is_not_what_the_site_says_is_refused() {
    let (world, site) = world();
    site.publish(&world, "17.6", Some(&"0".repeat(64)));
    let error = mirrored(&world, &site).make("17.6", &mut go_on).unwrap_err().to_string();
    let expected = "checksum of 'postgresql-17.6.tar.gz' is wrong: the registry says 0000";
    assert!(error.starts_with(expected), "{error}");
    assert_eq!(world.kept(), Vec::<String>::new());

    site.publish(&world, "17.7", None);
    let folder = site.folder.join("source/v17.7");
    fs::write(folder.join("postgresql-17.7.tar.gz.sha256"), "<html></html>").unwrap();
    let error = mirrored(&world, &site).make("17.7", &mut go_on).unwrap_err().to_string();
    assert!(error.contains("it has no SHA-256 of postgresql-17.7.tar.gz"), "{error}");
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn a_site_that_has_it_not_or_does_not_answer_is_one_reason_of_several() {
    let (world, site) = world();
    let error = mirrored(&world, &site).make("17.6", &mut go_on).unwrap_err().to_string();
    let expected = "cannot get a tarball of postgres 17.6: curl of postgresql-17.6.tar.bz2.sha256 failed: (22) ";
    assert!(error.starts_with(expected) && error.contains("404"), "{error}");
    assert!(error.contains("; debian has sources of none; "), "{error}");
    // No server listens there any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let sources = Some(format!("http://127.0.0.1:{port}").into());
    let maker = Maker { sources, ..world.maker(Options::default()) };
    let error = maker.make("17.6", &mut go_on).unwrap_err().to_string();
    assert!(error.contains("failed: (7) "), "{error}");
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn the_hash_of_a_release_is_remembered_wherever_it_is_from() {
    let (world, site) = world();
    site.publish(&world, "17.6", None);
    let first = mirrored(&world, &site).make("17.6", &mut go_on).unwrap();
    store::Changing::begin(&world.home, &mut go_on).unwrap().remove(&first.root).unwrap();
    forget(&world.home).unwrap();
    // Another tarball under the same name.
    let path = world.release("17.6", "true");
    let error = world.error("17.6", Options::default());
    let expected = "postgresql-17.6.tar.gz has another hash than when it was fetched here before: ";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.ends_with("'rqps dbms fetch --accept-new-hash postgres@src-17.6'"));
    assert_eq!(world.kept(), Vec::<String>::new());

    // A tarball named by the user is not a release, and its build has another name.
    let own = world.make("17.6", from(path)).unwrap();
    let expected = format!("postgres@src-17.6+file-{}", &own.archives[0].sha256[..8]);
    assert_eq!(own.contender(), Some(expected));
    let machine = Machine { accepts_new_hash: true, ..Machine::this() };
    let (path, arch) = (world.machine.path.clone(), world.machine.arch);
    let world = World { machine: Machine { path, arch, ..machine }, ..world };
    store::Changing::begin(&world.home, &mut go_on).unwrap().remove(&own.root).unwrap();
    let accepted = world.make("17.6", Options::default()).unwrap();
    assert_eq!(accepted.contender().as_deref(), Some("postgres@src-17.6"));
    assert_eq!(
        world.maker(Options::default()).seen("17.6").unwrap(),
        Some(accepted.archives[0].sha256.clone())
    );
}

#[test]
fn a_file_that_nothing_is_known_of_is_told() {
    let world = World::new();
    let path = world.release("17.6", "");
    let mut told = Vec::new();
    let mut tell = |progress: Progress| {
        if let Progress::Unpinned { what, .. } = progress {
            told.push(what);
        }
        Ok(())
    };
    let made = world.maker(from(path.clone())).make("17.6", &mut tell).unwrap();
    assert_eq!(made.contender().as_deref(), Some("postgres@src-17.6"));
    assert_eq!(told, ["postgresql-17.6.tar.gz"]);
    // A list beside it is as good as a site's.
    fs::write(format!("{}.sha256", path.display()), "0".repeat(64)).unwrap();
    let error = world.error("17", Options::default());
    assert!(error.starts_with("checksum of 'postgresql-17.6.tar.gz' is wrong: "), "{error}");
}
