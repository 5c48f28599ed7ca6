//! Encryption: what is checked, and that nothing is sent with less protection than was asked for.
