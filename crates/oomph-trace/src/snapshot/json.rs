//! The JSON rendering of a snapshot, where tuples have become lists.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::error::TraceError;
use crate::model::trace::Trace;

use super::item::Item;
use super::store::Store;

/// Reads a whole snapshot in JSON.
pub(crate) fn read(data: &[u8]) -> Result<Trace, TraceError> {
    let mut store = Store::new(data);
    let mut parser = serde_json::Deserializer::from_slice(data);
    let root = ItemSeed(&mut store).deserialize(&mut parser).and_then(|root| parser.end().map(|()| root));
    let root = root.map_err(|problem| {
        let place = format!("line {}, column {}", problem.line(), problem.column());
        let text = problem.to_string();
        let text = text.split(" at line ").next().unwrap_or_default();
        TraceError::shape(place, format!("not the JSON of a memory snapshot: {text}"))
    })?;
    store.finish(root)
}

/// Reads one value into the store.
struct ItemSeed<'s, 'a>(&'s mut Store<'a>);

impl<'de> DeserializeSeed<'de> for ItemSeed<'_, 'de> {
    type Value = Item;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Item, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ItemSeed<'_, 'de> {
    type Value = Item;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Item, E> {
        Ok(Item::None)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Item, E> {
        Ok(Item::Bool(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Item, E> {
        Ok(Item::Int(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Item, E> {
        Ok(i64::try_from(number).map_or(Item::Unsigned(number), Item::Int))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Item, E> {
        Ok(Item::Float(number))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Item, E> {
        let at = text.as_ptr().addr().wrapping_sub(self.0.data.as_ptr().addr());
        if at < self.0.data.len() { self.0.text_at(at, text.len()).map_err(E::custom) } else { self.visit_str(text) }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Item, E> {
        self.0.decoded_text(text).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Item, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = elements.next_element_seed(ItemSeed(self.0))? {
            items.push(item);
        }
        let list = self.0.new_list().map_err(A::Error::custom)?;
        if !items.is_empty() {
            self.0.append(list, &items, 0).map_err(A::Error::custom)?;
        }
        Ok(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Item, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = entries.next_key_seed(ItemSeed(self.0))? {
            pairs.push(key);
            pairs.push(entries.next_value_seed(ItemSeed(self.0))?);
        }
        let dict = self.0.new_dict().map_err(A::Error::custom)?;
        if !pairs.is_empty() {
            self.0.set_items(dict, &pairs, 0).map_err(A::Error::custom)?;
        }
        Ok(dict)
    }
}
