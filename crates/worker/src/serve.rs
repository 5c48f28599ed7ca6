//! The process as a server: it opens a database, and answers on a Unix socket until told to end.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::thread;

use rqps_wire::rocksdb::{HEAD, answered, length};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use crate::database::Database;
use crate::session::Session;
use crate::settings::OpenSettings;
use crate::shared::Shared;
use crate::writer::OneWriter;
use crate::{WorkerError, library};

/// Where a database is, and where it is asked.
#[derive(Clone, Debug)]
pub struct Service {
    pub library: PathBuf,
    pub settings: Vec<(String, String)>,
    pub data: PathBuf,
    pub socket: PathBuf,
}

/// Serves until SIGTERM, and closes the database then.
pub fn serve(service: Service) -> Result<(), WorkerError> {
    let Service { library, settings, data: folder, socket } = service;
    let at = |source| WorkerError::File { path: socket.clone(), source };
    let mut signals = Signals::new([SIGTERM]).map_err(at)?;
    // What is refused is refused before anything is loaded.
    let (settings, functions) = (OpenSettings::new(settings)?, library::load(&library)?);
    let database = RwLock::new(Some(Database::open(functions, &folder, &settings)?));
    let (counted, serving, at_work) = Default::default();
    let shared = Shared { functions, folder, settings, database, counted, serving, at_work };
    let shared = Arc::new(shared);
    // Clients find a socket only when there is a database behind it.
    let listener = UnixListener::bind(&socket).map_err(at)?;
    let serving = shared.clone();
    thread::spawn(move || accept(&listener, &serving));
    signals.forever().next();
    shared.close();
    Ok(())
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    let writer = Arc::new(OneWriter::default());
    for stream in listener.incoming().flatten() {
        let (shared, writer) = (shared.clone(), writer.clone());
        thread::spawn(move || {
            // A client that has gone is no error.
            let _ = converse(stream, &shared, &writer);
        });
    }
}

/// Answers a client until it closes the connection.
fn converse(mut stream: UnixStream, shared: &Arc<Shared>, writer: &OneWriter) -> io::Result<()> {
    let mut session = Session::new(shared, writer);
    let mut request = Vec::new();
    loop {
        let mut head = [0; HEAD];
        stream.read_exact(&mut head)?;
        let length = length(head).ok_or(io::ErrorKind::InvalidData)?;
        request.resize(length, 0);
        stream.read_exact(&mut request)?;
        let answer = session.answer(&String::from_utf8_lossy(&request));
        stream.write_all(&answered(&answer.map_err(|error| error.to_string())))?;
    }
}
