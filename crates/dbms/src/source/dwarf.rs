//! The producers in a program's debug information (DWARF 2 to 5): the compiler of each compile
//! unit, and nothing else. Sections are read as streams, since those of a server have gigabytes
//! when decompressed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read};

use flate2::read::ZlibDecoder;
use goblin::elf::Elf;
use goblin::elf::section_header::SHF_COMPRESSED;

/// The longest string to read: command lines of a compiler have a few hundred characters.
const LONGEST: usize = 64 << 10;
/// The bytes to read of a unit, which contain its first entry.
const ENTRY: u64 = 16 << 10;
/// The largest table of abbreviations to read.
const MOST_ABBREVIATIONS: u64 = 512 << 20;
/// The entries of such a table to search for that of a unit.
const MOST_KINDS: usize = 1 << 16;

const COMPILE_UNIT: u64 = 0x11;
const SKELETON_UNIT: u64 = 0x4a;
const NAME: u64 = 0x03;
const PRODUCER: u64 = 0x25;

/// Each producer with its number of compile units, of all units or of those whose file name has
/// this end; or why there are none.
pub(super) fn producers(
    bytes: &[u8],
    elf: &Elf,
    of_file: Option<&str>,
) -> Result<BTreeMap<String, usize>, String> {
    if !elf.little_endian {
        return Err("rqps does not read the debug information of its processor".to_string());
    }
    let file = File { bytes, elf };
    let damaged = |error: io::Error| format!("its debug information cannot be read: {error}");
    let units = file.units()?.map_err(damaged)?;
    let mut wanted = BTreeSet::new();
    for unit in &units {
        wanted.insert(&unit.producer);
        wanted.extend(unit.name.as_ref().filter(|_| of_file.is_some()));
    }
    let texts = file.texts(wanted)?.map_err(damaged)?;
    let mut producers = BTreeMap::new();
    for unit in &units {
        let name = || unit.name.as_ref().and_then(|name| texts.get(name));
        let is_wanted = of_file.is_none_or(|end| name().is_some_and(|name| name.ends_with(end)));
        if let Some(producer) = texts.get(&unit.producer).filter(|_| is_wanted) {
            *producers.entry(producer.clone()).or_default() += 1;
        }
    }
    Ok(producers)
}

struct Unit {
    producer: Text,
    name: Option<Text>,
}

/// A string, or its place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Text {
    Here(Vec<u8>),
    In(&'static str, u64),
}

struct File<'a> {
    bytes: &'a [u8],
    elf: &'a Elf<'a>,
}

type Stream<'a> = Box<dyn BufRead + 'a>;

impl<'a> File<'a> {
    /// A decompressed section; none if the program lacks it, or an error in words.
    fn section(&self, name: &str) -> Result<Option<Stream<'a>>, String> {
        let is_called = |at: usize, name: &str| self.elf.shdr_strtab.get_at(at) == Some(name);
        let old_name = name.replace(".debug", ".zdebug");
        let mut headers = self.elf.section_headers.iter();
        let header = headers
            .find(|header| is_called(header.sh_name, name) || is_called(header.sh_name, &old_name));
        let Some(header) = header else { return Ok(None) };
        let content = header.file_range().and_then(|range| self.bytes.get(range));
        let Some(content) = content else { return Ok(None) };
        let zlib = |content| -> Stream<'a> { Box::new(BufReader::new(ZlibDecoder::new(content))) };
        // Before sections had a flag for compression, they had another name, and their size in
        // front.
        if is_called(header.sh_name, &old_name) {
            let packed = content.strip_prefix(b"ZLIB").and_then(|rest| rest.get(8..));
            return Ok(packed.map(zlib));
        }
        if header.sh_flags & u64::from(SHF_COMPRESSED) == 0 {
            return Ok(Some(Box::new(content)));
        }
        let length = if self.elf.is_64 { 24 } else { 12 };
        match (content.first_chunk::<4>(), content.get(length..)) {
            (Some([1, 0, 0, 0]), Some(packed)) => Ok(Some(zlib(packed))),
            (Some([2, 0, 0, 0]), _) => {
                Err("its debug information is compressed with zstd, which rqps does not read"
                    .into())
            }
            _ => Err("its debug information is compressed in a way that rqps does not know".into()),
        }
    }

    fn units(&self) -> Result<io::Result<Vec<Unit>>, String> {
        let none = || "it was stripped of its debug information".to_string();
        let mut info = self.section(".debug_info")?.ok_or_else(none)?;
        let mut table = Vec::new();
        let abbreviations = self.section(".debug_abbrev")?.ok_or_else(none)?;
        if let Err(error) = abbreviations.take(MOST_ABBREVIATIONS).read_to_end(&mut table) {
            return Ok(Err(error));
        }
        let mut kinds = Kinds { table: &table, known: BTreeMap::new() };
        Ok(units(&mut *info, &mut kinds))
    }

    fn texts<'t>(
        &self,
        wanted: BTreeSet<&'t Text>,
    ) -> Result<io::Result<BTreeMap<&'t Text, String>>, String> {
        let mut texts = BTreeMap::new();
        let mut by_section: BTreeMap<&str, Vec<(u64, &Text)>> = BTreeMap::new();
        for text in wanted {
            match text {
                Text::Here(bytes) => {
                    texts.insert(text, String::from_utf8_lossy(bytes).into_owned());
                }
                // In the order of the section, since the set is ordered.
                Text::In(section, place) => {
                    by_section.entry(section).or_default().push((*place, text));
                }
            }
        }
        for (name, places) in by_section {
            let Some(mut section) = self.section(name)? else { continue };
            if let Err(error) = strings(&mut *section, &places, &mut texts) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(texts))
    }
}

