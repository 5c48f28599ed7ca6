//! The settings of a contender: names of RocksDB's options, which go into one options string, and
//! a few of rqps's own for what such a string cannot express in every version.

use rqps_wire::rocksdb::RESERVED;

use crate::WorkerError;

/// Settings that are not RocksDB's, with what they take.
pub(crate) const OWN: [(&str, &str); 5] = [
    ("cache", "lru or hyper"),
    ("cache_size", "a number of bytes, as in 64M"),
    ("cache_shard_bits", "a number from 0 to 19"),
    ("cache_entry_charge", "a number of bytes"),
    ("statistics", "true or false"),
];
/// The options of tables are within this one.
const TABLES: &str = "block_based_table_factory";
/// The share of the cache for index and filter blocks, as published.
const HIGH_PRIORITY: &str = "0.5";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheKind {
    Lru,
    Hyper,
}

/// What a database is opened with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenSettings {
    /// Names, with a dot before the name of an option within another, and values.
    options: Vec<(String, String)>,
    cache: Option<CacheKind>,
    cache_size: Option<usize>,
    cache_shard_bits: Option<u8>,
    cache_entry_charge: usize,
    pub(crate) has_statistics: bool,
}

impl OpenSettings {
    pub(crate) fn new(given: Vec<(String, String)>) -> Result<OpenSettings, WorkerError> {
        let mut settings = OpenSettings::default();
        for (name, value) in given {
            let parsed = match name.as_str() {
                "cache" => kind(&value).map(|kind| settings.cache = Some(kind)),
                "cache_size" => bytes(&value).map(|bytes| settings.cache_size = Some(bytes)),
                "cache_shard_bits" => {
                    let bits = value.parse().ok().filter(|bits| *bits < 20);
                    bits.map(|bits| settings.cache_shard_bits = Some(bits))
                }
                "cache_entry_charge" => {
                    bytes(&value).map(|bytes| settings.cache_entry_charge = bytes)
                }
                "statistics" => value.parse().ok().map(|is| settings.has_statistics = is),
                _ => {
                    refuse(&name, &value)?;
                    settings.options.push((name, value));
                    continue;
                }
            };
            if parsed.is_none() {
                let takes = OWN.iter().find(|own| own.0 == name).map_or("", |own| own.1);
                return Err(WorkerError::Value { name, value, takes });
            }
        }
        if settings.cache.is_some() && settings.cache_size.is_none() {
            return Err(WorkerError::NoCacheSize);
        }
        Ok(settings)
    }

    /// Capacity and estimated charge of an entry, for the cache that no options string makes.
    pub(crate) fn hyper_clock(&self) -> Option<(usize, usize)> {
        let is_hyper = self.cache == Some(CacheKind::Hyper);
        self.cache_size.filter(|_| is_hyper).map(|size| (size, self.cache_entry_charge))
    }

    /// All options in RocksDB's own notation: `a=1;b={c=2;d=3}`.
    pub(crate) fn text(&self) -> String {
        let lru = self.lru().map(|lru| (format!("{TABLES}.block_cache"), lru));
        let (mut parts, mut nested) = (Vec::new(), Vec::<(&str, Vec<String>)>::new());
        for (name, value) in self.options.iter().chain(&lru) {
            let Some((outer, inner)) = name.split_once('.') else {
                parts.push(format!("{name}={value}"));
                continue;
            };
            let line = format!("{inner}={value}");
            match nested.iter_mut().find(|(of, _)| *of == outer) {
                Some((_, lines)) => lines.push(line),
                None => nested.push((outer, vec![line])),
            }
        }
        let nested = nested.iter().map(|(name, lines)| format!("{name}={{{}}}", lines.join(";")));
        parts.into_iter().chain(nested).collect::<Vec<_>>().join(";")
    }

    /// Those of rqps's own that no OPTIONS file has.
    pub(crate) fn told(&self) -> Vec<(&'static str, String)> {
        let cache = match self.cache {
            Some(CacheKind::Hyper) => "hyper",
            Some(CacheKind::Lru) => "lru",
            None if self.cache_size.is_some() => "lru",
            None => "RocksDB's default",
        };
        vec![("cache", cache.to_string()), ("statistics", self.has_statistics.to_string())]
    }

    fn lru(&self) -> Option<String> {
        let size = self.cache_size.filter(|_| self.cache != Some(CacheKind::Hyper))?;
        let mut text = format!("{{capacity={size};high_pri_pool_ratio={HIGH_PRIORITY}");
        if let Some(bits) = self.cache_shard_bits {
            text += &format!(";num_shard_bits={bits}");
        }
        Some(text + "}")
    }
}

/// The full name of an option in a section of an OPTIONS file; none for sections without options.
pub(crate) fn full_name(section: &str, name: &str) -> Option<String> {
    match section {
        "DBOptions" | "CFOptions" => Some(name.to_string()),
        "TableOptions/BlockBasedTable" => Some(format!("{TABLES}.{name}")),
        _ => None,
    }
}

