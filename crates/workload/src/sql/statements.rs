//! A text of SQL as statements.

use std::ops::Range;

use rqps_dbms::{Body, Lexis};

use super::tokens::{
    Part, Placeholder, SqlTextError, SqlToken, TextPlace, TextState, Tokens, error, open,
};

/// A statement of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SqlStatement<'a> {
    /// Without what ends it, and without comments before it.
    pub(crate) text: &'a str,
    /// The line of its first word, counted from 1.
    pub(crate) line: u32,
    /// Its placeholders with their places in `text`.
    pub(crate) placeholders: Vec<(Placeholder, Range<usize>)>,
    /// Its words that stand in no quotes.
    pub(crate) words: Vec<&'a str>,
    /// It has an ORDER BY of its own, in no parentheses.
    pub(crate) is_ordered: bool,
    /// It is a `COPY … FROM STDIN`, behind which its rows stand.
    pub(crate) takes_rows: bool,
}

impl SqlStatement<'_> {
    /// Whether these words follow each other.
    pub(crate) fn has_words(&self, words: &[&str]) -> bool {
        self.words.windows(words.len()).any(|window| same(window, words))
    }

    /// Whether it begins with these words.
    pub(crate) fn begins_with(&self, words: &[&str]) -> bool {
        self.words.get(..words.len()).is_some_and(|window| same(window, words))
    }

    /// Of a COPY "from" or "to", and "stdin" or "stdout" if one of these words follows it where
    /// others have the name of a file. What is in parentheses, such as a query, is no part of it.
    pub(crate) fn copies(&self, lexis: Lexis) -> Option<[&'static str; 2]> {
        let mut tokens = Tokens::new(self.text, lexis);
        let (mut depth, mut way) = (0, None);
        while let Ok(Some(token)) = tokens.next() {
            let one_of = |words: [&'static str; 2]| {
                words.into_iter().find(|word| token.text.eq_ignore_ascii_case(word))
            };
            match (token.part, way) {
                (Part::Word, Some(way)) => return Some([way, one_of(["stdin", "stdout"])?]),
                (_, Some(_)) => return None,
                (Part::Word, None) if depth == 0 => way = one_of(["from", "to"]),
                (Part::Symbol('('), None) => depth += 1,
                (Part::Symbol(')'), None) => depth -= 1,
                _ => {}
            }
        }
        None
    }
}

fn same(found: &[&str], words: &[&str]) -> bool {
    found.iter().zip(words).all(|(found, word)| found.eq_ignore_ascii_case(word))
}

/// All statements of a text; an error if one of them is not whole.
pub(crate) fn split(text: &str, lexis: Lexis) -> Result<Vec<SqlStatement<'_>>, SqlTextError> {
    StatementReader::new(text, lexis).collect()
}

/// The statements of a text, one after another.
pub(crate) struct StatementReader<'a> {
    text: &'a str,
    tokens: Tokens<'a>,
    lexis: Lexis,
    has_failed: bool,
    /// The text is a part of another, of which its reader takes the rows of a COPY.
    is_part: bool,
    /// It goes on behind its end.
    goes_on: bool,
    /// The line of what has begun and is not whole there.
    open: Option<u32>,
}

/// What is known of a statement while it is read.
#[derive(Default)]
pub(crate) struct Begun<'a> {
    start: usize,
    end: usize,
    line: u32,
    placeholders: Vec<(Placeholder, Range<usize>)>,
    words: Vec<&'a str>,
    is_ordered: bool,
    /// Nested BEGIN … END and CASE … END of a function with the line of each.
    blocks: Vec<u32>,
    /// The last two parts, to find `; END;`.
    after_semicolon: bool,
    after_end: bool,
}

impl<'a> StatementReader<'a> {
    pub(crate) fn new(text: &'a str, lexis: Lexis) -> StatementReader<'a> {
        let tokens = Tokens::new(text, lexis);
        let (has_failed, is_part, goes_on, open) = (false, false, false, None);
        StatementReader { text, tokens, lexis, has_failed, is_part, goes_on, open }
    }

    /// The statements of a part of a text that begins behind a statement.
    pub(super) fn of_part(
        text: &'a str,
        lexis: Lexis,
        state: &'a TextState,
        goes_on: bool,
    ) -> StatementReader<'a> {
        let tokens = Tokens::resumed(text, lexis, state);
        StatementReader { tokens, is_part: true, goes_on, ..StatementReader::new(text, lexis) }
    }

