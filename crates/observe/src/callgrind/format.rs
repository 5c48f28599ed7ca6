//! The output of Callgrind: self cost by function ("Callgrind Format Specification" in Valgrind's
//! manual).
//!
//! A line of costs belongs to the last `fn=`. The line after `calls=` does not: it has the cost of
//! what is called, which that function has as its own. A name is written once, behind a number in
//! parentheses, which stands for it from then on.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, Read};

use rqps_system::printable;

use crate::symbol::{NAMELESS, plain};

/// The event of an executed instruction.
const INSTRUCTIONS: &str = "Ir";
/// A longer line is not one of Callgrind's: names of C++ templates have some thousand bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// A function, where its code is, and the file of its source if the build has that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountedFunction {
    /// Without the suffixes of compilers' variants, as in profiles. One without a name is the name
    /// of its library in brackets.
    pub name: String,
    pub library: String,
    pub file: Option<String>,
}

/// What a number stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum NamedBy {
    Library,
    File,
    Function,
}

/// A line that names something: its key, what it names, and whether it is where costs are from now
/// on. The others are about a function that is called.
const NAMES: [(&str, NamedBy, bool); 8] = [
    ("ob", NamedBy::Library, true),
    ("fl", NamedBy::File, true),
    ("fi", NamedBy::File, true),
    ("fe", NamedBy::File, true),
    ("fn", NamedBy::Function, true),
    ("cob", NamedBy::Library, false),
    ("cfi", NamedBy::File, false),
    ("cfl", NamedBy::File, false),
];
const CALLED: &str = "cfn";
const CALLS: &str = "calls";

#[derive(Default)]
struct CountReader {
    names: HashMap<(NamedBy, u64), String>,
    library: String,
    file: String,
    function: Option<CountedFunction>,
    /// The columns before the costs, and the place of the instructions among these.
    positions: usize,
    place: usize,
    /// The next line is the cost of a call.
    is_call: bool,
    counts: BTreeMap<CountedFunction, u64>,
}

/// Reads the instructions of each function, by itself, from an output of any of its processes.
pub fn read_counts(mut output: impl BufRead) -> io::Result<BTreeMap<CountedFunction, u64>> {
    let mut reader = CountReader { positions: 1, ..CountReader::default() };
    let mut bytes = Vec::new();
    let mut is_counted = false;
    while output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)? > 0 {
        let line = String::from_utf8_lossy(&bytes);
        is_counted |= line.starts_with("events:");
        reader.line(line.trim_end()).ok_or_else(|| wrong(&line))?;
        bytes.clear();
    }
    // The file of a process that was killed is empty.
    if is_counted { Ok(reader.counts) } else { Err(wrong("no events")) }
}

fn wrong(line: &str) -> io::Error {
    let line: String = line.trim().chars().take(60).collect();
    let text = format!("not an output of callgrind: '{}'", printable(&line));
    io::Error::new(io::ErrorKind::InvalidData, text)
}

impl CountReader {
    /// None if it is not a line of the format.
    fn line(&mut self, line: &str) -> Option<()> {
        if line.starts_with(|c: char| c.is_ascii_digit() || ['+', '-', '*'].contains(&c)) {
            return self.costs(line);
        }
        if let Some(positions) = line.strip_prefix("positions:") {
            self.positions = positions.split_whitespace().count().max(1);
        } else if let Some(events) = line.strip_prefix("events:") {
            let mut events = events.split_whitespace();
            self.place = events.position(|event| event == INSTRUCTIONS)?;
        } else if let Some((key, value)) = line.split_once('=') {
            self.named(key, value)?;
        }
        // Everything else describes the run, or jumps.
        Some(())
    }

    fn named(&mut self, key: &str, value: &str) -> Option<()> {
        if key == CALLS {
            self.is_call = true;
            return Some(());
        }
        if key == CALLED {
            return self.name(NamedBy::Function, value).map(drop);
        }
        let Some((_, named, is_here)) = NAMES.iter().find(|(known, ..)| *known == key) else {
            return Some(());
        };
        let name = self.name(*named, value)?;
        match (named, is_here) {
            (_, false) => {}
            (NamedBy::Library, true) => self.library = name,
            (NamedBy::File, true) => self.file = name,
            (NamedBy::Function, true) => self.function = Some(self.place_of(&name)),
        }
        Some(())
    }

