//! Servers that rqps starts: who can reach them, what they are given, and where root writes.
