//! A document for a terminal, or for a file of text.

use super::fit::{Fitted, INDENT, Part, Written, fitted, pad, shortened, width};
use crate::{Block, Content, Document, Inline, List, ListItem, Row, Style, Table, Tone};

/// Whether tones are drawn with terminal escape codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Always,
    Never,
}

/// Where a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Columns. Tables fit into them; sentences are at most [`Terminal::PLAIN`] wide.
    pub width: usize,
    pub colour: Colour,
}

impl Terminal {
    /// A file or a pipe.
    pub const PLAIN: Terminal = Terminal { width: 100, colour: Colour::Never };

    fn prose(self) -> usize {
        self.width.clamp(20, Terminal::PLAIN.width)
    }
}

/// The document, ending in a line feed.
pub fn render(document: &Document, terminal: Terminal) -> String {
    let title = wrapped(&[document.title.as_str().into()], terminal.prose(), 0);
    title + &below(&document.blocks, terminal)
}

/// Blocks below each other, with an empty line between them, but not below a heading.
fn below(blocks: &[Block], terminal: Terminal) -> String {
    let mut text = String::new();
    let mut is_heading = true;
    for block in blocks.iter().filter(|block| !matches!(block, Block::Figure(_))) {
        if !is_heading {
            text.push('\n');
        }
        is_heading = matches!(block, Block::Heading(_));
        text.push_str(&drawn(block, terminal));
    }
    text
}

fn drawn(block: &Block, terminal: Terminal) -> String {
    let prose = terminal.prose();
    match block {
        Block::Heading(text) => wrapped(&[text.as_str().into()], prose, 0),
        Block::Text(text) => wrapped(text, prose, 0),
        Block::Table(table) => self::table(table, terminal),
        Block::List(list) => self::list(list, prose),
        Block::Terms(terms) => self::terms(terms, prose),
        Block::Fold(fold) => wrapped(&fold.title, prose, 0) + &below(&fold.blocks, terminal),
        Block::Of(_, blocks) => below(blocks, terminal),
        Block::Beside(parts) => parts.iter().map(|part| below(part, terminal)).collect(),
        Block::Figure(_) => String::new(),
    }
}

fn list(list: &List, room: usize) -> String {
    let item = |(index, item): (usize, &ListItem)| {
        let mark = match list.style {
            Style::Bullets | Style::Sentences => "- ".to_string(),
            Style::Numbers => format!("{}. ", index + 1),
        };
        let indent = mark.len();
        let lines = [&item.text].into_iter().chain(&item.details);
        let text = lines.map(|line| wrapped(line, room, indent)).collect::<String>();
        format!("{mark}{}", &text[indent..])
    };
    list.items.iter().enumerate().map(item).collect()
}

fn terms(terms: &[(String, String)], room: usize) -> String {
    let names = terms.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(room / 2);
    let line = |(name, what): &(String, String)| {
        let text = wrapped(&[what.as_str().into()], room, names + 1);
        format!("{} {}", pad(&shortened(name, names), names), &text[names + 1..])
    };
    terms.iter().map(line).collect()
}

/// Lines of words, each with blanks before it. Words that are longer than a line are broken, but
/// commands are not, so they can be copied.
fn wrapped(text: &[Inline], room: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    let room = room.saturating_sub(indent).max(1);
    let mut end = |line: &mut String| {
        lines.push_str(&format!("{}{}\n", " ".repeat(indent), line.trim_end()));
        line.clear();
    };
    let words = words(text);
    for (place, &(is_apart, word, is_code)) in words.iter().enumerate() {
        let blank = usize::from(is_apart && !line.is_empty());
        let unit = words.get(place + 1).filter(|(_, unit, _)| is_unit(word, unit));
        let unit = unit.map_or(0, |(_, unit, _)| 1 + width(unit));
        if blank + width(&line) + width(word) + unit > room && !line.is_empty() {
            end(&mut line);
        } else if blank == 1 {
            line.push(' ');
        }
        for c in word.chars() {
            let next = width(c.encode_utf8(&mut [0; 4]));
            if !is_code && width(&line) + next > room {
                end(&mut line);
            }
            line.push(c);
        }
    }
    end(&mut line);
    lines
}

