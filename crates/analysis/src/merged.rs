//! What a reader must know about merged runs, and where each was made.

use rqps_store::{Manifest, Run};

/// The merged runs by name; the run itself, without a name, if nothing was merged.
pub fn origins(run: &Run) -> Vec<(&str, &Manifest)> {
    match run.parts.as_slice() {
        [] => vec![("", &run.manifest)],
        parts => parts.iter().map(|part| (part.name.as_str(), &part.manifest)).collect(),
    }
}

/// `a host with 2 CPUs`, or the CPUs of each machine in the order of the runs.
pub fn cpus(run: &Run) -> String {
    let mut cpus: Vec<u32> = origins(run).iter().map(|(_, manifest)| manifest.cpus).collect();
    cpus.dedup();
    match cpus.as_slice() {
        [cpus] => format!("a host with {cpus} CPUs"),
        several => {
            let several: Vec<String> = several.iter().map(u32::to_string).collect();
            format!("hosts with {} CPUs", several.join(", "))
        }
    }
}

/// What differs between runs that were merged by force.
pub fn not_comparable(run: &Run) -> Option<String> {
    let differences: Vec<String> = run.differences.iter().map(ToString::to_string).collect();
    (!differences.is_empty()).then(|| {
        format!(
            "NOT COMPARABLE: the runs were merged with --force although these differ: {}",
            differences.join("; ")
        )
    })
}

/// Warnings on runs that are not comparable, or come from different machines or versions.
pub fn warnings(run: &Run) -> Vec<String> {
    let mut warnings = Vec::from_iter(not_comparable(run));
    if !same_machine(run) {
        warnings.push(
            "the runs were made on different machines, or with different settings of one machine. \
             See Environment"
                .to_string(),
        );
    }
    if !same(run, |manifest| &manifest.rqps_version) {
        warnings.push("the runs were made by different versions of rqps".to_string());
    }
    warnings
}

/// Whether a value is the same in all runs.
fn same<T: PartialEq>(run: &Run, of: impl Fn(&Manifest) -> &T) -> bool {
    let origins = origins(run);
    origins.iter().all(|(_, manifest)| of(manifest) == of(origins[0].1))
}

/// Whether no fact differs between runs. Another version of rqps may record more facts.
pub fn same_machine(run: &Run) -> bool {
    let origins = origins(run);
    let mut facts: Vec<&(String, String)> =
        origins.iter().flat_map(|(_, manifest)| &manifest.machine).collect();
    facts.sort();
    facts.dedup();
    facts.windows(2).all(|pair| pair[0].0 != pair[1].0)
}
