//! Whether the client is what was measured.

use crate::window::Window;

/// From this share on the client is the bottleneck: a DBMS that takes no time would at most double
/// the rate, so its differences show at less than half of their size.
pub const BOTTLENECK: f64 = 0.5;

/// The client's CPU as a share of the client's and the DBMS's together. None where they share a
/// process, or nothing was used.
pub fn client_share(window: &Window) -> Option<f64> {
    let client = window.client_cpu()? as f64;
    let both = client + window.server_cpu()? as f64;
    (both > 0.0).then(|| client / both)
}

/// The client's CPU as a share of the time in which its threads could have run: of the length of
/// the window times the clients, or times the CPUs if there are fewer.
///
/// In a closed loop with fewer clients than CPUs that is the part of each operation in which the
/// DBMS waits for its client; with more clients and all CPUs busy it is the part of the machine
/// that the DBMS does not get. Either way 1 / share bounds how much faster a DBMS that takes no
/// time could be.
pub fn client_busy(window: &Window, clients: u32) -> Option<f64> {
    let client = window.client_cpu()? as f64;
    let could_run = window.seconds * 1e6 * f64::from(clients.min(window.cpus));
    (could_run > 0.0).then(|| client / could_run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(client: u64, server: u64) -> Window<'static> {
        Window {
            seconds: 10.0,
            cpus: 4,
            client_cpu_user: Some(client * 600_000),
            client_cpu_system: Some(client * 400_000),
            server_cpu_user: Some(server * 1_000_000),
            server_cpu_system: Some(0),
            ..Window::default()
        }
    }

    #[test]
    fn one_client_is_held_against_its_connection_time() {
        assert_eq!(client_busy(&window(6, 3), 1), Some(0.6));
        assert_eq!(client_busy(&window(6, 3), 2), Some(0.3));
        assert_eq!(client_share(&window(6, 2)), Some(0.75));
    }

    #[test]
    fn many_clients_are_held_against_the_machine() {
        assert_eq!(client_busy(&window(10, 30), 40), Some(0.25));
    }

    #[test]
    fn a_client_inside_the_dbms_is_not_told_apart() {
        let inside = Window { client_cpu_user: None, ..window(6, 3) };
        assert_eq!((client_share(&inside), client_busy(&inside, 1)), (None, None));
        assert_eq!(client_share(&window(0, 0)), None);
    }
}
