//! What both targets try: a client, and a server that says what the fuzzer thinks of, after as many
//! honest messages as the first byte says.

#[path = "../../crates/wire/tests/hostile/conversation.rs"]
#[allow(dead_code)]
mod conversation;
#[path = "../../crates/wire/tests/hostile/server.rs"]
mod server;

pub fn postgres(input: &[u8]) {
    converse(server::Protocol::Postgres, input);
}

pub fn mysql(input: &[u8]) {
    converse(server::Protocol::Mysql, input);
}

fn converse(protocol: server::Protocol, input: &[u8]) {
    let Some((honest, rest)) = input.split_first() else { return };
    let honest = conversation::honest(protocol).into_iter().take(usize::from(*honest));
    let says = honest.flatten().chain(rest.iter().copied()).collect::<Vec<_>>();
    server::converse(protocol, &says);
}
