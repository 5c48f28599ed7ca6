//! Which scripts are in Lua, where nothing can end them: not in a call of the server, which can be
//! cancelled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

static ALL: Mutex<Vec<Weak<AtomicBool>>> = Mutex::new(Vec::new());

/// Whether the script of one state is in Lua.
#[derive(Clone, Debug)]
pub(super) struct InLua(Arc<AtomicBool>);

impl InLua {
    pub(super) fn new() -> InLua {
        let flag = Arc::new(AtomicBool::new(false));
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&flag));
        InLua(flag)
    }

    /// Runs something of the script.
    pub(super) fn inside<R>(&self, run: impl FnOnce() -> R) -> R {
        self.during(true, run)
    }

    /// Asks the server for something.
    pub(super) fn outside<R>(&self, ask: impl FnOnce() -> R) -> R {
        self.during(false, ask)
    }

    fn during<R>(&self, is_inside: bool, run: impl FnOnce() -> R) -> R {
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(is_inside, Ordering::Relaxed);
        let done = run();
        self.0.store(before, Ordering::Relaxed);
        done
    }
}

/// Whether any script is in Lua now.
pub fn is_in_lua() -> bool {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().filter_map(Weak::upgrade).any(|flag| flag.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_asks_a_server_is_not_in_lua_meanwhile() {
        let script = InLua::new();
        let is_in = || script.0.load(Ordering::Relaxed);
        let seen = script.inside(|| (is_in(), script.outside(is_in), is_in()));
        assert_eq!((seen, is_in()), ((true, false, true), false));
    }
}
