//! The pages of documentation, and the blocks of code in them.
//!
//! The word after the fence determines how a block is tested:
//!
//! - `sh` is run by `tests/nightly/docs.rs`, page by page, each page in a directory of its own;
//! - `sh,small` is run there in a smaller form, and parsed unchanged by rqps's command line
//!   (`src/cli/documents.rs`);
//! - `sh,parse` is only parsed; `tests/documents.rs` has the reasons;
//! - `toml` or `toml,FILE` is a plan file, which is expanded; commands find it under its name;
//! - `text` is the output of a command, `sql` and `yaml` are for other programs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) struct Page {
    /// From the root of the repository, such as `docs/tutorial.md`.
    pub(crate) name: String,
    pub(crate) text: String,
}

pub(crate) struct Block {
    /// Its place, for errors: `docs/tutorial.md:12`.
    pub(crate) place: String,
    /// The words after the fence, such as `sh` and `parse`.
    pub(crate) info: Vec<String>,
    pub(crate) text: String,
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md, CONTRIBUTING.md, README.md of reproductions/, and all pages of docs/.
pub(crate) fn pages() -> Vec<Page> {
    let folder = fs::read_dir(root().join("docs")).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    let others = ["README.md", "CONTRIBUTING.md", "reproductions/README.md"];
    files.splice(..0, others.map(|name| root().join(name)));
    let page = |file: &PathBuf| Page {
        name: file.strip_prefix(root()).unwrap().display().to_string(),
        text: fs::read_to_string(file).unwrap(),
    };
    files.iter().map(page).collect()
}

impl Page {
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = (1..).zip(self.text.lines());
        while let Some((number, line)) = lines.next() {
            let Some(info) = line.strip_prefix("```") else { continue };
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            blocks.push(Block {
                place: format!("{}:{number}", self.name),
                info: info.split(',').map(str::to_string).collect(),
                text: inside.flat_map(|line| [line, "\n"]).collect(),
            });
        }
        blocks
    }

    /// The texts between backticks in its sentences.
    pub(crate) fn spans(&self) -> Vec<String> {
        let mut is_prose = true;
        let prose = self.text.lines().filter(|line| {
            let is_fence = line.starts_with("```");
            is_prose ^= is_fence;
            is_prose && !is_fence
        });
        let prose: Vec<&str> = prose.collect();
        prose.join("\n").split('`').skip(1).step_by(2).map(str::to_string).collect()
    }
}

/// The first block of a page in a language of another program.
pub(crate) fn foreign<'a>(page: &'a str, language: &str) -> &'a str {
    let block = page.split(&format!("```{language}\n")).nth(1);
    block.and_then(|rest| rest.split("```").next()).expect("the page has such a block")
}

/// The workflow in docs/ci-gate.md.
pub(crate) fn workflow() -> Value {
    let text = foreign(include_str!("../../docs/ci-gate.md"), "yaml");
    serde_saphyr::from_str(text).expect("it is YAML")
}

impl Block {
    pub(crate) fn is(&self, info: &[&str]) -> bool {
        self.info == info
    }

    /// The name under which commands find a plan file.
    pub(crate) fn file(&self) -> Option<&str> {
        match &self.info[..] {
            [kind, file] if kind == "toml" => Some(file),
            _ => None,
        }
    }
}
