//! rqps with real servers of real versions, a browser or a registry, and what only root can do: a
//! module for each subject. Part of `.ci/run`; `cargo test` alone leaves it out.

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod bisect;
mod build;
mod capture;
mod capture_data;
mod compare;
mod configs;
mod dbms;
mod engine;
mod faults;
mod fleet;
mod guest;
mod images;
mod instructions;
mod latency;
mod live;
mod matrix;
mod micro;
mod mysql;
mod named_configs;
mod obstacles;
mod pacing;
mod pgbench;
mod placement;
mod plans;
mod postgres;
mod profiles;
mod registries;
mod reports;
mod repository;
mod rocksdb;
mod safety;
mod showcase;
mod sql;
mod sql_files;
mod sqlite;
mod sysbench;
mod tpcc;
mod tpch;
mod track;
mod usage;
mod wire;
mod wire_mysql;
