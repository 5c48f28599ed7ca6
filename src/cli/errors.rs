//! What is told of an error.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{output, slips};

/// Tells of an error on stderr, with what was meant where that is known.
pub(super) fn tell(error: &anyhow::Error) {
    let meant = slips::suggestion(error).map_or(String::new(), |meant| format!("; {meant}"));
    output::note(&format!("error: {}{meant}", output::told(error)));
}

/// What clap finds wrong, in one line.
pub(super) fn refusal(error: &clap::Error) -> String {
    let mut text = error.to_string();
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.as_str(),
        _ => "",
    };
    if value.contains('\n') {
        text = text.replace(value, &value.escape_debug().to_string());
    }
    let line = text.lines().next().unwrap_or("error: a wrong value");
    match (error.get(ContextKind::ValidValue), slips::build_meant(value)) {
        (Some(ContextValue::Strings(allowed)), _) if !allowed.is_empty() => {
            format!("{line}: there are: {}", allowed.join(", "))
        }
        // Such as `rqps pgbench -h`, which is the host.
        _ if error.kind() == ErrorKind::InvalidValue => {
            format!("{line}. Write it, or see --help")
        }
        (_, Some(meant)) => format!("{line}; {meant}"),
        _ => line.to_string(),
    }
}
