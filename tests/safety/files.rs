//! What is read, written and removed on behalf of files that came from elsewhere.
