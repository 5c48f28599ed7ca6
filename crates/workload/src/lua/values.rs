//! Values of parameters: from Lua to what a connection sends.

use rqps_dbms::Dialect;
use rqps_wire::{Connection, Error, Statement, Type, Value};

use super::statement::literal;

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ParameterValue<'a> {
    Number(f64),
    Text(&'a [u8]),
    Null,
}

/// How a parameter is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Whole,
    Number,
    Text,
}

impl Kind {
    /// By its number in the prelude.
    pub(super) fn numbered(number: u32) -> Kind {
        match number {
            1 => Kind::Whole,
            2 => Kind::Number,
            _ => Kind::Text,
        }
    }

    pub(super) fn declared(self) -> Type {
        match self {
            Kind::Whole => Type::Int8,
            // A number with a point is sent as text, in which a server reads what its column takes.
            Kind::Number => Type::Inferred,
            Kind::Text => Type::Varchar,
        }
    }
}

/// Sends an execution: values in the form that the parameters are declared with.
pub(super) fn send(
    connection: &mut Box<dyn Connection>,
    statement: Statement,
    kinds: &[Kind],
    values: &[ParameterValue<'_>],
    text: &mut Vec<u8>,
) -> Result<u64, Error> {
    // Most statements have few parameters, which need no memory of their own.
    const FEW: usize = 8;
    let wrong = |place: usize, what: &str| {
        let place = place + 1;
        Err(Error::Client(format!(
            "parameter {place} is declared as {what}, but is something else"
        )))
    };
    if values.len() != kinds.len() {
        let (given, wanted) = (values.len(), kinds.len());
        return Err(Error::Client(format!("{given} values for {wanted} parameters")));
    }
    text.clear();
    let mut ends = [0; FEW];
    let mut more_ends = Vec::new();
    for (place, (given, kind)) in values.iter().zip(kinds).enumerate() {
        match (given, kind) {
            (ParameterValue::Null, _) | (ParameterValue::Number(_), Kind::Whole) => {}
            (ParameterValue::Number(number), _) => {
                text.extend_from_slice(number.to_string().as_bytes())
            }
            (ParameterValue::Text(_), Kind::Text) => {}
            (ParameterValue::Text(_), _) => return wrong(place, "a number"),
        }
        match ends.get_mut(place) {
            Some(end) => *end = text.len(),
            None => more_ends.push(text.len()),
        }
    }
    let end_of = |place: usize| match place {
        place if place < FEW => ends[place],
        place => more_ends[place - FEW],
    };
    let value = |place: usize| match (values[place], kinds[place]) {
        (ParameterValue::Null, _) => Value::Null,
        // As C converts it: without what is behind the point.
        (ParameterValue::Number(number), Kind::Whole) => Value::Int(number as i64),
        (ParameterValue::Number(_), _) => {
            let start = if place == 0 { 0 } else { end_of(place - 1) };
            Value::Text(&text[start..end_of(place)])
        }
        (ParameterValue::Text(bytes), _) => Value::Text(bytes),
    };
    if values.len() <= FEW {
        let mut few = [Value::Null; FEW];
        for (place, slot) in few.iter_mut().enumerate().take(values.len()) {
            *slot = value(place);
        }
        return connection.execute(statement, &few[..values.len()]);
    }
    let many: Vec<Value<'_>> = (0..values.len()).map(value).collect();
    connection.execute(statement, &many)
}

/// A value as it is written into a text.
pub(super) fn written(
    value: Option<ParameterValue<'_>>,
    kind: Option<&Kind>,
    dialect: Dialect,
) -> String {
    match value {
        None | Some(ParameterValue::Null) => "NULL".to_string(),
        Some(ParameterValue::Number(number)) => match kind {
            Some(Kind::Whole) => (number as i64).to_string(),
            _ => number.to_string(),
        },
        Some(ParameterValue::Text(bytes)) => literal(&String::from_utf8_lossy(bytes), dialect),
    }
}
