//! Kubernetes: an indexed Job for each machine entry, as a manifest that is written and shown, but
//! not applied.

use rqps_plan::Span;
use serde_json::{Value, json};

use crate::file::{KubernetesOptions, MachineEntry};
use crate::quote::yaml;
use crate::submission::Submission;

/// Where a container finds the folder of the fleet, and `RQPS_HOME`.
const FLEET: &str = "/fleet";
const HOME: &str = "/rqps-home";
/// The lock of the host: two pods with locks of their own would measure each other.
const LOCKS: &str = "/run/lock";

/// Pods with this label are kept apart.
const LABEL: &str = "rqps-cell";

/// Seconds for an orderly end.
const GRACE: u64 = 120;

/// The exit code of a cell that can never be run.
const REFUSED: u8 = 2;

/// The manifest of the cells of a submission.
pub fn manifest(
    hash: &str,
    options: &KubernetesOptions,
    (machine, submission): (&MachineEntry, &Submission),
    (limit, attempts): (Span, u32),
) -> String {
    yaml(&job(hash, options, (machine, submission), (limit, attempts)))
}

fn job(
    hash: &str,
    options: &KubernetesOptions,
    (machine, submission): (&MachineEntry, &Submission),
    (limit, attempts): (Span, u32),
) -> Value {
    let mut metadata = json!({
        "name": format!("rqps-{}", submission.id.to_lowercase()),
        "annotations": { "rqps/machine": machine.name, "rqps/fleet": hash },
    });
    if let Some(namespace) = &options.namespace {
        metadata["namespace"] = json!(namespace);
    }
    let seconds = limit.0.as_secs().max(1) + GRACE;
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completionMode": "Indexed",
            "completions": submission.cells.len(),
            "parallelism": machine.count,
            "backoffLimitPerIndex": attempts.saturating_sub(1),
            // Otherwise a pod starts while the one before it is ending.
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": { "rules": [
                {
                    "action": "FailIndex",
                    "onExitCodes": {
                        "containerName": "cell",
                        "operator": "In",
                        "values": [REFUSED],
                    },
                },
                {
                    "action": "Ignore",
                    "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }],
                },
            ] },
            "template": {
                "metadata": { "labels": { "app": LABEL } },
                "spec": pod(hash, options, machine, (submission, seconds)),
            },
        },
    })
}

fn pod(
    hash: &str,
    options: &KubernetesOptions,
    machine: &MachineEntry,
    (submission, seconds): (&Submission, u64),
) -> Value {
    let resources = json!({ "cpu": options.cpus.to_string(), "memory": options.memory });
    let command =
        [&*options.rqps, "fleet", "cell", FLEET, "--of", &*submission.id, "--fleet", hash];
    let mount = |name: &str, path: &str| json!({ "name": name, "mountPath": path });
    let mut pod = json!({
        "restartPolicy": "Never",
        "activeDeadlineSeconds": seconds,
        "terminationGracePeriodSeconds": GRACE,
        "affinity": { "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{
                "labelSelector": { "matchLabels": { "app": LABEL } },
                "topologyKey": "kubernetes.io/hostname",
            }],
        } },
        "containers": [{
            "name": "cell",
            "image": options.image,
            "command": command,
            "env": [{ "name": "RQPS_HOME", "value": HOME }],
            // Equal ones: the pod gets whole CPUs for itself where the node allows it.
            "resources": { "requests": resources, "limits": resources },
            "volumeMounts": [mount("fleet", FLEET), mount("home", HOME), mount("locks", LOCKS)],
        }],
        "volumes": [
            { "name": "fleet", "persistentVolumeClaim": { "claimName": options.claim } },
            {
                "name": "home",
                "hostPath": { "path": options.home, "type": "DirectoryOrCreate" },
            },
            { "name": "locks", "hostPath": { "path": LOCKS, "type": "Directory" } },
        ],
    });
    if !machine.node_selector.is_empty() {
        pod["nodeSelector"] = json!(machine.node_selector);
    }
    pod
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{FleetFile, Scheduler};

    /// The fields that are used, as the API of Kubernetes 1.33 describes them, and no others.
    const SCHEMA: &str = include_str!("../tests/job.schema.json");

    fn file(image: &str, selector: &str) -> FleetFile {
        let text = format!(
            "plan = 'p'\n[on.kubernetes]\nimage = {image}\nrqps = '/usr/bin/rqps'\n\
             home = '/mnt/rqps'\nclaim = 'fleet'\ncpus = 4\nmemory = '16Gi'\nnamespace = 'bench'\n\
             [[machine]]\nname = 'arm'\ncount = 2\nnode-selector = {selector}\n"
        );
        FleetFile::parse(&text).unwrap()
    }

    fn made(file: &FleetFile) -> String {
        let Scheduler::Kubernetes(options) = &file.on else { panic!() };
        let submission = Submission {
            id: "20261128T010000-7-0".to_string(),
            machine: "arm".to_string(),
            cells: ["a", "b", "c"].map(str::to_string).to_vec(),
            command: String::new(),
            job: None,
        };
        let machine = file.machines().next().unwrap();
        manifest("abc", options, (machine, &submission), ("2h".parse().unwrap(), 3))
    }

    #[test]
    fn a_manifest_is_what_the_api_takes() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let file = file("'registry.example/rqps:1'", "{ 'kubernetes.io/arch' = 'arm64' }");
        let job: Value = serde_saphyr::from_str(&made(&file)).unwrap();
        let errors: Vec<String> = validator.iter_errors(&job).map(|it| it.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        assert_eq!(job["spec"]["completions"], 3);
        assert_eq!(job["spec"]["parallelism"], 2);
        assert_eq!(job["spec"]["template"]["spec"]["activeDeadlineSeconds"], 7_320);
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["resources"]["requests"], container["resources"]["limits"]);
        // The schema finds what is wrong.
        let mut wrong = job.clone();
        wrong["spec"]["template"]["spec"]["restartPolicy"] = json!("Sometimes");
        assert!(!validator.is_valid(&wrong));
        let mut wrong = job.clone();
        wrong["spec"]["podReplacementPolcy"] = json!("Failed");
        assert!(!validator.is_valid(&wrong));
    }

    #[test]
    fn no_value_becomes_a_field() {
        let image = "\"a: b # c\\\"'{{}} !tag\"";
        let file = file(image, "{ 'no' = 'on', '1' = '0x10', 'a: b' = '*x' }");
        let text = made(&file);
        let job: Value = serde_saphyr::from_str(&text).unwrap();
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["containers"][0]["image"], "a: b # c\"'{{}} !tag");
        assert_eq!(pod["nodeSelector"], json!({ "no": "on", "1": "0x10", "a: b": "*x" }), "{text}");
    }
}
