//! JSON whose objects keep the order of their members, and all of one name: MariaDB 10.2 has
//! a member `table` for each table of a join.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

#[derive(Debug)]
pub(super) enum Json {
    Flag(bool),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
    /// A number or null, which no query plan depends on, but for flags that MariaDB writes as 1.
    Number(u64),
}

impl Json {
    /// The first member of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.members().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &Json)> {
        let members = match self {
            Json::Object(members) => members.as_slice(),
            _ => &[],
        };
        members.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(super) fn items(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// It has a flag of this name that is set, or a text instead.
    pub(super) fn has(&self, flag: &str) -> bool {
        matches!(self.get(flag), Some(Json::Flag(true) | Json::Number(1) | Json::Text(_)))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Json, D::Error> {
        from.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Number(0))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Number(0))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Number(0))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = from.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}
