//! Generators: what stands in a case for long texts, identities, rounds and values seen before.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::world::World;

/// What generators refer to.
#[derive(Default)]
pub(crate) struct Terms {
    /// Values saved by `$as`.
    pub(crate) saved: BTreeMap<String, Json>,
    /// The round of `repeat`, from 1.
    pub(crate) round: u64,
}

impl Terms {
    /// Replaces every generator in a call or an expectation.
    pub(crate) fn fill(&self, json: &Json, world: &World) -> Json {
        match json {
            Json::Array(items) => items.iter().map(|item| self.fill(item, world)).collect(),
            Json::Object(entries) => {
                let generated = match entries.iter().next() {
                    Some((name, argument)) if entries.len() == 1 => self.generate(name, argument, world),
                    _ => None,
                };
                let filled = || entries.iter().map(|(key, value)| (key.clone(), self.fill(value, world))).collect();
                generated.unwrap_or_else(filled)
            }
            scalar => scalar.clone(),
        }
    }

    fn generate(&self, name: &str, argument: &Json, world: &World) -> Option<Json> {
        Some(match name {
            "$rep" => {
                let (text, times) = (argument[0].as_str().unwrap(), argument[1].as_u64().unwrap());
                Json::from(text.repeat(usize::try_from(times).unwrap()))
            }
            "$cat" => {
                let parts = argument.as_array().unwrap().iter().map(|part| self.fill(part, world));
                Json::from(parts.map(|part| part.as_str().unwrap().to_owned()).collect::<String>())
            }
            "$did" => Json::from(world.did(argument.as_str().unwrap())),
            "$i" if argument == "int" => Json::from(self.round),
            "$i" => Json::from(self.round.to_string()),
            "$var" => self.saved[argument.as_str().unwrap()].clone(),
            _ => return None,
        })
    }
}
