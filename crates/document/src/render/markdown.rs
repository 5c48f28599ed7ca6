//! A document as Markdown, for a pull request.

use crate::{Block, Cell, Content, Document, Heading, Inline, List, ListItem, Style, Table, Tone};

/// The document, ending in a line feed.
pub fn render(document: &Document) -> String {
    let mut lines = vec![format!("## {}", escape(&document.title))];
    lines.extend(below(&document.blocks));
    lines.push(String::new());
    lines.join("\n")
}

/// Blocks, each below an empty line.
fn below(blocks: &[Block]) -> Vec<String> {
    let shown = blocks.iter().filter(|block| !matches!(block, Block::Figure(_)));
    shown.flat_map(|block| [vec![String::new()], drawn(block)].concat()).collect()
}

fn drawn(block: &Block) -> Vec<String> {
    match block {
        Block::Heading(text) => vec![format!("**{}**", escape(text))],
        Block::Text(text) => vec![inlines(text)],
        Block::Table(table) => self::table(table),
        Block::List(list) => self::list(list),
        Block::Terms(terms) => {
            let line = |(name, what): &(String, String)| {
                format!("- **{}**: {}", escape(name), escape(what))
            };
            terms.iter().map(line).collect()
        }
        Block::Fold(fold) => {
            [vec![format!("**{}**", inlines(&fold.title))], below(&fold.blocks)].concat()
        }
        Block::Of(_, blocks) => below(blocks).split_off(1),
        Block::Beside(parts) => parts.iter().flat_map(|part| below(part)).skip(1).collect(),
        Block::Figure(_) => Vec::new(),
    }
}

/// What supports an item follows it in its line: lines are few.
pub fn item(item: &ListItem) -> String {
    let all = [&item.text].into_iter().chain(&item.details);
    all.map(|text| inlines(text)).collect::<Vec<_>>().join(" ")
}

fn list(list: &List) -> Vec<String> {
    let items = list.items.iter().map(item);
    match list.style {
        Style::Bullets => items.map(|item| format!("- {item}")).collect(),
        Style::Numbers => {
            (1..).zip(items).map(|(index, item)| format!("{index}. {item}")).collect()
        }
        Style::Sentences => vec![items.collect::<Vec<_>>().join(" ")],
    }
}

fn inlines(text: &[Inline]) -> String {
    let inline = |inline: &Inline| match inline {
        Inline::Plain(text) | Inline::Link(text, _) => escape(text),
        Inline::Chip(chip, _) => escape(&chip.text),
        Inline::Strong(text) => format!("**{}**", escape(text)),
        // A backtick in it would end it (CommonMark, Code spans).
        Inline::Code(text) if text.contains('`') => format!("`` {text} ``"),
        Inline::Code(text) => format!("`{text}`"),
    };
    text.iter().map(inline).collect()
}

fn table(table: &Table) -> Vec<String> {
    let line = |name: &str, cells: Vec<String>| format!("| {name} | {} |", cells.join(" | "));
    let names = table.headings.iter().map(|heading| escape(&heading.name)).collect();
    let side = |heading: &Heading| match heading.content {
        Content::Numbers => "--:|",
        Content::Words | Content::Parts => "---|",
    };
    let sides = table.headings.iter().map(side);
    let rule = format!("|---|{}", sides.collect::<String>());
    let mut lines = vec![line(&escape(&table.corner), names), rule];
    for (title, rows) in table.groups() {
        if !title.is_empty() {
            let title = format!("**{}**", escape(title));
            lines.push(line(&title, vec![String::new(); table.headings.len()]));
        }
        let row = |cells: &[Cell]| cells.iter().map(cell).collect::<Vec<_>>();
        lines.extend(rows.iter().map(|one| line(&escape(&one.name), row(&one.cells))));
    }
    lines
}

/// A verdict that there is a change is bold.
fn cell(cell: &Cell) -> String {
    let parts = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = parts(&cell.text);
    match (cell.tone, cell.tone.mark()) {
        (Tone::Improvement | Tone::Regression, _) => match cell.text.rsplit_once('\t') {
            Some((numbers, word)) => {
                format!("{} **{}**", escape(&parts(numbers)), escape(word))
            }
            None => format!("**{}**", escape(&text)),
        },
        (_, "") => escape(&text),
        (_, mark) => format!("{} {mark}", escape(&text)),
    }
}

/// Names can contain anything, which must not become markup.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        match c {
            // Inside a word these have no meaning: postgres@17.6 mentions no user.
            '_' | '@' if before.is_alphanumeric() => escaped.push(c),
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            c => escaped.push(c),
        }
        before = c;
    }
    escaped
}
