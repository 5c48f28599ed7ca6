//! The point query in prepared bytes, and what its result must look like.

/// The point query and its result in the protocol.
pub(crate) struct Exchange {
    /// Around the key: an execution of the statement that a connection prepared first.
    pub(crate) before_key: &'static [u8],
    pub(crate) key: fn(u64) -> [u8; 8],
    pub(crate) after_key: &'static [u8],
    /// The beginning of a result that is not an error.
    pub(crate) begin: &'static [u8],
    /// The beginning of its last message, and the length of that message.
    pub(crate) last: (&'static [u8], usize),
}

impl Exchange {
    pub(crate) fn request(&self, key: u64) -> Vec<u8> {
        [self.before_key, &(self.key)(key)[..], self.after_key].concat()
    }

    /// Whether this is a complete result with its row. Messages between the first and the last are
    /// not checked.
    pub(crate) fn is_whole(&self, answer: &[u8]) -> bool {
        let (last, length) = self.last;
        let start = answer.len().checked_sub(length);
        answer.starts_with(self.begin)
            && start.is_some_and(|start| answer[start..].starts_with(last))
    }

    /// Whether a partial result may become a complete one.
    pub(crate) fn is_part(&self, answer: &[u8]) -> bool {
        answer.iter().zip(self.begin).all(|(byte, expected)| byte == expected)
    }
}
