//! Servers of MySQL and MariaDB.
