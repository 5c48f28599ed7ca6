//! Tables on stdout.

use comfy_table::Table;
use comfy_table::presets::NOTHING;

/// A table without lines.
pub(super) fn table(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(heads);
    table
}
