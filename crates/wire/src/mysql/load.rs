//! Loading rows: as a file that the server asks for, or as large inserts where it does not.

use crate::error::Error;
use crate::{Connection, scalar};

use super::packet::{HEAD, send_payload};
use super::{COM_QUERY, ERROR, LOCAL_INFILE, Mysql, server_error, unexpected};

/// Bytes of rows in one packet of a file, for servers whose longest packet is 64 KiB.
const CHUNK: usize = 60 << 10;
/// No insert is longer, even where the server allows it: sysbench's are half as long.
const LONGEST_INSERT: usize = 1 << 20;

/// How rows reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loading {
    File,
    /// Inserts of at most this number of bytes.
    Inserts(usize),
}

impl Mysql {
    pub(super) fn load_lines(
        &mut self,
        table: &str,
        columns: &[&str],
        lines: &[u8],
    ) -> Result<u64, Error> {
        let loading = match self.loading {
            Some(loading) => loading,
            None => self.ask_how_to_load()?,
        };
        match loading {
            Loading::File => self.load_as_file(table, columns, lines),
            Loading::Inserts(longest) => self.load_as_inserts(table, columns, lines, longest),
        }
    }

    fn ask_how_to_load(&mut self) -> Result<Loading, Error> {
        let number = |text: Option<String>| text.and_then(|text| text.parse::<usize>().ok());
        let loading = if number(scalar(self, "select @@local_infile")?) == Some(1) {
            Loading::File
        } else {
            let most = number(scalar(self, "select @@max_allowed_packet")?);
            // A packet must be shorter than the limit, and the command takes a byte of it.
            let most = most.map_or(LONGEST_INSERT, |most| most.saturating_sub(2));
            Loading::Inserts(most.min(LONGEST_INSERT))
        };
        self.loading = Some(loading);
        Ok(loading)
    }

    fn load_as_file(&mut self, table: &str, columns: &[&str], lines: &[u8]) -> Result<u64, Error> {
        let columns = columns.join(", ");
        // As bytes, so that the server need not parse multi-byte characters.
        let sql = format!(
            "load data local infile 'rows' into table {table} character set binary ({columns})"
        );
        self.socket.ask(&sql);
        self.begin(COM_QUERY);
        self.out.extend_from_slice(sql.as_bytes());
        self.send()?;
        let head = self.payload()?;
        match head.first() {
            Some(&LOCAL_INFILE) => {}
            Some(&ERROR) => return Err(server_error(head)),
            _ => return Err(unexpected(head)),
        }
        // The empty packet is the end of the file.
        for chunk in lines.chunks(CHUNK).chain([&[][..]]) {
            self.out.clear();
            self.out.resize(HEAD, 0);
            self.out.extend_from_slice(chunk);
            send_payload(&mut self.socket, &mut self.sequence, &mut self.out)?;
        }
        self.drain()
    }

    fn load_as_inserts(
        &mut self,
        table: &str,
        columns: &[&str],
        lines: &[u8],
        longest: usize,
    ) -> Result<u64, Error> {
        let head = format!("insert into {table} ({}) values ", columns.join(", "));
        let mut sql = head.clone();
        let mut rows = 0;
        let text = str::from_utf8(lines).map_err(|error| Error::Protocol(error.to_string()))?;
        for line in text.lines() {
            // The bytes around the fields.
            let length = line.len() + 2 * columns.len() + 4;
            if sql.len() > head.len() && sql.len() + length > longest {
                rows += self.run(&sql)?;
                sql.truncate(head.len());
            }
            sql.push_str(if sql.len() > head.len() { ",('" } else { "('" });
            for (index, field) in line.split('\t').enumerate() {
                if index > 0 {
                    sql.push_str("','");
                }
                sql.push_str(field);
            }
            sql.push_str("')");
        }
        if sql.len() > head.len() {
            rows += self.run(&sql)?;
        }
        Ok(rows)
    }
}
