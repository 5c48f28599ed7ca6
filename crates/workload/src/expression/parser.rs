//! From the words and symbols of an expression to its tree, by precedence climbing (Richards,
//! Whitby-Strevens: BCPL, the language and its compiler, 1980).

use rqps_plan::suggestion;

use super::error::{ExpressionError, Position};
use super::function::Function;
use super::functions;
use super::operators::{self, level};
use super::scalar::Scalar;
use super::tokens::{Token, tokens};
use super::tree::Expression;

/// Operands of an expression at most: trees are walked by recursion.
const MOST_OPERANDS: usize = 500;

const KEYWORDS: [&str; 14] = [
    "and", "case", "else", "end", "false", "is", "isnull", "not", "notnull", "null", "or", "then",
    "true", "when",
];

/// What can begin an operand.
const OPERAND: &str = "a number, a variable, a function, '(', NOT or CASE";

impl Expression {
    /// Parses a text that stands at a place of a file. It may go over several lines if each but the
    /// last ends with a backslash.
    pub(crate) fn parse(text: &str, at: Position) -> Result<Expression, ExpressionError> {
        let mut parser = Parser { tokens: tokens(text, at)?, next: 0, operands: 0 };
        let expression = parser.expression(level::OR)?;
        match parser.peek() {
            Token::End => Ok(expression),
            _ => Err(parser.expected("an operator or the end")),
        }
    }
}

struct Parser {
    tokens: Vec<(Token, Position)>,
    next: usize,
    operands: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    /// The next token, which is taken; the end remains.
    fn take(&mut self) -> (Token, Position) {
        let taken = self.tokens[self.next].clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        taken
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_it = matches!(self.peek(), Token::Word(it) if it.eq_ignore_ascii_case(word));
        self.next += usize::from(is_it);
        is_it
    }

    fn takes_symbol(&mut self, symbol: &str) -> bool {
        let is_it = matches!(self.peek(), Token::Symbol(it) if *it == symbol);
        self.next += usize::from(is_it);
        is_it
    }

    /// The next token is not what was expected.
    fn expected(&self, what: &str) -> ExpressionError {
        let (token, at) = &self.tokens[self.next];
        let found = match token {
            Token::Number(value) => value.to_string(),
            Token::BelowLeast => "9223372036854775808, which exceeds 64 bits,".to_string(),
            Token::Variable(name) => format!("':{name}'"),
            Token::Word(word) => format!("'{word}'"),
            Token::Symbol(symbol) => format!("'{symbol}'"),
            Token::End => "the end".to_string(),
        };
        ExpressionError { at: *at, what: format!("{found} where {what} was expected") }
    }

    /// An expression whose outermost operator has at least this precedence.
    fn expression(&mut self, least: u8) -> Result<Expression, ExpressionError> {
        let mut left = self.operand()?;
        loop {
            let both = |left, right| Box::new([left, right]);
            if least <= level::OR && self.takes_word("or") {
                left = Expression::Or(both(left, self.expression(level::OR + 1)?));
            } else if least <= level::AND && self.takes_word("and") {
                left = Expression::And(both(left, self.expression(level::AND + 1)?));
            } else if least <= level::IS && self.takes_word("isnull") {
                left = is(left, Scalar::Null);
            } else if least <= level::IS && self.takes_word("notnull") {
                left = not(is(left, Scalar::Null));
            } else if least <= level::IS && self.takes_word("is") {
                left = self.tested(left)?;
            } else if let Some(operator) = self.operator().filter(|it| it.level >= least) {
                self.take();
                let right = self.expression(operator.level + 1)?;
                let sides = if operator.is_swapped { [right, left] } else { [left, right] };
                left = Expression::Call(&operator.function, sides.into());
                let is_chain = |next: &operators::Binary| {
                    operator.level == level::COMPARISON && next.level == level::COMPARISON
                };
                if self.operator().is_some_and(is_chain) {
                    return Err(self.expected(
                        "the end of the comparison, since comparisons do not chain, as in \
                         'a < b AND b < c',",
                    ));
                }
            } else {
                return Ok(left);
            }
        }
    }

