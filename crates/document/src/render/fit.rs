//! Which columns of a table fit into a line, and how wide they are.
//!
//! Nothing is wrapped. Where there is no room, names are shortened in the middle, then columns of a
//! high rank are left out, then words are replaced by their short forms. Columns that all matter
//! are cut into several tables. Numbers are never cut.

use std::collections::BTreeSet;

use unicode_width::UnicodeWidthStr;

use crate::{Content, Heading, Table, Tone};

/// Names are shortened to this before anything is left out, and to the least after it.
const NAME: usize = 24;
const LEAST: usize = 12;
/// Words lose their end before a column is left out, but have at least this.
const WORDS: usize = 36;
/// Before the names of rows in a group.
pub(super) const INDENT: usize = 2;

/// A cell as it is written.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) tone: Tone,
}

pub(super) struct Column<'t> {
    pub(super) heading: &'t Heading,
    /// A cell for each row.
    pub(super) cells: Vec<Written>,
    pub(super) width: usize,
    /// The width of the cells without the heading.
    inner: usize,
}

/// Columns that fit into a line, beside the names of the rows.
pub(super) struct Part<'t> {
    pub(super) columns: Vec<Column<'t>>,
    pub(super) names: usize,
    pub(super) gap: usize,
}

/// A table in parts that are below each other: usually one.
pub(super) struct Fitted<'t> {
    pub(super) parts: Vec<Part<'t>>,
    pub(super) left_out: Vec<&'t str>,
    pub(super) is_short: bool,
}

pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// A text without its middle, if it is wider than that.
pub(super) fn shortened(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_string();
    }
    let (head, tail) = (room.saturating_sub(1).div_ceil(2), room.saturating_sub(1) / 2);
    let take = |characters: &mut dyn Iterator<Item = char>, room: usize| {
        let mut taken = Vec::new();
        let mut used = 0;
        for c in characters {
            used += width(c.encode_utf8(&mut [0; 4]));
            if used > room {
                break;
            }
            taken.push(c);
        }
        taken
    };
    let head = take(&mut text.chars(), head);
    let tail = take(&mut text.chars().rev(), tail);
    head.into_iter().chain(['…']).chain(tail.into_iter().rev()).collect()
}

/// A text without its end, if it is wider than that.
fn without_end(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_string();
    }
    let mut start = String::new();
    for c in text.chars() {
        if width(&start) + width(c.encode_utf8(&mut [0; 4])) >= room {
            break;
        }
        start.push(c);
    }
    start + "…"
}

pub(super) fn fitted(table: &Table, room: usize) -> Fitted<'_> {
    let names = Names::of(table);
    let long = columns(table, false);
    let short = columns(table, true);
    let is_shorter = (0..long.len()).any(|index| short[index].width < long[index].width);
    let tries = [
        (false, 2, u8::MAX, usize::MAX),
        (false, 1, u8::MAX, usize::MAX),
        (false, 1, u8::MAX, NAME),
        (false, 1, 1, NAME),
        (true, 1, u8::MAX, NAME),
        (true, 1, 1, NAME),
        (true, 1, 0, NAME),
        (true, 1, 0, LEAST),
    ];
    for (is_short, gap, rank, floor) in tries {
        let all = if is_short { &short } else { &long };
        let kept = || (0..all.len()).filter(|index| all[*index].heading.rank <= rank);
        let Some(part) = part(&names, all, kept().collect(), gap, floor, room) else { continue };
        let left = all.iter().filter(|column| column.heading.rank > rank);
        return Fitted {
            parts: vec![part],
            left_out: left.map(|column| column.heading.name.as_str()).collect(),
            is_short: is_short && is_shorter,
        };
    }
    let kept: Vec<usize> =
        (0..short.len()).filter(|index| short[*index].heading.rank == 0).collect();
    let left = short.iter().filter(|column| column.heading.rank > 0);
    Fitted {
        parts: cut(&names, &short, &kept, room),
        left_out: left.map(|column| column.heading.name.as_str()).collect(),
        is_short: is_shorter,
    }
}

/// As many columns in each part as fit, and at least one.
fn cut<'t>(names: &Names, all: &[Column<'t>], kept: &[usize], room: usize) -> Vec<Part<'t>> {
    let mut parts = Vec::new();
    let mut left = kept;
    while !left.is_empty() {
        let fits = |count: &usize| {
            let floor = if *count == 1 { LEAST } else { NAME };
            part(names, all, left[..*count].to_vec(), 1, floor, room)
        };
        let found = (1..=left.len()).rev().find_map(|count| Some((count, fits(&count)?)));
        let (count, next) = found.unwrap_or_else(|| {
            let wide = usize::MAX / 2;
            let next = part(names, all, vec![left[0]], 1, LEAST, wide).expect("it fits anywhere");
            (1, Part { names: names.floor(LEAST), ..next })
        });
        parts.push(next);
        left = &left[count..];
    }
    parts
}

/// The names of rows and columns: how wide they are, and to what they can be shortened and still
/// differ from each other.
struct Names {
    natural: usize,
    distinct: usize,
    distinct_headings: usize,
}

/// The least width at which different names stay different.
fn distinct<'n>(names: impl Iterator<Item = &'n String>) -> usize {
    let names: BTreeSet<&String> = names.collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let differ = |room: &usize| {
        let short: BTreeSet<String> = names.iter().map(|name| shortened(name, *room)).collect();
        short.len() == names.len()
    };
    (LEAST..widest).find(differ).unwrap_or(widest)
}

