//! Servers that do not keep to the protocol, by accident or on purpose: a client ends with an error
//! that says so, whatever it is told. How many cases are tried is proptest's to say
//! (`PROPTEST_CASES`).

mod conversation;
mod server;
mod tls;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;

use conversation::{honest, in_clear, login, refusal};
use server::{Answers, Protocol, converse, converse_in_pieces};
use tls::Handshake;

/// Remembers the most that a thread has asked for at once.
struct Watched;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn remember(size: usize) {
    LARGEST.with(|largest| largest.set(largest.get().max(size)));
}

/// Far more than any answer of these tests has bytes.
const MEMORY: usize = 4 << 20;

// SAFETY: everything is the system's.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        remember(layout.size());
        // SAFETY: the caller keeps to what this method asks for, which is what the system's does.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        remember(layout.size());
        // SAFETY: the caller keeps to what this method asks for, which is what the system's does.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        remember(size);
        // SAFETY: the caller keeps to what this method asks for, which is what the system's does.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to what this method asks for, which is what the system's does.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// A client survives a server that says these bytes.
fn survives(protocol: Protocol, says: &[u8]) -> Answers {
    endured(says, || converse(protocol, says))
}

/// The same with a server that has agreed to TLS before.
fn survives_behind_tls(protocol: Protocol, handshake: Handshake, says: &[u8]) -> Answers {
    endured(says, || tls::converse(protocol, handshake, says))
}

/// The client came back, and what it says of an error can be shown to people.
fn endured(says: &[u8], conversation: impl FnOnce() -> Answers) -> Answers {
    LARGEST.set(0);
    let answers = conversation();
    for (call, answer) in &answers {
        let Err(error) = answer else { continue };
        let text = error.to_string();
        assert!(!text.is_empty(), "{call}");
        let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
        assert!(text.chars().all(is_plain), "{call}: {text:?}");
    }
    let largest = LARGEST.get();
    assert!(largest < MEMORY, "{largest} bytes at once for {} that were sent", says.len());
    answers
}

/// What becomes of bytes on the way, or at the hands of somebody who knows what they mean.
#[derive(Clone, Debug)]
enum Harm {
    Set(Index, u8),
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, Index),
    Repeat(Index, Index),
    /// Large numbers, as lengths and counts are.
    Fill(Index, u8, usize),
    Cut(Index),
}

fn harm() -> impl Strategy<Value = Harm> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Harm::Set(at, byte)),
        (at(), 0..8u8).prop_map(|(at, bit)| Harm::Flip(at, bit)),
        (at(), vec(any::<u8>(), 1..40)).prop_map(|(at, bytes)| Harm::Insert(at, bytes)),
        (at(), at()).prop_map(|(from, to)| Harm::Remove(from, to)),
        (at(), at()).prop_map(|(from, to)| Harm::Repeat(from, to)),
        (at(), prop_oneof![Just(0xff), Just(0xfe), Just(0x7f), Just(0)], 1..9usize)
            .prop_map(|(at, byte, count)| Harm::Fill(at, byte, count)),
        at().prop_map(Harm::Cut),
    ]
}

fn between(from: &Index, to: &Index, length: usize) -> std::ops::Range<usize> {
    let (from, to) = (from.index(length), to.index(length));
    from.min(to)..from.max(to)
}

impl Harm {
    fn done_to(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        match self {
            Harm::Set(at, byte) => bytes[at.index(length)] = *byte,
            Harm::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Harm::Insert(at, more) => {
                let at = at.index(length);
                bytes.splice(at..at, more.iter().copied());
            }
            Harm::Remove(from, to) => drop(bytes.drain(between(from, to, length))),
            Harm::Repeat(from, to) => {
                let range = between(from, to, length);
                let again = bytes[range.clone()].to_vec();
                bytes.splice(range.start..range.start, again);
            }
            Harm::Fill(at, byte, count) => {
                let at = at.index(length);
                let end = (at + count).min(length);
                bytes[at..end].fill(*byte);
            }
            Harm::Cut(at) => bytes.truncate(at.index(length)),
        }
    }
}

fn protocol() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(Protocol::Postgres), Just(Protocol::Mysql)]
}