    fn operator(&self) -> Option<&'static operators::Binary> {
        match self.peek() {
            Token::Symbol(symbol) => operators::find(symbol),
            _ => None,
        }
    }

    /// What follows IS.
    fn tested(&mut self, left: Expression) -> Result<Expression, ExpressionError> {
        let is_negated = self.takes_word("not");
        let value = match () {
            () if self.takes_word("null") => Scalar::Null,
            () if self.takes_word("true") => Scalar::Boolean(true),
            () if self.takes_word("false") => Scalar::Boolean(false),
            () if is_negated => return Err(self.expected("NULL, TRUE or FALSE")),
            () => return Err(self.expected("NOT, NULL, TRUE or FALSE")),
        };
        let test = is(left, value);
        Ok(if is_negated { not(test) } else { test })
    }

    /// An operand with what stands before it.
    fn operand(&mut self) -> Result<Expression, ExpressionError> {
        self.operands += 1;
        if self.operands > MOST_OPERANDS {
            let what =
                &format!("the end, since an expression has at most {MOST_OPERANDS} operands,");
            return Err(self.expected(what));
        }
        if self.takes_word("not") {
            return Ok(not(self.expression(level::NOT)?));
        }
        if self.takes_word("case") {
            return self.case();
        }
        if self.takes_symbol("(") {
            let inner = self.expression(level::OR)?;
            return match self.takes_symbol(")") {
                true => Ok(inner),
                false => Err(self.expected("an operator or ')'")),
            };
        }
        if self.takes_symbol("+") {
            return self.expression(level::SIGN);
        }
        if self.takes_symbol("-") {
            if *self.peek() == Token::BelowLeast {
                self.take();
                return Ok(Expression::Constant(Scalar::Int(i64::MIN)));
            }
            let right = self.expression(level::SIGN)?;
            return Ok(from(0, "-", right));
        }
        if self.takes_symbol("~") {
            let right = self.expression(level::BITS + 1)?;
            return Ok(from(-1, "#", right));
        }
        self.plain()
    }

    /// An operand of one token, or a call.
    fn plain(&mut self) -> Result<Expression, ExpressionError> {
        let before = self.next;
        match self.take() {
            (Token::Number(value), _) => Ok(Expression::Constant(value)),
            (Token::Variable(name), _) => Ok(Expression::Variable(name)),
            (Token::Word(word), at) => match word.to_ascii_lowercase().as_str() {
                "null" => Ok(Expression::Constant(Scalar::Null)),
                "true" => Ok(Expression::Constant(Scalar::Boolean(true))),
                "false" => Ok(Expression::Constant(Scalar::Boolean(false))),
                lower if KEYWORDS.contains(&lower) => {
                    self.next = before;
                    Err(self.expected(OPERAND))
                }
                _ => self.call(&word, at),
            },
            _ => {
                self.next = before;
                Err(self.expected(OPERAND))
            }
        }
    }

    fn call(&mut self, name: &str, at: Position) -> Result<Expression, ExpressionError> {
        let function = functions::find(name).ok_or_else(|| {
            let what = match self.peek() {
                Token::Symbol("(") => {
                    let hint = suggestion(name, functions::names());
                    format!("unexpected function name '{name}': {hint}")
                }
                _ => format!("'{name}' where {OPERAND} was expected. Write :{name} for a variable"),
            };
            ExpressionError { at, what }
        })?;
        if !self.takes_symbol("(") {
            return Err(self.expected(&format!("'(' after {}", function.name)));
        }
        let mut arguments = Vec::new();
        while !self.takes_symbol(")") {
            if !arguments.is_empty() && !self.takes_symbol(",") {
                return Err(self.expected("an operator, ',' or ')'"));
            }
            arguments.push(self.expression(level::OR)?);
        }
        let (given, takes) = (arguments.len(), &function.arguments);
        if !takes.contains(&given) {
            return Err(ExpressionError { at, what: wrong_number(function, given) });
        }
        if function.is_seeded && given < *takes.end() {
            arguments.push(Expression::Variable("default_seed".to_string()));
        }
        Ok(Expression::Call(function, arguments))
    }

    /// What follows CASE.
    fn case(&mut self) -> Result<Expression, ExpressionError> {
        let mut branches = Vec::new();
        while self.takes_word("when") {
            let condition = self.expression(level::OR)?;
            if !self.takes_word("then") {
                return Err(self.expected("an operator or THEN"));
            }
            branches.push((condition, self.expression(level::OR)?));
        }
        if branches.is_empty() {
            return Err(self.expected("WHEN"));
        }
        let otherwise = match self.takes_word("else") {
            true => self.expression(level::OR)?,
            false => Expression::Constant(Scalar::Null),
        };
        match self.takes_word("end") {
            true => Ok(Expression::Case(branches, Box::new(otherwise))),
            false => Err(self.expected("an operator, WHEN, ELSE or END")),
        }
    }
}

fn wrong_number(function: &Function, given: usize) -> String {
    let (least, most) = (*function.arguments.start(), *function.arguments.end());
    if most == usize::MAX {
        return format!("at least one argument expected ({})", function.name);
    }
    let wanted = if least == most { least.to_string() } else { format!("{least} or {most}") };
    format!("unexpected number of arguments ({}): {given}, not {wanted}", function.name)
}

fn is(left: Expression, value: Scalar) -> Expression {
    Expression::Call(&operators::IS, vec![left, Expression::Constant(value)])
}

fn not(inner: Expression) -> Expression {
    Expression::Call(&operators::NOT, vec![inner])
}

/// A sign is an operator with a constant before it.
fn from(left: i64, symbol: &str, right: Expression) -> Expression {
    let operator = operators::find(symbol).expect("the symbol is one of the table");
    let left = Expression::Constant(Scalar::Int(left));
    Expression::Call(&operator.function, vec![left, right])
}