impl Names {
    fn of(table: &Table) -> Self {
        let indent = |group: &str| {
            if group.is_empty() || table.is_named_last { 0 } else { INDENT }
        };
        let of_rows = table.rows.iter().map(|row| width(&row.name) + indent(&row.group));
        let titles = table.rows.iter().filter(|_| table.is_named_last).map(|row| width(&row.group));
        let corner = width(&table.corner);
        let natural = of_rows.chain(titles).chain([corner]).max().unwrap_or(0);
        let indented = table.rows.iter().map(|row| indent(&row.group)).max().unwrap_or(0);
        Names {
            natural,
            distinct: distinct(table.rows.iter().map(|row| &row.name)) + indented,
            distinct_headings: distinct(table.headings.iter().map(|heading| &heading.name)),
        }
    }

    fn floor(&self, floor: usize) -> usize {
        self.natural.min(floor.max(self.distinct))
    }
}

/// These columns in one line; none if they do not fit. Words and names are not shortened to less
/// than the floor.
fn part<'t>(
    names: &Names,
    all: &[Column<'t>],
    kept: Vec<usize>,
    gap: usize,
    floor: usize,
    room: usize,
) -> Option<Part<'t>> {
    let words = match floor {
        usize::MAX => usize::MAX,
        NAME.. => WORDS,
        _ => LEAST,
    };
    let least = |index: usize| {
        let Column { heading, width, inner, .. } = &all[index];
        match heading.content {
            Content::Words => words.min(*width),
            _ => (*inner).max(floor.max(names.distinct_headings).min(*width)),
        }
    };
    let gaps = gap * kept.len();
    let needed = names.floor(floor) + kept.iter().map(|index| least(*index)).sum::<usize>() + gaps;
    let mut spare = room.checked_sub(needed)?;
    let mut grown = |least: usize, natural: usize| {
        let more = spare.min(natural - least);
        spare -= more;
        least + more
    };
    let names = grown(names.floor(floor), names.natural);
    let columns = kept.into_iter().map(|index| {
        let column = &all[index];
        let width = grown(least(index), column.width);
        let cell = |cell: &Written| {
            let text = match column.heading.content {
                Content::Words => without_end(&cell.text, width),
                Content::Numbers | Content::Parts => cell.text.clone(),
            };
            Written { text, tone: cell.tone }
        };
        let cells = column.cells.iter().map(cell).collect();
        Column { heading: column.heading, cells, width, inner: column.inner }
    });
    Some(Part { columns: columns.collect(), names, gap })
}

fn columns(table: &Table, is_short: bool) -> Vec<Column<'_>> {
    let of = |(index, heading)| column(table, index, heading, is_short);
    table.headings.iter().enumerate().map(of).collect()
}

fn column<'t>(table: &'t Table, index: usize, heading: &'t Heading, is_short: bool) -> Column<'t> {
    let cells = || table.rows.iter().map(|row| &row.cells[index]);
    let texts = cells().map(|cell| match &cell.short {
        Some(short) if is_short => short.as_str(),
        _ => cell.text.as_str(),
    });
    let texts = aligned(&texts.collect::<Vec<_>>());
    // A blank stands for a mark, so that digits are below each other.
    let is_marked = cells().any(|cell| !cell.tone.mark().is_empty());
    let mark = |tone: Tone| match tone.mark() {
        "" if is_marked => " ",
        mark => mark,
    };
    let written = cells().zip(texts).map(|(cell, text)| Written {
        text: format!("{text}{}", mark(cell.tone)),
        tone: cell.tone,
    });
    let cells: Vec<Written> = written.collect();
    let widest = cells.iter().map(|cell| width(&cell.text)).max().unwrap_or(0);
    Column { heading, cells, width: widest.max(width(&heading.name)), inner: widest }
}

/// Parts of cells, which tabs separate, below each other.
fn aligned(texts: &[&str]) -> Vec<String> {
    let parts: Vec<Vec<&str>> = texts.iter().map(|text| text.split('\t').collect()).collect();
    let widest = |place: usize| {
        let all = parts.iter().filter(|parts| parts.len() > 1);
        all.filter_map(|parts| parts.get(place)).map(|part| width(part)).max().unwrap_or(0)
    };
    let widths: Vec<usize> =
        (0..parts.iter().map(Vec::len).max().unwrap_or(0)).map(widest).collect();
    let line = |parts: &Vec<&str>| {
        let padded = parts.iter().zip(&widths).map(|(part, width)| pad(part, *width));
        padded.collect::<Vec<_>>().join(" ")
    };
    parts.iter().map(line).map(|line| line.trim_end().to_string()).collect()
}

/// A text with blanks behind it.
pub(super) fn pad(text: &str, room: usize) -> String {
    format!("{text}{}", " ".repeat(room.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_start_and_its_end() {
        assert_eq!(shortened("postgres@18.0:x10d?work_mem=16MB", 15), "postgre…em=16MB");
        assert_eq!(shortened("scan", 12), "scan");
        assert_eq!(shortened("数据库数据库", 7), "数…库", "letters may be two columns wide");
    }

    #[test]
    fn names_stay_different_when_they_are_shortened() {
        let rows = ["points-covered-pk", "points-notcovered-pk"]
            .map(|name| crate::Row::new(name, Vec::new()));
        let names = Names::of(&Table::new(Vec::new(), rows.into()));
        let short = |name| shortened(name, names.floor(LEAST));
        assert_ne!(short("points-covered-pk"), short("points-notcovered-pk"));
    }
}