    /// Behind the statement that was read last.
    pub(super) fn place(&self) -> TextPlace<'a> {
        self.tokens.place()
    }

    /// The line of what does not end in this part, if anything does not.
    pub(super) fn open(&self) -> Option<u32> {
        self.open
    }

    /// The next statement that this part has whole.
    pub(super) fn whole(&mut self) -> Result<Option<SqlStatement<'a>>, SqlTextError> {
        let read = self.read();
        // What is wrong within a line is so for certain once its end is there.
        let may_change = |wrong: &SqlTextError| wrong.is_open || !self.tokens.rest().contains('\n');
        match read {
            Err(wrong) if self.goes_on && may_change(&wrong) => {
                self.open = Some(wrong.line);
                Ok(None)
            }
            read => read,
        }
    }

    /// The next statement that is not empty.
    fn read(&mut self) -> Result<Option<SqlStatement<'a>>, SqlTextError> {
        let mut begun: Option<Begun<'a>> = None;
        self.tokens.forget_brackets();
        while let Some(token) = self.tokens.next()? {
            if begun.is_none() && self.is_command(&token)? {
                continue;
            }
            if token.part == Part::Delimiter {
                let Some(statement) = &mut begun else { continue };
                if !self.goes_on(statement) {
                    return self.finished(begun.take());
                }
                statement.after_end = false;
                statement.after_semicolon = true;
                continue;
            }
            if token.part == Part::Symbol('\\') && self.lexis.client.1 == '\\' {
                return Err(self.client_command(&token));
            }
            begun.get_or_insert_with(|| Begun {
                start: token.start,
                line: token.line,
                ..Begun::default()
            });
            let is_outside = self.tokens.parenthesis().is_none();
            if let Some(statement) = &mut begun {
                statement.note_order(&token, is_outside);
                statement.add(token, self.lexis.body);
            }
        }
        if let Some(statement) = &begun {
            if self.goes_on {
                self.open = Some(statement.line);
                return Ok(None);
            }
            self.check_end(statement)?;
        }
        self.finished(begun)
    }

    /// Whether a token that would begin a statement is a command of the client program instead,
    /// which has been carried out.
    fn is_command(&mut self, token: &SqlToken<'a>) -> Result<bool, SqlTextError> {
        let (_, mark) = self.lexis.client;
        match &token.part {
            Part::Word
                if self.lexis.body == Body::Delimiter
                    && token.text.eq_ignore_ascii_case("delimiter") =>
            {
                self.tokens.change_delimiter(token.line)?;
                Ok(true)
            }
            Part::Symbol(symbol) if *symbol == mark => {
                let command = self.tokens.rest_of_line();
                // pg_dump begins and ends its texts with these since August 2025.
                let name = command.split_whitespace().next().unwrap_or_default();
                match self.lexis.body == Body::Atomic && ["restrict", "unrestrict"].contains(&name)
                {
                    true => Ok(true),
                    false => Err(self.refused(token.line, &format!("{mark}{name}"))),
                }
            }
            _ => Ok(false),
        }
    }

    fn client_command(&mut self, token: &SqlToken<'a>) -> SqlTextError {
        let rest = self.tokens.rest_of_line();
        let name = rest.split_whitespace().next().unwrap_or_default();
        self.refused(token.line, &format!("\\{name}"))
    }

    fn refused(&self, line: u32, command: &str) -> SqlTextError {
        let (client, _) = self.lexis.client;
        error(line, &format!("'{command}' is a command of {client}, not SQL. Remove it"))
    }

    /// Whether a semicolon stands within the statement.
    fn goes_on(&self, statement: &Begun<'_>) -> bool {
        match self.lexis.body {
            Body::Atomic => self.tokens.parenthesis().is_some() || statement.is_in_body(),
            Body::Delimiter => false,
            Body::Trigger => statement.is_trigger() && !statement.after_end,
        }
    }

    /// An error if the text ends within the statement.
    fn check_end(&self, statement: &Begun<'_>) -> Result<(), SqlTextError> {
        let what = match self.lexis.body {
            Body::Atomic => match (self.tokens.parenthesis(), statement.blocks.first()) {
                (Some(line), _) => {
                    Some((line, "the parenthesis that opens here does not close".into()))
                }
                (_, Some(line)) => {
                    Some((*line, "the body that begins here does not end: END is missing".into()))
                }
                _ => None,
            },
            Body::Delimiter => match self.tokens.delimiter() {
                ";" => None,
                other => {
                    let what = format!(
                        "the statement that begins here does not end with the DELIMITER {other}"
                    );
                    Some((statement.line, what))
                }
            },
            Body::Trigger if self.goes_on(statement) => Some((
                statement.line,
                "the trigger that begins here does not end: END; is missing".into(),
            )),
            Body::Trigger => None,
        };
        what.map_or(Ok(()), |(line, what): (u32, String)| Err(open(line, &what)))
    }

    fn finished(
        &mut self,
        begun: Option<Begun<'a>>,
    ) -> Result<Option<SqlStatement<'a>>, SqlTextError> {
        let Some(Begun { start, end, line, placeholders, words, is_ordered, .. }) = begun else {
            return Ok(None);
        };
        let text = &self.text[start..end];
        let mut statement =
            SqlStatement { text, line, placeholders, words, is_ordered, takes_rows: false };
        statement.takes_rows = self.lexis.body == Body::Atomic
            && statement.begins_with(&["copy"])
            && statement.copies(self.lexis) == Some(["from", "stdin"]);
        if statement.takes_rows && !self.is_part {
            self.tokens.skip_copied_lines(line)?;
        }
        Ok(Some(statement))
    }
}

