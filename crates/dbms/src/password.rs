//! Passwords of servers that listen where other users of the machine can connect.

use rand::distr::{Alphanumeric, SampleString};

/// 24 letters and digits: 142 bits, and no character that has to be escaped.
const LENGTH: usize = 24;

/// A new password.
pub fn new_password() -> String {
    Alphanumeric.sample_string(&mut rand::rng(), LENGTH)
}
