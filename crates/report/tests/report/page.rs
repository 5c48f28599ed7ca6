//! A page in Debian's chromium, used as a reader would use it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

pub(crate) const LIGHT: &[&str] = &[];
pub(crate) const DARK: &[&str] = &["--blink-settings=preferredColorScheme=0"];
pub(crate) const NARROW: &[&str] = &["--window-size=500,900"];

/// As wide as a phone, which no window of chromium is.
pub(crate) fn narrow(page: &str) -> String {
    page.replacen("</head>", "<style>body { width: 400px }</style></head>", 1)
}

/// Runs chromium on a page with some more arguments; none where it is not installed.
pub(crate) fn chromium(
    directory: &Path,
    page: &str,
    arguments: &[&str],
) -> Option<(String, String)> {
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    chromium.args(["--no-first-run", "--disable-background-networking", "--hide-scrollbars"]);
    chromium.args(["--enable-logging=stderr", "--virtual-time-budget=300000"]);
    // Chromium refuses to change the address as often as a test does, which no reader could.
    chromium.arg("--disable-ipc-flooding-protection");
    chromium.arg(format!("--user-data-dir={}", directory.join("profile").display()));
    chromium.args(arguments).arg(format!("file://{}/{page}", directory.display()));
    let output = match chromium.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("not checked: chromium is not installed");
            return None;
        }
        output => output.unwrap(),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((text(&output.stdout), text(&output.stderr)))
}

/// Uses every link, choice, button and key of a page, and returns what `page.js` saw; none without
/// a browser. Whatever the browser complains of is a fault.
pub(crate) fn used(page: &str, place: &str, arguments: &[&str]) -> Option<Value> {
    let directory = tempfile::tempdir().unwrap();
    let script = format!("<script>{}</script></body>", include_str!("page.js"));
    let copy = page.replacen("</body>", &script, 1);
    fs::write(directory.path().join("page.html"), copy).unwrap();
    let arguments = [&["--dump-dom"], arguments].concat();
    let (document, said) = chromium(directory.path(), &format!("page.html{place}"), &arguments)?;
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(complaints, [""; 0]);
    let seen = document.split("id=\"seen\">").nth(1).unwrap_or_else(|| panic!("{said}"));
    let seen: Value = serde_json::from_str(seen.split("</script>").next().unwrap()).unwrap();
    assert_eq!(seen["faults"], Value::Array(Vec::new()));
    Some(seen)
}

/// Uses several pages at once: a browser waits for most of the time.
pub(crate) fn all_used(pages: &[String], arguments: &[&str]) {
    std::thread::scope(|scope| {
        for page in pages {
            scope.spawn(|| used(page, "", arguments));
        }
    });
}

/// A table that was seen.
pub(crate) fn rows(table: &Value) -> Vec<Vec<&str>> {
    fn list(value: &Value) -> &Vec<Value> {
        value.as_array().expect("a table")
    }
    list(table)
        .iter()
        .map(|row| list(row).iter().map(|cell| cell.as_str().unwrap()).collect())
        .collect()
}
