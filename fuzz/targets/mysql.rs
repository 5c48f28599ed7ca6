//! The client of MySQL, and a server that says what the fuzzer thinks of: after as many
//! honest messages as its first byte says.

#![no_main]

#[path = "../../crates/wire/tests/hostile/conversation.rs"]
#[allow(dead_code)]
mod conversation;
#[path = "../../crates/wire/tests/hostile/server.rs"]
mod server;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((honest, rest)) = input.split_first() else { return };
    let honest = conversation::mysql().into_iter().take(usize::from(*honest));
    let says = honest.flatten().chain(rest.iter().copied()).collect::<Vec<_>>();
    server::converse(server::Protocol::Mysql, &says);
});