/// An option must be one option: in the string of all of them, other characters would end it and
/// begin another. And it must not be a reserved one.
fn refuse(name: &str, value: &str) -> Result<(), WorkerError> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
    if !name.bytes().all(is_name) {
        return Err(WorkerError::Name(name.to_string()));
    }
    if !is_one_value(value) {
        return Err(WorkerError::Unbalanced { name: name.to_string(), value: value.to_string() });
    }
    let within = value.split(['{', '}', ';']).filter_map(|part| part.split_once('='));
    let names = [name].into_iter().chain(within.map(|(name, _)| name));
    let mut words = names.flat_map(|name| name.split('.')).map(str::trim);
    let reserved = words.find_map(|word| RESERVED.iter().find(|(name, _)| *name == word));
    reserved.map_or(Ok(()), |&(name, why)| Err(WorkerError::Reserved { name, why }))
}

/// Whether a value ends where its text ends.
fn is_one_value(value: &str) -> bool {
    let mut open = 0_usize;
    for byte in value.bytes() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return false,
            b'}' => open -= 1,
            b';' if open == 0 => return false,
            _ => (),
        }
    }
    open == 0
}

fn kind(value: &str) -> Option<CacheKind> {
    match value {
        "lru" => Some(CacheKind::Lru),
        "hyper" => Some(CacheKind::Hyper),
        _ => None,
    }
}

/// `64M` in bytes.
fn bytes(value: &str) -> Option<usize> {
    let shift = match value.chars().last()? {
        'K' | 'k' => 10,
        'M' | 'm' => 20,
        'G' | 'g' => 30,
        _ => return value.parse().ok(),
    };
    value[..value.len() - 1].parse::<usize>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<OpenSettings, WorkerError> {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap();
            (name.to_string(), value.to_string())
        };
        OpenSettings::new(text.split('&').filter(|pair| !pair.is_empty()).map(pair).collect())
    }

    #[test]
    fn options_become_one_string_with_nested_ones_in_braces() {
        let text = |given: &str| settings(given).unwrap().text();
        assert_eq!(text(""), "");
        assert_eq!(
            text("num_levels=8&write_buffer_size=16M"),
            "num_levels=8;write_buffer_size=16M"
        );
        assert_eq!(
            text(
                "block_based_table_factory.block_size=8K&num_levels=8\
                 &block_based_table_factory.checksum=kXXH3&compaction_options_universal.size_ratio=10"
            ),
            "num_levels=8;block_based_table_factory={block_size=8K;checksum=kXXH3};\
             compaction_options_universal={size_ratio=10}"
        );
    }

    #[test]
    fn a_value_cannot_bring_a_second_option() {
        let error = |name: &str, value: &str| {
            let given = vec![(name.to_string(), value.to_string())];
            OpenSettings::new(given).unwrap_err().to_string()
        };
        for value in ["1M;db_log_dir=/tmp/x", "1M;", ";", "1M};a={b=1", "{a=1", "a=1}", "}{"] {
            let error = error("write_buffer_size", value);
            assert!(error.contains("write ; only within braces"), "{value}: {error}");
        }
        for name in ["block_based_table_factory.a};wal_dir", "a;b", "a{b", "a b", "a=b"] {
            let error = error(name, "1");
            assert!(error.contains("a name has letters, digits, dots and _"), "{name}: {error}");
        }
        assert_eq!(
            settings("compaction_options_fifo={max_table_files_size=1;ttl={a=1;b={}}}")
                .unwrap()
                .text(),
            "compaction_options_fifo={max_table_files_size=1;ttl={a=1;b={}}}"
        );
    }

    #[test]
    fn reserved_options_are_refused_with_the_reason_also_within_others() {
        let error = |given: &str| settings(given).unwrap_err().to_string();
        for (name, why) in RESERVED {
            let expected = format!("cannot set '{name}': {why}. Remove it");
            assert_eq!(error(&format!("{name}=x")), expected);
            assert_eq!(error(&format!("outer.{name}=x")), expected);
            assert_eq!(error(&format!("outer={{a=1;inner={{ {name} =x}}}}")), expected);
        }
        assert!(settings("max_open_files=10&wal_dirs=x").is_ok());
    }

    #[test]
    fn a_cache_is_in_the_string_unless_it_is_a_hyper_clock() {
        let lru = settings("cache=lru&cache_size=64M&cache_shard_bits=6").unwrap();
        assert_eq!(
            lru.text(),
            "block_based_table_factory={block_cache={capacity=67108864;high_pri_pool_ratio=0.5;\
             num_shard_bits=6}}"
        );
        assert_eq!(lru.hyper_clock(), None);
        let hyper = settings("cache=hyper&cache_size=1G&cache_entry_charge=8K").unwrap();
        assert_eq!((hyper.text().as_str(), hyper.hyper_clock()), ("", Some((1 << 30, 8192))));
        // A size alone, as --cached sets it.
        assert!(settings("cache_size=1M").unwrap().text().contains("capacity=1048576"));
    }

    #[test]
    fn values_of_rqpss_own_settings_are_checked() {
        let error = |given: &str| settings(given).unwrap_err().to_string();
        assert_eq!(error("cache=fifo&cache_size=1M"), "cache = fifo: write lru or hyper");
        assert_eq!(
            error("cache_size=much"),
            "cache_size = much: write a number of bytes, as in 64M"
        );
        assert_eq!(error("cache=lru"), "cache needs a size. Add cache_size, as in cache_size=64M");
        assert_eq!(
            error("cache_shard_bits=20"),
            "cache_shard_bits = 20: write a number from 0 to 19"
        );
        assert_eq!(error("statistics=on"), "statistics = on: write true or false");
    }
}
