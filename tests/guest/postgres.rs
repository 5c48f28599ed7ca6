//! Servers of Postgres, and what stands in front of them.
