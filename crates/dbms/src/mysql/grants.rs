//! The rights of an account on a database, from the result of `show grants`.

/// Rights for the work of a workload, and for finding objects of others in a database.
const NEEDED: [&str; 11] = [
    "ALTER", "CREATE", "DELETE", "DROP", "EVENT", "EXECUTE", "INDEX", "INSERT", "SELECT",
    "TRIGGER", "UPDATE",
];

/// The rights that a database needs and these grants lack.
pub(super) fn missing(grants: &[String], database: &str) -> Vec<&'static str> {
    let mut has = [false; NEEDED.len()];
    for grant in grants {
        let (gives, rest) = match (grant.strip_prefix("GRANT "), grant.strip_prefix("REVOKE ")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => continue,
        };
        // The grant of a role has no ON.
        let Some((rights, scope)) = rest.split_once(" ON ") else { continue };
        let end = if gives { " TO " } else { " FROM " };
        let scope = scope.split(end).next().unwrap_or_default();
        if !covers(scope.trim(), database) {
            continue;
        }
        let names: Vec<&str> = rights.split(',').map(str::trim).collect();
        let is_all = names.iter().any(|name| matches!(*name, "ALL" | "ALL PRIVILEGES"));
        for (needed, has) in NEEDED.iter().zip(&mut has) {
            if is_all || names.contains(needed) {
                *has = gives;
            }
        }
    }
    NEEDED.iter().zip(has).filter(|(_, has)| !has).map(|(name, _)| *name).collect()
}

/// Whether a scope such as `` `rq%`.* `` covers all of a database.
fn covers(scope: &str, database: &str) -> bool {
    let Some(pattern) = scope.strip_suffix(".*") else { return false };
    let pattern = pattern.trim_matches('`').replace("``", "`");
    pattern == "*" || is_like(pattern.as_bytes(), database.as_bytes())
}

/// SQL's LIKE with `\` as the escape character.
fn is_like(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], text) => text.is_empty(),
        ([b'%', rest @ ..], text) => (0..=text.len()).any(|skip| is_like(rest, &text[skip..])),
        ([b'_', rest @ ..], [_, text @ ..]) => is_like(rest, text),
        ([b'\\', plain, rest @ ..], [first, text @ ..]) => plain == first && is_like(rest, text),
        ([plain, rest @ ..], [first, text @ ..]) => plain == first && is_like(rest, text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::missing;

    fn lacks(grants: &[&str]) -> usize {
        let grants: Vec<String> = grants.iter().map(|grant| grant.to_string()).collect();
        missing(&grants, "rqps").len()
    }

    #[test]
    fn rights_come_from_the_server_the_database_and_patterns_of_its_name() {
        let usage = "GRANT USAGE ON *.* TO `lim`@`%`";
        for grant in [
            "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",
            "GRANT ALL PRIVILEGES ON `rqps`.* TO 'lim'@'%'",
            "GRANT ALL PRIVILEGES ON `rq%`.* TO `lim`@`%`",
            "GRANT ALL PRIVILEGES ON `r_ps`.* TO `lim`@`%`",
        ] {
            assert_eq!(lacks(&[usage, grant]), 0, "{grant}");
        }
        for grant in [
            "GRANT ALL PRIVILEGES ON `rqps`.`one` TO `lim`@`%`",
            "GRANT ALL PRIVILEGES ON `rqps2`.* TO `lim`@`%`",
            r"GRANT ALL PRIVILEGES ON `r\_ps`.* TO `lim`@`%`",
            "GRANT `rqps_role`@`%` TO `lim`@`%`",
        ] {
            assert_eq!(lacks(&[usage, grant]), 11, "{grant}");
        }
    }

    #[test]
    fn each_missing_right_is_named_also_one_that_was_taken_back() {
        let grants = [
            "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER ON *.* TO `a`@`%`",
            "GRANT EVENT, TRIGGER ON `rqps`.* TO `a`@`%`",
            "REVOKE DROP ON `rqps`.* FROM `a`@`%`",
        ];
        let grants: Vec<String> = grants.iter().map(|grant| grant.to_string()).collect();
        assert_eq!(missing(&grants, "rqps"), ["DROP", "EXECUTE"]);
    }
}