/// A message that is framed as it should be, and holds anything.
fn framed(protocol: Protocol, first: u8, body: &[u8]) -> Vec<u8> {
    match protocol {
        Protocol::Postgres => [&[first], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat(),
        Protocol::Mysql => {
            let length = (body.len() as u32 + 1).to_le_bytes();
            [&length[..3], &[1, first], body].concat()
        }
    }
}

/// The first byte of a message: one that means something, or any.
fn first_byte() -> impl Strategy<Value = u8> {
    let known = *b"RSKZNCTDE123IGAWnt\0\x01\xfb\xfc\xfd\xfe\xff";
    prop_oneof![proptest::sample::select(known.to_vec()), any::<u8>()]
}

/// Messages by their first bytes and the rest.
fn messages() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    vec((first_byte(), vec(any::<u8>(), 0..60)), 0..12)
}

/// Messages that hold anything, maybe after those that let the client in.
fn said(protocol: Protocol, login: Option<&[Vec<u8>]>, messages: Vec<(u8, Vec<u8>)>) -> Vec<u8> {
    let mut says = login.unwrap_or_default().concat();
    for (first, body) in messages {
        says.extend(framed(protocol, first, &body));
    }
    says
}

/// A record of TLS: what it is of, and what it holds.
fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind, 3, 3], &(body.len() as u16).to_be_bytes()[..], body].concat()
}

/// What may come in place of a handshake: anything, records that hold anything, and messages of a
/// handshake that do.
fn no_handshake() -> impl Strategy<Value = Vec<u8>> {
    const HANDSHAKE: u8 = 22;
    let body = || vec(any::<u8>(), 0..60);
    let records =
        (prop_oneof![20..24u8, any::<u8>()], body()).prop_map(|(kind, body)| record(kind, &body));
    // Hello, ticket, extensions, certificate, its signature, finished and the like.
    let kinds = proptest::sample::select(vec![0u8, 1, 2, 4, 8, 11, 12, 13, 14, 15, 20, 22, 24]);
    let messages = (kinds, body()).prop_map(|(kind, body)| {
        let head = [kind, 0, 0, body.len() as u8];
        record(HANDSHAKE, &[&head[..], &body].concat())
    });
    let records = vec(prop_oneof![records, messages], 0..12).prop_map(|records| records.concat());
    prop_oneof![vec(any::<u8>(), 0..600), records]
}

