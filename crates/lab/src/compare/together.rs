//! The same work for several arms side by side.

use std::panic::resume_unwind;
use std::thread;

/// Does it for all at the same time; the results are in their order.
pub(super) fn together<T: Send, R: Send>(
    all: impl IntoIterator<Item = T>,
    each: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let each = &each;
    thread::scope(|scope| {
        let begun: Vec<_> = all.into_iter().map(|one| scope.spawn(move || each(one))).collect();
        let ended = begun.into_iter().map(|one| one.join());
        ended.map(|one| one.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn all_are_at_work_at_once_and_results_are_in_order() {
        let all_are_there = Barrier::new(3);
        let doubled = together([1, 2, 3], |number| {
            all_are_there.wait();
            2 * number
        });
        assert_eq!(doubled, [2, 4, 6]);
    }
}
