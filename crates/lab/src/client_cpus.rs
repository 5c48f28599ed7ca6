//! Where clients run if contenders have CPUs of their own (`process.cpus`): on those that none has,
//! alike for all contenders. A contender without any may use all CPUs, since nobody has said which.

use rqps_observe::{Placement, allowed_cpus, pin_thread};
use rqps_plan::Plan;

use crate::Event;
use crate::error::LabError;
use crate::lab::Lab;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClientCpus {
    /// No contender has CPUs of its own, so that comparisons choose those of clients and servers.
    WithServers,
    /// No contender has these.
    Apart(Vec<usize>),
    /// Contenders have all of them.
    NoneLeft,
}

impl ClientCpus {
    pub(crate) fn of(plan: &Plan) -> Result<ClientCpus, LabError> {
        let own: Vec<usize> = plan.contenders.iter().flat_map(rqps_dbms::own_cpus).collect();
        Ok(beside(&own, &allowed_cpus().map_err(LabError::Placement)?))
    }

    /// What readers must know of measurements.
    pub(crate) fn note(&self) -> Option<String> {
        match self {
            ClientCpus::NoneLeft => Some(
                "contenders have all CPUs that rqps may use, so that clients have none of their own"
                    .to_string(),
            ),
            _ => None,
        }
    }

    /// Tells the user what readers must know.
    pub(crate) fn tell(&self, lab: &mut Lab<'_>, contender: &str) {
        if let Some(note) = self.note() {
            let (contender, step) = (contender.to_string(), "CPUs".to_string());
            (lab.watch)(Event::Noted { contender, step, note });
        }
    }

    /// Places the clients that this thread starts from now on, however many they are.
    pub(crate) fn pin(&self) -> Result<Option<Placement>, LabError> {
        match self {
            ClientCpus::Apart(cpus) => pin_thread(cpus).map(Some).map_err(LabError::Placement),
            _ => Ok(None),
        }
    }
}

fn beside(own: &[usize], allowed: &[usize]) -> ClientCpus {
    let left: Vec<usize> = allowed.iter().filter(|cpu| !own.contains(cpu)).copied().collect();
    match (own.is_empty(), left.is_empty()) {
        (true, _) => ClientCpus::WithServers,
        (false, true) => ClientCpus::NoneLeft,
        (false, false) => ClientCpus::Apart(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_the_cpus_that_no_contender_has() {
        assert_eq!(beside(&[], &[0, 1]), ClientCpus::WithServers);
        assert_eq!(beside(&[0, 2, 0], &[0, 1, 2, 3]), ClientCpus::Apart(vec![1, 3]));
        let none = beside(&[1, 0], &[0, 1]);
        assert_eq!(none, ClientCpus::NoneLeft);
        assert!(none.note().is_some() && beside(&[0], &[0, 1]).note().is_none());
    }
}