/// Reads strings at increasing places.
fn strings<'t>(
    section: &mut dyn BufRead,
    places: &[(u64, &'t Text)],
    texts: &mut BTreeMap<&'t Text, String>,
) -> io::Result<()> {
    let (mut here, mut last): (u64, (u64, Vec<u8>)) = (0, (0, Vec::new()));
    for (place, text) in places {
        // Linkers merge a string into another one with the same end.
        if *place >= here {
            skip(section, place - here)?;
            let mut string = Vec::new();
            let read = section.take(LONGEST as u64).read_until(0, &mut string)?;
            here = place + read as u64;
            last = (*place, string);
        }
        let string = last.1.get((place - last.0) as usize..).unwrap_or_default();
        let string = string.strip_suffix(b"\0").unwrap_or(string);
        texts.insert(text, String::from_utf8_lossy(string).into_owned());
    }
    Ok(())
}

fn skip(stream: &mut dyn BufRead, mut bytes: u64) -> io::Result<()> {
    while bytes > 0 {
        let there = stream.fill_buf()?.len() as u64;
        if there == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let now = bytes.min(there);
        stream.consume(now as usize);
        bytes -= now;
    }
    Ok(())
}

fn units(info: &mut dyn BufRead, kinds: &mut Kinds) -> io::Result<Vec<Unit>> {
    let mut units = Vec::new();
    while !info.fill_buf()?.is_empty() {
        let mut start = [0; 4];
        info.read_exact(&mut start)?;
        let (mut length, mut offsets) = (u64::from(u32::from_le_bytes(start)), 4);
        if length == 0xffff_ffff {
            let mut long = [0; 8];
            info.read_exact(&mut long)?;
            (length, offsets) = (u64::from_le_bytes(long), 8);
        }
        let mut unit = Vec::new();
        let read = info.take(length.min(ENTRY)).read_to_end(&mut unit)? as u64;
        if read < length.min(ENTRY) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        units.extend(Cursor { rest: &unit, offsets }.unit(kinds));
        skip(info, length - read)?;
    }
    Ok(units)
}

/// The form of a unit's entry: its tag, and the name and form of each attribute.
#[derive(Clone)]
struct Kind {
    tag: u64,
    attributes: Vec<(u64, u64)>,
}

/// The tables of abbreviations, with the forms that were already found.
struct Kinds<'t> {
    table: &'t [u8],
    known: BTreeMap<(u64, u64), Option<Kind>>,
}

