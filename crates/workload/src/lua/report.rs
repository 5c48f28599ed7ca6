//! Reports of a script's own: a Lua state beside those of the clients, whose hooks get the figures.

use rqps_wire::Error;

use super::client::LuaClient;
use super::options::ScriptOptions;
use super::state::StateSettings;

pub struct ReportHooks {
    client: LuaClient,
    intermediate: bool,
    cumulative: bool,
}

const INTERMEDIATE: &str = "report_intermediate";
const CUMULATIVE: &str = "report_cumulative";

impl ReportHooks {
    /// The hooks of a script; also runs its `init`, in the same state.
    pub fn new(settings: &StateSettings, options: &ScriptOptions) -> Result<ReportHooks, Error> {
        let client = LuaClient::load(settings, options, 0, [3, 4])?;
        client.state().call("init")?;
        let (intermediate, cumulative) =
            (client.state().has_hook(INTERMEDIATE), client.state().has_hook(CUMULATIVE));
        Ok(ReportHooks { client, intermediate, cumulative })
    }

    /// Whether the script reports this itself.
    pub fn takes(&self, is_last: bool) -> bool {
        if is_last { self.cumulative } else { self.intermediate }
    }

    pub fn report(&self, is_last: bool, figures: &[(&str, f64)]) -> Result<(), Error> {
        let hook = if is_last { CUMULATIVE } else { INTERMEDIATE };
        self.client.state().report(hook, figures)
    }

    /// Runs the script's `done`.
    pub fn end(self) -> Result<(), Error> {
        self.client.state().end_reports();
        self.client.state().call("done")
    }
}
