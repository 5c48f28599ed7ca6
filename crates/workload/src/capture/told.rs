//! What a reader must know of a source.

pub(super) type Told = String;

/// What a log leaves out that has no execution shorter than this.
pub(super) fn shortest(seconds: f64) -> Option<Told> {
    (seconds >= 1e-3).then(|| {
        format!(
            "the shortest execution took {:.1} ms: shorter ones may not be in the log, and shares \
             leave them out",
            seconds * 1e3
        )
    })
}