impl Kinds<'_> {
    fn find(&mut self, place: u64, code: u64) -> Option<Kind> {
        let table = self.table;
        let find = || {
            let rest = table.get(usize::try_from(place).ok()?..)?;
            let mut cursor = Cursor { rest, offsets: 4 };
            (0..MOST_KINDS).map_while(|_| cursor.kind()).find(|(found, _)| *found == code)
        };
        self.known.entry((place, code)).or_insert_with(|| Some(find()?.1)).clone()
    }
}

/// Bytes that are read in order.
struct Cursor<'a> {
    rest: &'a [u8],
    /// The size of an offset into a section.
    offsets: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        Some(taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// LEB128; the value of a signed number is meaningless.
    fn leb(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = self.number(1)?;
            if shift < 64 {
                number |= (byte & 0x7f) << shift;
            }
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(number)
    }

    /// The next entry of a table of abbreviations, with its code.
    fn kind(&mut self) -> Option<(u64, Kind)> {
        let code = self.leb().filter(|code| *code != 0)?;
        let (tag, _has_children) = (self.leb()?, self.number(1)?);
        let mut attributes = Vec::new();
        loop {
            let (name, form) = (self.leb()?, self.leb()?);
            if form == 0x21 {
                // Its value is in the table.
                self.leb()?;
            }
            match (name, form) {
                (0, 0) => return Some((code, Kind { tag, attributes })),
                attribute => attributes.push(attribute),
            }
        }
    }

    /// After its length.
    fn unit(mut self, kinds: &mut Kinds) -> Option<Unit> {
        let version = self.number(2)?;
        let (place, address) = match version {
            2..=4 => (self.number(self.offsets)?, self.number(1)?),
            5 => {
                let kind = self.number(1)?;
                let (address, place) = (self.number(1)?, self.number(self.offsets)?);
                match kind {
                    1 => {}
                    4 | 5 => drop(self.take(8)?),
                    // Units of types, and parts of others.
                    _ => return None,
                }
                (place, address)
            }
            _ => return None,
        };
        let code = self.leb()?;
        let kind = kinds.find(place, code)?;
        if ![COMPILE_UNIT, SKELETON_UNIT].contains(&kind.tag) {
            return None;
        }
        let (mut producer, mut name) = (None, None);
        for (attribute, form) in kind.attributes {
            let text = self.value(form, address as usize, version)?;
            match attribute {
                PRODUCER => producer = text,
                NAME => name = text,
                _ => {}
            }
            if producer.is_some() && name.is_some() {
                break;
            }
        }
        Some(Unit { producer: producer?, name })
    }

    /// Skips a value; returns it if it is a readable string.
    fn value(&mut self, form: u64, address: usize, version: u64) -> Option<Option<Text>> {
        let offsets = self.offsets;
        let bytes = match form {
            // Strings.
            0x08 => {
                let end = memchr::memchr(0, self.rest)?;
                let text = self.take(end + 1)?;
                return Some(Some(Text::Here(text[..end].to_vec())));
            }
            0x0e => return Some(Some(Text::In(".debug_str", self.number(offsets)?))),
            0x1f => return Some(Some(Text::In(".debug_line_str", self.number(offsets)?))),
            // No bytes: a flag by its presence, a constant of the abbreviation.
            0x19 | 0x21 => 0,
            0x0b | 0x0c | 0x11 | 0x25 | 0x29 => 1,
            0x05 | 0x12 | 0x26 | 0x2a => 2,
            0x27 | 0x2b => 3,
            0x06 | 0x13 | 0x1c | 0x28 | 0x2c => 4,
            0x07 | 0x14 | 0x20 | 0x24 => 8,
            0x1e => 16,
            0x01 => address,
            0x10 if version == 2 => address,
            0x10 | 0x17 | 0x1d | 0x1f20 | 0x1f21 => offsets,
            // LEB128.
            0x0d | 0x0f | 0x15 | 0x1a | 0x1b | 0x22 | 0x23 | 0x1f01 | 0x1f02 => {
                self.leb()?;
                0
            }
            // Blocks.
            0x0a => self.number(1)? as usize,
            0x03 => self.number(2)? as usize,
            0x04 => self.number(4)? as usize,
            0x09 | 0x18 => usize::try_from(self.leb()?).ok()?,
            _ => return None,
        };
        self.take(bytes)?;
        Some(None)
    }
}
