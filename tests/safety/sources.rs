//! Where builds come from: the clients of package registries, and what is believed of them.
