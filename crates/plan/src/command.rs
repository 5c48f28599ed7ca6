//! The command line of a comparison, quoted for a shell.

use crate::cache::Cache;
use crate::comparison::Comparison;
use crate::contender::Contender;
use crate::method::Method;
use crate::plan_file::Plan;

impl Plan {
    /// The command that repeats a test of baseline and contender as in this comparison, with its
    /// own loads. If steps build on each other, it has all of them. None if the plan is not a
    /// comparison.
    pub fn command_of(&self, contender: &Contender, test: &str) -> Option<String> {
        let comparison = self.comparison()?;
        let of = &comparison.of;
        let mut words = vec!["rqps".to_string(), "compare".to_string()];
        words.extend([self.contenders.first()?, contender].map(Contender::to_string));
        let mut flag = |name: &str, value: String| {
            words.push(format!("--{name}"));
            words.extend(Some(value).filter(|value| !value.is_empty()));
        };
        of.flags(test).into_iter().for_each(|(name, value)| flag(name, value));
        let usual = Comparison::new(of.clone());
        if !of.is_chain() && comparison.method_of(test) == Method::Runs {
            flag("method", Method::Runs.to_string());
        }
        if of.most_clients() != 1 {
            flag("clients", of.most_clients().to_string());
        }
        if comparison.slice != usual.slice {
            flag("slice", comparison.slice.to_string());
        }
        if let Some(margin) = comparison.margin {
            flag("margin", format!("{}%", 100.0 * margin));
        }
        if let Some(memory) = self.memory {
            flag("memory", memory.to_string());
        }
        if self.seed != 1 {
            flag("seed", self.seed.to_string());
        }
        if self.cache == Some(Cache::IoBound) {
            words.push("--io-bound".to_string());
        }
        if !of.is_checked() {
            words.push("--no-check".to_string());
        }
        let quoter = shlex::Quoter::new().allow_nul(true);
        Some(quoter.join(words.iter().map(String::as_str)).expect("NUL is allowed"))
    }
}