const UNITS: [&str; 8] = ["%", "ns", "us", "ms", "s", "KiB", "MiB", "GiB"];

/// Whether a word is the unit of the number before it: both stay on one line.
fn is_unit(number: &str, word: &str) -> bool {
    let word = word.trim_end_matches([')', ',', '.', ';', ':']);
    number.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&word)
}

/// Each word, whether a blank is before it, and whether it is a command.
fn words(text: &[Inline]) -> Vec<(bool, &str, bool)> {
    let mut words = Vec::new();
    let mut is_apart = true;
    for inline in text {
        let text = inline.text();
        if matches!(inline, Inline::Code(_)) {
            words.push((is_apart, text, true));
            is_apart = false;
            continue;
        }
        is_apart |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            words.push((is_apart, word, false));
            is_apart = true;
        }
        is_apart = text.ends_with(char::is_whitespace) || (is_apart && text.trim().is_empty());
    }
    words
}

pub fn table(table: &Table, terminal: Terminal) -> String {
    let Fitted { parts, left_out, is_short } = fitted(table, terminal.width);
    let parts = parts.iter().map(|part| self::part(table, part, terminal));
    let mut text = parts.collect::<Vec<_>>().join("\n");
    let mut note = |note: String| {
        text.push_str(&wrapped(&[note.into()], terminal.prose(), 0));
    };
    if !left_out.is_empty() {
        note(format!("No room for: {}.", left_out.join(", ")));
    }
    if is_short && !table.short_note.is_empty() {
        note(String::new());
        note(table.short_note.clone());
    }
    text
}

