//! Lifts the timeouts of a server, which may end the statement that lifts them.

use crate::{Connection, Error};

/// How often a statement may be ended before that is an error.
const STRIKES: usize = 10;

/// The codes of statements that a timeout has ended, as they begin: Postgres, MariaDB, MySQL.
const TIMED_OUT: [&str; 3] = ["57014", "1969", "3024"];

/// Runs a statement that lifts timeouts. They hold until it has ended, so on a busy machine they
/// may end it; Postgres calls that a user request if they were lifted a moment ago.
pub fn lift(connection: &mut dyn Connection, sql: &str) -> Result<(), Error> {
    repeated(|| connection.run(sql).map(drop))
}

fn repeated(mut run: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let mut strikes = 0;
    loop {
        match run() {
            Err(Error::Server { code, .. })
                if TIMED_OUT.iter().any(|it| code.starts_with(it)) && strikes < STRIKES =>
            {
                strikes += 1;
            }
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorClass;

    #[test]
    fn only_a_timeout_is_a_reason_to_try_again_and_not_for_ever() {
        let tries = |code: &str, ended: usize| {
            let mut tries = 0;
            let done = repeated(|| {
                tries += 1;
                let (code, message) = (code.to_string(), String::new());
                let error = Error::Server { code, message, class: ErrorClass::Stop };
                if tries > ended { Ok(()) } else { Err(error) }
            });
            (tries, done.is_ok())
        };
        for code in ["57014", "1969, 70100", "3024, HY000"] {
            assert_eq!(tries(code, 3), (4, true), "{code}");
            assert_eq!(tries(code, 99), (STRIKES + 1, false), "{code}");
        }
        assert_eq!(tries("1193, HY000", 3), (1, false));
    }
}