    /// `(5) name` gives a name to a number, `(5)` repeats it.
    fn name(&mut self, named: NamedBy, value: &str) -> Option<String> {
        let Some((number, name)) = value.strip_prefix('(').and_then(|rest| rest.split_once(')'))
        else {
            return Some(value.to_string());
        };
        // `(below main)` is a name.
        let Ok(number) = number.parse::<u64>() else { return Some(value.to_string()) };
        match name.strip_prefix(' ') {
            Some(name) => {
                self.names.insert((named, number), name.to_string());
                Some(name.to_string())
            }
            None => self.names.get(&(named, number)).cloned(),
        }
    }

    fn place_of(&self, name: &str) -> CountedFunction {
        let is_known = |name: &str| !name.is_empty() && name != "???";
        let library = self.library.rsplit('/').next().filter(|name| is_known(name));
        let library = printable(library.unwrap_or(NAMELESS)).into_owned();
        // `f'2` is the second level of a recursion.
        let level = name.rfind('\'').filter(|at| name[at + 1..].parse::<u32>().is_ok());
        let name = plain(&name[..level.unwrap_or(name.len())]);
        let name = match is_known(&name) && !name.starts_with("0x") {
            true => printable(&name).into_owned(),
            false => format!("[{}]", library.trim_matches(['[', ']'])),
        };
        let file = Some(&self.file).filter(|file| is_known(file));
        CountedFunction { name, library, file: file.map(|file| printable(file).into_owned()) }
    }

    /// A position, then what each event counted; events that are left out counted nothing.
    fn costs(&mut self, line: &str) -> Option<()> {
        if std::mem::take(&mut self.is_call) {
            return Some(());
        }
        let count = match line.split_whitespace().nth(self.positions + self.place) {
            Some(count) => count.parse::<u64>().ok()?,
            None => 0,
        };
        let total = self.counts.entry(self.function.clone()?).or_default();
        *total = total.checked_add(count)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shortened output of callgrind 3.19 for a program in C with a recursion.
    const RECURSION: &str = include_str!("../recorded/callgrind-recursion.txt");

    fn read(text: &str) -> BTreeMap<CountedFunction, u64> {
        read_counts(text.as_bytes()).unwrap()
    }

    fn count(counts: &BTreeMap<CountedFunction, u64>, name: &str) -> u64 {
        counts.iter().filter(|(function, _)| function.name == name).map(|(_, count)| count).sum()
    }

    #[test]
    fn a_function_has_what_it_executes_itself_and_not_what_it_calls() {
        let counts = read(RECURSION);
        // `mid` calls itself: both levels are the same function.
        assert_eq!(count(&counts, "mid"), 8 + 3 + 5 + 76 + 27 + 45);
        assert_eq!(count(&counts, "leaf"), 345);
        let (mid, _) = counts.iter().find(|(function, _)| function.name == "mid").unwrap();
        assert_eq!((&*mid.library, mid.file.as_deref()), ("a", Some("/src/a.c")));
    }

    #[test]
    fn code_without_names_is_told_by_its_library() {
        let counts = read(RECURSION);
        assert_eq!(count(&counts, "[a]"), 5 + 9 + 1 + 3 + 12);
        assert_eq!(count(&counts, "(below main)"), 11, "the name of a function, and no number");
    }

    #[test]
    fn what_is_inlined_belongs_to_its_function_and_leaves_the_file_to_the_next() {
        let text = "positions: line\nevents: Ir\n\nob=(1) /bin/x\nfl=(1) a.c\nfn=(1) f\n1 10\n\
                    fi=(2) b.h\n7 5\nfe=(1)\n2 1\nfi=(2)\n9 2\n\nfn=(2) g\n9 3\n";
        let counts = read(text);
        assert_eq!((count(&counts, "f"), count(&counts, "g")), (18, 3));
        let file = |name: &str| {
            let found = counts.keys().find(|function| function.name == name).unwrap();
            found.file.clone().unwrap()
        };
        assert_eq!((file("f"), file("g")), ("a.c".to_string(), "b.h".to_string()));
    }

    #[test]
    fn columns_are_those_that_the_file_declares() {
        let text = "positions: instr line\nevents: Dr Ir Dw\nob=x\nfl=a.cc\n\
                    fn=ns::f(int, std::pair<int, int>)\n0x10 5 1 20 3\n+3 * 2\n";
        assert_eq!(count(&read(text), "ns::f(int, std::pair<int, int>)"), 20);
    }

    #[test]
    fn what_is_no_output_is_an_error() {
        for text in ["", "version: 1\n", "events: Ir\n1 5\n", "events: Ir\nfn=(7)\n1 5\n"] {
            assert!(read_counts(text.as_bytes()).is_err(), "{text:?}");
        }
        let error = read_counts("events: Cycles\n".as_bytes()).unwrap_err().to_string();
        assert_eq!(error, "not an output of callgrind: 'events: Cycles'");
    }
}
