//! The terminal while something runs: a thread draws the live view, seldom, so that it does not
//! disturb measurements.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use console::{Term, measure_text_width};

use super::super::output::styled;

/// How often the clock and the progress are drawn.
const LOOK: Duration = Duration::from_secs(1);
/// The shortest time between two redraws.
const SHORTEST: Duration = Duration::from_millis(250);

pub(super) trait View: Send + 'static {
    /// Lines narrower than the width, and fewer than the height.
    fn lines(&self, width: usize, height: usize) -> Vec<String>;
}

/// Draws a view until it is dropped; then it is cleared.
pub(super) struct Screen<V: View> {
    shared: Arc<Shared<V>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared<V> {
    state: Mutex<State<V>>,
    changed: Condvar,
}

struct State<V> {
    view: V,
    term: Term,
    /// The lines on the terminal. The cursor is at the beginning of the line below, and is never
    /// hidden, so that a killed rqps leaves no half line.
    drawn: Vec<String>,
    is_changed: bool,
    is_over: bool,
}

impl<V: View> Screen<V> {
    pub(super) fn start(view: V) -> Self {
        let (term, drawn) = (Term::buffered_stderr(), Vec::new());
        let state = State { view, term, drawn, is_changed: true, is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let of_thread = shared.clone();
        // It is not bound to the CPU that its starter may be bound to later, to drive slices on it.
        let thread = std::thread::Builder::new().name("live-view".to_string());
        let thread = thread.spawn(move || of_thread.draw_until_over()).ok();
        Screen { shared, thread }
    }

    /// Changes the view; `change` answers whether to redraw before the next look.
    pub(super) fn update(&self, change: impl FnOnce(&mut V) -> bool) {
        let mut state = self.shared.lock();
        if change(&mut state.view) {
            state.is_changed = true;
            self.shared.changed.notify_one();
        }
    }

    /// A line that stays, above the view.
    pub(super) fn line(&self, text: &str) {
        self.shared.lock().draw(Some(text));
    }

    /// The same for other threads; it returns false once the screen is gone.
    pub(super) fn teller(&self) -> impl Fn(&str) -> bool + Send + use<V> {
        let shared = Arc::downgrade(&self.shared);
        move |text| shared.upgrade().map(|shared| shared.lock().draw(Some(text))).is_some()
    }
}

impl<V: View> Drop for Screen<V> {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // If it panicked, the measurements still count.
            let _ = thread.join();
        }
        let mut state = self.shared.lock();
        // A terminal that is gone need not be cleared.
        let _ = state.clear().and_then(|()| state.term.flush());
    }
}

impl<V: View> Shared<V> {
    fn lock(&self) -> MutexGuard<'_, State<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw_until_over(&self) {
        let mut state = self.lock();
        while !state.is_over {
            state.is_changed = false;
            state.draw(None);
            let drawn = Instant::now();
            loop {
                let wait = if state.is_changed { SHORTEST } else { LOOK };
                let left = wait.saturating_sub(drawn.elapsed());
                if state.is_over || left.is_zero() {
                    break;
                }
                let woken = self.changed.wait_timeout(state, left);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

impl<V: View> State<V> {
    /// Draws the view again, below a line that stays.
    fn draw(&mut self, above: Option<&str>) {
        // A terminal that is gone shows nothing, and that is no error.
        let _ = self.try_draw(above);
    }

    fn try_draw(&mut self, above: Option<&str>) -> io::Result<()> {
        self.clear()?;
        if let Some(text) = above {
            self.term.write_line(&styled(text))?;
        }
        let (height, width) = self.term.size();
        let lines = self.view.lines(width.into(), height.into());
        self.drawn = lines.iter().map(|line| styled(line).into_owned()).collect();
        for line in &self.drawn {
            self.term.write_line(line)?;
        }
        self.term.flush()
    }

    /// Clears the view. A terminal that has become narrower since has wrapped its lines.
    fn clear(&mut self) -> io::Result<()> {
        let width = usize::from(self.term.size().1).max(1);
        let rows = |line: String| measure_text_width(&line).div_ceil(width).max(1);
        let rows = std::mem::take(&mut self.drawn).into_iter().map(rows).sum();
        // The line of the cursor may contain typed characters.
        self.term.clear_line()?;
        self.term.clear_last_lines(rows)
    }
}