impl<'a> Begun<'a> {
    /// Whether it is in the body of a function, where a semicolon does not end it.
    pub(crate) fn is_in_body(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// The statement of this text, by its words alone.
    pub(crate) fn statement<'t>(&'t self, text: &'t str) -> SqlStatement<'t> {
        let Begun { line, is_ordered, .. } = *self;
        let words = self.words.clone();
        SqlStatement { text, line, placeholders: Vec::new(), words, is_ordered, takes_rows: false }
    }

    pub(crate) fn add(&mut self, token: SqlToken<'a>, body: Body) {
        self.end = token.start + token.text.len();
        let is_end = token.part == Part::Word && token.text.eq_ignore_ascii_case("end");
        self.after_end = is_end && self.after_semicolon;
        self.after_semicolon = token.part == Part::Symbol(';');
        match token.part {
            Part::Word => {
                if body == Body::Atomic && self.is_function() {
                    self.note_block(&token);
                }
                self.words.push(token.text);
            }
            Part::Placeholder(placeholder) => {
                let range = token.start - self.start..self.end - self.start;
                self.placeholders.push((placeholder, range));
            }
            _ => {}
        }
    }

    /// Looks for an ORDER BY of the statement itself.
    fn note_order(&mut self, token: &SqlToken<'_>, is_outside: bool) {
        let is_by = token.part == Part::Word && same(&[token.text], &["by"]);
        let is_order = self.words.last().is_some_and(|it| same(&[it], &["order"]));
        self.is_ordered |= is_by && is_order && is_outside;
    }

    /// Follows the blocks of a function.
    fn note_block(&mut self, token: &SqlToken<'_>) {
        let is = |word: &str| token.text.eq_ignore_ascii_case(word);
        let is_begin = is("atomic") && self.words.last().is_some_and(|it| same(&[it], &["begin"]));
        if is_begin || is("case") && !self.blocks.is_empty() {
            self.blocks.push(token.line);
        } else if is("end") {
            self.blocks.pop();
        }
    }

    fn is_function(&self) -> bool {
        let [first, rest @ ..] = &self.words[..] else { return false };
        let rest = match rest {
            [or, replace, rest @ ..] if same(&[or, replace], &["or", "replace"]) => rest,
            rest => rest,
        };
        let is_one = |word: &&str| ["function", "procedure"].iter().any(|it| same(&[word], &[it]));
        same(&[first], &["create"]) && rest.first().is_some_and(is_one)
    }

    fn is_trigger(&self) -> bool {
        let [first, rest @ ..] = &self.words[..] else { return false };
        let is_temporary =
            |word: &&str| ["temp", "temporary"].iter().any(|it| same(&[word], &[it]));
        let kind = rest.iter().find(|word| !is_temporary(word));
        same(&[first], &["create"]) && kind.is_some_and(|word| same(&[word], &["trigger"]))
    }
}

impl<'a> Iterator for StatementReader<'a> {
    type Item = Result<SqlStatement<'a>, SqlTextError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let read = self.read();
        self.has_failed = read.is_err();
        read.transpose()
    }
}
