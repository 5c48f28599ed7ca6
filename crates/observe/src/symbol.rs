//! Names of functions from perf, normalised for builds of different compilers.

/// The outermost frame of a stack that was longer than its copy.
pub const CUT: &str = "[deeper]";
/// A function of unknown name and file.
pub(crate) const NAMELESS: &str = "[unknown]";

/// Suffixes that compilers append to the name of a variant or part of a function.
const VARIANTS: [&str; 7] = ["isra", "part", "constprop", "cold", "llvm", "lto_priv", "localalias"];

/// The name in a line `address symbol (file)`. None for what is not a function.
pub(crate) fn name(frame: &str) -> Option<String> {
    let (address, rest) = frame.split_once(' ')?;
    let (symbol, file) = symbol_and_file(rest.trim());
    let address = u64::from_str_radix(address, 16).ok()?;
    match address {
        // The caller of the first function.
        0 => return None,
        // The unwinder's answer at the end of the copied stack.
        u64::MAX => return Some(CUT.to_string()),
        _ => {}
    }
    let is_kernel = address >> 63 == 1;
    let is_named = symbol != NAMELESS && !symbol.is_empty();
    Some(match (is_named, is_kernel) {
        (true, true) => format!("{}_[k]", plain(symbol)),
        (true, false) => plain(symbol),
        (false, true) => "[kernel]".to_string(),
        (false, false) => {
            let name = file.rsplit('/').next().unwrap_or(file);
            format!("[{}]", name.trim_matches(['[', ']'])).replace(';', ":")
        }
    })
}

/// `f(int) (/usr/lib/x (deleted))` is `f(int)` of `/usr/lib/x (deleted)`.
fn symbol_and_file(text: &str) -> (&str, &str) {
    let at = [" (/", " (["].iter().filter_map(|begin| text.rfind(begin)).max();
    match at {
        Some(at) => (&text[..at], text[at + 2..].strip_suffix(')').unwrap_or(&text[at + 2..])),
        None => (text.strip_suffix(" (inlined)").unwrap_or(text), NAMELESS),
    }
}

/// Without the suffixes of variants: `f.isra.0`, `f.part.1.cold`, `f [clone .llvm.7]` and
/// `f@GLIBC_2.2.5` are all `f`.
pub(crate) fn plain(symbol: &str) -> String {
    let symbol = symbol.split(" [clone ").next().unwrap_or(symbol);
    let symbol = match symbol.find('@') {
        Some(at) if at > 0 => &symbol[..at],
        _ => symbol,
    };
    let is_variant = |rest: &str| {
        let rest = VARIANTS.iter().find_map(|word| rest.strip_prefix(word));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut dots = symbol.match_indices('.').map(|(at, _)| at);
    let end = dots.find(|at| *at > 0 && is_variant(&symbol[at + 1..])).unwrap_or(symbol.len());
    // A semicolon is between functions.
    symbol[..end].replace(';', ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_of_a_function_are_that_function() {
        for variant in [
            "f",
            "f.isra.0",
            "f.part.1",
            "f.constprop.0.isra.3",
            "f.cold",
            "f.part.0.cold",
            "f.llvm.1234567890",
            "f.lto_priv.0",
            "f [clone .isra.0]",
            "f@GLIBC_2.2.5",
            "f@@GLIBC_2.34",
        ] {
            assert_eq!(plain(variant), "f", "{variant}");
        }
        for other in ["f.particle", "f.coldest", "std::vector<int>::at", "ns::f(int, ...)", ".plt"]
        {
            assert_eq!(plain(other), other);
        }
    }

    #[test]
    fn what_has_no_name_is_told_by_its_file() {
        let named = |line: &str| name(line).unwrap();
        let k = "ffffffff813a2313";
        assert_eq!(
            named(&format!("{k} finish_task_switch.isra.0 ([kernel.kallsyms])")),
            "finish_task_switch_[k]"
        );
        assert_eq!(named(&format!("{k} [unknown] ([kernel.kallsyms])")), "[kernel]");
        assert_eq!(named(&format!("{k} ext4_write ([ext4])")), "ext4_write_[k]");
        assert_eq!(
            named("7f12 [unknown] (/opt/my server/libz.so.1 (deleted))"),
            "[libz.so.1 (deleted)]"
        );
        assert_eq!(named("7f12 [unknown] ([vdso])"), "[vdso]");
        assert_eq!(named("7f12 [unknown] ([unknown])"), "[unknown]");
        assert_eq!(named("ffffffffffffffff [unknown] ([unknown])"), CUT);
        assert_eq!(name("0 [unknown] ([unknown])"), None);
        assert_eq!(
            named("12 (anonymous namespace)::f(int) (/bin/mysqld)"),
            "(anonymous namespace)::f(int)"
        );
        assert_eq!(named("12 operator()(int) const (/bin/a (b))"), "operator()(int) const");
        assert_eq!(named("10ab59 __libc_send (inlined)"), "__libc_send");
    }
}
