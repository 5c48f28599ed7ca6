//! Dumps of a table like sysbench's, in the forms of pg_dump and mysqldump.

use std::io::{self, Write};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Bytes of a statement of mysqldump, about (`net_buffer_length`).
const INSERT: usize = 1_000_000;

/// The form of a dump.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// One COPY, then the keys.
    Copy,
    /// INSERTs of many rows into a table with its keys.
    Inserts,
}

/// Writes rows until the dump has about as many bytes. Returns how many rows there are.
pub(crate) fn write(to: &mut impl Write, form: Form, bytes: u64) -> io::Result<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut digits = |count: usize| -> String {
        (0..count).map(|_| char::from(b'0' + random.random_range(0..10u8))).collect()
    };
    let (mut written, mut rows) = (0, 0);
    match form {
        Form::Copy => to.write_all(
            b"SET client_encoding = 'UTF8';\n\
              CREATE TABLE dumped (id integer NOT NULL, k integer NOT NULL, c character(120) NOT \
              NULL, pad character(60) NOT NULL);\n\
              COPY dumped (id, k, c, pad) FROM stdin;\n",
        )?,
        Form::Inserts => to.write_all(
            b"/*!40101 SET NAMES utf8 */;\n\
              CREATE TABLE `dumped` (`id` int NOT NULL, `k` int NOT NULL, `c` char(120) NOT NULL, \
              `pad` char(60) NOT NULL, PRIMARY KEY (`id`), KEY `by_k` (`k`));\n",
        )?,
    }
    let mut statement = String::new();
    while written < bytes {
        rows += 1;
        let (k, c, pad) = (digits(6), digits(119), digits(59));
        let before = statement.len();
        match form {
            Form::Copy => statement += &format!("{rows}\t{k}\t{c}\t{pad}\n"),
            Form::Inserts => {
                statement +=
                    if statement.is_empty() { "INSERT INTO `dumped` VALUES " } else { "," };
                statement += &format!("({rows},{k},'{c}','{pad}')");
            }
        }
        written += (statement.len() - before) as u64;
        if statement.len() > INSERT || written >= bytes {
            to.write_all(statement.as_bytes())?;
            if matches!(form, Form::Inserts) {
                to.write_all(b";\n")?;
            }
            statement.clear();
        }
    }
    if matches!(form, Form::Copy) {
        to.write_all(
            b"\\.\n\n\
              ALTER TABLE ONLY dumped ADD CONSTRAINT dumped_pkey PRIMARY KEY (id);\n\
              CREATE INDEX by_k ON dumped (k);\n",
        )?;
    }
    Ok(rows)
}
