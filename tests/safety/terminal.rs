//! Foreign text on its way to a terminal.
