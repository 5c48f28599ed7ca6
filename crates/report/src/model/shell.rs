//! Commands for readers, who copy them into a shell.

/// Words as one line of a POSIX shell.
pub(crate) fn shell_line(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let words: Vec<_> = words.into_iter().collect();
    let quoter = shlex::Quoter::new().allow_nul(true);
    quoter.join(words.iter().map(AsRef::as_ref)).expect("NUL is allowed")
}
