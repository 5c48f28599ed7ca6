//! `rqps sysbench` and the workload `lua`: beside Debian's sysbench, and with builds of rqps's own.

mod beside;
mod compared;
mod runs;
