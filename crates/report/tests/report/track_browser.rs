//! The site on a phone: whatever is wider than the page scrolls in a box of its own.

use std::fs;
use std::path::Path;

use rqps_analysis::track::TrackHistory;
use rqps_report::{SiteOptions, track_site};

use crate::nights::contents;
use crate::page::{LIGHT, chromium};

/// Frames of a phone's size, since no window of chromium is so narrow.
const FRAMES: &str = r#"<!DOCTYPE html><body><script>
  const pages = PAGES;
  const faults = [];
  let left = pages.length;
  for (const page of pages) {
    const frame = document.createElement("iframe");
    frame.width = 360;
    frame.height = 740;
    frame.onload = () => {
      const inner = frame.contentDocument;
      const { scrollWidth } = inner.documentElement;
      if (scrollWidth > 360) faults.push(`${page}: ${scrollWidth} px wide`);
      for (const link of inner.querySelectorAll("nav a, tbody th a, .flag[href], button, input")) {
        const { width, height } = link.getBoundingClientRect();
        if (width < 40 || height < 40) faults.push(`${page}: ${link.textContent} is ${width} x ${height}`);
      }
      const words = inner.createTreeWalker(inner.body, NodeFilter.SHOW_TEXT);
      while (words.nextNode()) {
        const { parentElement, data } = words.currentNode;
        if (!data.trim() || parentElement.closest("script, style")) continue;
        const size = parseFloat(inner.defaultView.getComputedStyle(parentElement).fontSize);
        if (size < 14) faults.push(`${page}: '${data.slice(0, 20)}' is ${size} px`);
      }
      left -= 1;
      if (left === 0) document.title = "seen " + JSON.stringify(faults.slice(0, 9));
    };
    frame.src = page;
    document.body.append(frame);
  }
</script></body>"#;

fn write(folder: &Path) -> Vec<String> {
    let contents = contents(60, 3);
    let files = track_site(&TrackHistory::new(&contents), &SiteOptions::default());
    for file in &files {
        let path = folder.join(&file.name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &file.contents).unwrap();
    }
    let names = files.into_iter().map(|file| file.name);
    names.filter(|name| name.ends_with(".html")).collect()
}

#[test]
fn the_pages_fit_a_phone() {
    let folder = tempfile::tempdir().unwrap();
    let pages = write(folder.path());
    assert!(pages.len() >= 7, "{pages:?}");
    let frames = FRAMES.replace("PAGES", &serde_json::to_string(&pages).unwrap());
    fs::write(folder.path().join("frames.html"), frames).unwrap();
    let arguments = [&["--dump-dom", "--allow-file-access-from-files"], LIGHT].concat();
    let Some((document, said)) = chromium(folder.path(), "frames.html", &arguments) else { return };
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(complaints, [""; 0]);
    let seen = document.split("<title>seen ").nth(1).unwrap_or_else(|| panic!("{document}"));
    assert_eq!(seen.split("</title>").next().unwrap(), "[]");
}

#[test]
fn the_search_of_the_first_page_is_in_its_address() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let arguments = ["--dump-dom"];
    let found = chromium(folder.path(), "index.html#test-01", &arguments);
    let Some((document, said)) = found else { return };
    assert!(!said.contains("CONSOLE"), "{said}");
    let shown = document.matches("<tr class=\"run\">").count();
    assert_eq!(shown, 1, "{document}");
}