fn part(table: &Table, part: &Part<'_>, Terminal { width, colour }: Terminal) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut place = 0;
    let header = |corner: &str| {
        let heading = |index: usize| {
            let column = &part.columns[index];
            Written { text: shortened(&column.heading.name, column.width), tone: Tone::Plain }
        };
        line(table, part, corner, heading, colour)
    };
    if !table.is_named_last {
        lines.push(header(&table.corner));
    }
    for (title, rows) in table.groups() {
        if table.is_named_last {
            lines.extend((place > 0).then(String::new));
            lines.push(header(if title.is_empty() { &table.corner } else { title }));
        } else if !title.is_empty() {
            lines.push(shortened(title, width));
        }
        for row in rows {
            lines.push(self::row(table, part, row, place, colour));
            place += 1;
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_string() + "\n").collect()
}

fn row(table: &Table, part: &Part<'_>, row: &Row, place: usize, colour: Colour) -> String {
    let indent = if row.group.is_empty() || table.is_named_last { 0 } else { INDENT };
    let name = shortened(&row.name, part.names - indent);
    let cell = |index: usize| {
        let cell: &Written = &part.columns[index].cells[place];
        Written { text: cell.text.clone(), tone: cell.tone }
    };
    line(table, part, &format!("{}{name}", " ".repeat(indent)), cell, colour)
}

fn line(
    table: &Table,
    part: &Part<'_>,
    name: &str,
    cell: impl Fn(usize) -> Written,
    colour: Colour,
) -> String {
    let name = shortened(name, part.names);
    let name = if table.is_named_last { name } else { pad(&name, part.names) };
    let cells = part.columns.iter().enumerate().map(|(index, column)| {
        let Written { text, tone } = cell(index);
        let blanks = " ".repeat(column.width.saturating_sub(width(&text)));
        let text = painted(&text, tone, colour);
        match column.heading.content {
            Content::Numbers => format!("{blanks}{text}"),
            Content::Words | Content::Parts => format!("{text}{blanks}"),
        }
    });
    let cells: Vec<String> = cells.collect();
    let all: Vec<String> = match table.is_named_last {
        true => cells.into_iter().chain([name]).collect(),
        false => [name].into_iter().chain(cells).collect(),
    };
    all.join(&" ".repeat(part.gap))
}

/// A text in the colour of its tone (ECMA-48, Select Graphic Rendition).
fn painted(text: &str, tone: Tone, colour: Colour) -> String {
    let code = match tone {
        _ if colour == Colour::Never || text.trim().is_empty() => return text.to_string(),
        Tone::Good => 32,
        Tone::Bad | Tone::Missed => 31,
        Tone::Faster | Tone::Improvement => 36,
        Tone::Slower | Tone::Regression => 33,
        Tone::Ignored | Tone::Missing | Tone::Reference | Tone::Unsure => 90,
        Tone::Plain | Tone::Shade(_) => return text.to_string(),
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Heading};

    /// Tests with a verdict that has a short form, and two columns that can be left out.
    fn verdicts() -> Table {
        let headings = vec![
            Heading::new("rQPS", ""),
            Heading::new("95 % interval", ""),
            Heading::new("cpu/o", "").ranked(1),
            Heading::new("rounds", "").ranked(2),
            Heading::words("verdict"),
        ];
        let row = |name: &str, verdict: &str, short: &str| {
            let numbers = ["0.9601", "0.9594 – 0.9609", "+8.30 %", "6"].map(Cell::plain);
            let verdict = Cell::new(verdict, Tone::Regression).or(short);
            Row::new(name, numbers.into_iter().chain([verdict]).collect()).within("Point queries")
        };
        let rows = vec![
            row("points-notcovered-pk", "SLA missed: 89 of 100 rows/s; regression", "SLA"),
            row("points-covered-pk", "no change (MDE 0.1 %)", "same"),
        ];
        Table { short_note: "SLA: missed.".to_string(), ..Table::new(headings, rows) }
    }

    fn plain(table: &Table, width: usize) -> String {
        super::table(table, Terminal { width, colour: Colour::Never })
    }

    #[test]
    fn a_table_fits_into_every_terminal_and_keeps_its_numbers() {
        for width in 40..=200 {
            let text = plain(&verdicts(), width);
            for line in text.lines() {
                assert!(super::width(line) <= width, "{width}: {line}");
            }
            assert_eq!(text.matches("0.9594 – 0.9609").count(), 2, "{width}:\n{text}");
            let is_told = |name| text.contains(name);
            assert!(
                ["cpu/o", "rounds"].into_iter().all(is_told),
                "{width}:
{text}"
            );
        }
    }

    #[test]
    fn the_rounds_go_first_then_the_long_words_then_the_costs() {
        assert!(plain(&verdicts(), 120).contains("rounds  verdict"));
        let less = plain(&verdicts(), 92);
        assert!(less.contains("No room for: rounds.") && less.contains("(MDE 0.1 %)"), "{less}");
        let short = plain(&verdicts(), 70);
        assert!(short.contains("SLA\n") && short.contains("SLA: missed."), "{short}");
        let least = plain(&verdicts(), 52);
        assert!(least.contains("No room for: cpu/o, rounds."), "{least}");
    }

    #[test]
    fn columns_that_all_matter_are_cut_into_tables() {
        let headings = (0..10).map(|step| Heading::new(format!("step{step}"), "")).collect();
        let cells = (0..10).map(|step| Cell::plain((step * 1111).to_string())).collect();
        let table = Table::new(headings, vec![Row::new("postgres@18.0", cells)]);
        let text = plain(&table, 40);
        assert_eq!(text.matches("postgres@18.0").count(), 3, "{text}");
        assert!((0..10).all(|step| text.contains(&format!("step{step}"))), "{text}");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        let text = ["a change of 2.0 %); as 3 tests".into()];
        assert_eq!(wrapped(&text, 16, 0), "a change of\n2.0 %); as 3\ntests\n");
        assert_eq!(
            wrapped(&["12345678 %".into()], 6, 0),
            "123456\n78 %\n",
            "it has to end somewhere"
        );
    }

    #[test]
    fn a_command_is_never_broken() {
        let text = wrapped(&["Next: ".into(), Inline::Code("rqps compare a b".into())], 10, 2);
        assert_eq!(text, "  Next:\n  rqps compare a b\n");
    }
}