fn config() -> ProptestConfig {
    // A case that failed is told whole, and becomes a test of its own below.
    // The cases are the same each time; looking for others is the work of fuzz/.
    let rng_seed = RngSeed::Fixed(42);
    ProptestConfig { failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

#[test]
fn an_honest_server_is_understood() {
    for (protocol, rows) in [(Protocol::Postgres, 2), (Protocol::Mysql, 2)] {
        let answers = survives(protocol, &honest(protocol).concat());
        let counts: Vec<u64> = answers.into_iter().map(|(_, answer)| answer.unwrap()).collect();
        assert_eq!(counts, [0, 3, 2, 1, rows], "{protocol:?}");
    }
}

#[test]
fn an_answer_is_the_same_in_whatever_pieces_it_comes() {
    for protocol in [Protocol::Postgres, Protocol::Mysql] {
        for size in [1, 3, 11, 64] {
            let answers = converse_in_pieces(protocol, &honest(protocol).concat(), size);
            let counts: Vec<u64> = answers.into_iter().map(|(_, answer)| answer.unwrap()).collect();
            assert_eq!(counts, [0, 3, 2, 1, 2], "{protocol:?} in pieces of {size}");
        }
    }
}

#[test]
fn a_conversation_that_ends_anywhere_ends_with_that() {
    for protocol in [Protocol::Postgres, Protocol::Mysql] {
        let whole = honest(protocol).concat();
        for length in 0..whole.len() {
            let answers = survives(protocol, &whole[..length]);
            let last = &answers.last().unwrap().1;
            let error = last.as_ref().expect_err("the end is missing");
            assert!(error.is_disconnect(), "{protocol:?} cut after {length}: {error}");
        }
    }
}

#[test]
fn an_honest_server_behind_tls_is_understood_and_one_that_dies_is_gone() {
    for protocol in [Protocol::Postgres, Protocol::Mysql] {
        let messages = honest(protocol).split_off(in_clear(protocol));
        for count in 0..=messages.len() {
            let says = messages[..count].concat();
            let mut answers = survives_behind_tls(protocol, Handshake::Honest, &says);
            if count < messages.len() {
                let error = answers.pop().unwrap().1.expect_err("the end is missing");
                assert!(error.is_disconnect(), "{protocol:?} cut after {count}: {error}");
                continue;
            }
            let counts: Vec<u64> = answers.into_iter().map(|(_, answer)| answer.unwrap()).collect();
            assert_eq!(counts, [0, 3, 2, 1, 2], "{protocol:?}");
        }
    }
}

#[test]
fn an_error_in_place_of_any_message_is_an_error() {
    for protocol in [Protocol::Postgres, Protocol::Mysql] {
        let messages = honest(protocol);
        for at in 0..messages.len() {
            let mut changed = messages.clone();
            changed[at] = refusal(protocol);
            let answers = survives(protocol, &changed.concat());
            assert!(answers.iter().any(|(_, answer)| answer.is_err()), "{protocol:?}, {at}");
        }
    }
}

#[test]
fn a_salt_of_any_length_may_be_told() {
    let honest = honest(Protocol::Mysql).concat();
    let told = honest.iter().position(|byte| *byte == 0x15).unwrap();
    for length in 0..=u8::MAX {
        let mut says = honest.clone();
        says[told] = length;
        survives(Protocol::Mysql, &says);
    }
}

#[test]
fn counts_may_be_as_large_as_they_can_be_told() {
    let login = honest(Protocol::Mysql)[..2].concat();
    // The high half of the capabilities, without the one that leaves out what ends the columns.
    let mut old = login.clone();
    let high = old.windows(3).position(|bytes| bytes == [0xff, 0xc7, 0x15]).unwrap();
    old[high + 1] = 0xc6;
    let largest = [&[0xfe][..], &[0xff; 8]].concat();
    let columns = framed(Protocol::Mysql, 0xfe, &[0xff; 8]);
    // So many rows changed, and another result follows.
    let changed = framed(Protocol::Mysql, 0, &[&largest[..], &[0, 8, 0, 0, 0]].concat());
    for login in [login, old] {
        survives(Protocol::Mysql, &[&login[..], &columns].concat());
        survives(Protocol::Mysql, &[&login[..], &changed, &changed].concat());
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn anything_at_all_may_be_said(protocol in protocol(), says in vec(any::<u8>(), 0..600)) {
        survives(protocol, &says);
    }

    #[test]
    fn anything_may_be_said_after_the_login(
        protocol in protocol(),
        says in vec(any::<u8>(), 0..600),
    ) {
        let login = honest(protocol)[..login(protocol)].concat();
        survives(protocol, &[login, says].concat());
    }

    #[test]
    fn any_messages_may_come_in_any_order(
        protocol in protocol(),
        lets_in in any::<bool>(),
        messages in messages(),
    ) {
        let honest = honest(protocol);
        let login = lets_in.then_some(&honest[..login(protocol)]);
        survives(protocol, &said(protocol, login, messages));
    }

    #[test]
    fn any_harm_may_come_to_an_honest_conversation(
        protocol in protocol(),
        harms in vec(harm(), 1..6),
    ) {
        let mut says = honest(protocol).concat();
        harms.iter().for_each(|harm| harm.done_to(&mut says));
        survives(protocol, &says);
    }

    #[test]
    fn any_message_may_be_missing_doubled_or_early(
        protocol in protocol(),
        order in vec(any::<Index>(), 0..30),
    ) {
        let messages = honest(protocol);
        let says: Vec<u8> = order.iter().flat_map(|at| at.get(&messages).clone()).collect();
        survives(protocol, &says);
    }

    #[test]
    fn anything_may_come_instead_of_a_handshake(
        protocol in protocol(),
        says in no_handshake(),
    ) {
        let answers = survives_behind_tls(protocol, Handshake::Missing, &says);
        assert!(matches!(&answers[..], [("connect", Err(_))]), "{answers:?}");
    }

    #[test]
    fn any_messages_may_come_in_any_order_behind_tls(
        protocol in protocol(),
        lets_in in any::<bool>(),
        messages in messages(),
    ) {
        let honest = honest(protocol);
        let login = lets_in.then_some(&honest[in_clear(protocol)..login(protocol)]);
        let says = said(protocol, login, messages);
        survives_behind_tls(protocol, Handshake::Honest, &says);
    }

    #[test]
    fn any_harm_may_come_to_an_honest_conversation_behind_tls(
        protocol in protocol(),
        harms in vec(harm(), 1..6),
    ) {
        let mut says = honest(protocol)[in_clear(protocol)..].concat();
        harms.iter().for_each(|harm| harm.done_to(&mut says));
        survives_behind_tls(protocol, Handshake::Honest, &says);
    }
}
