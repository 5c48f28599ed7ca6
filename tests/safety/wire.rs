//! What is told to a server that cannot be trusted, or over a wire that others can read.
