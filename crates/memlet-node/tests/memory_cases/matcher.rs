//! Matchers: what a case expects of an output when it is not simply equal.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::Value as Json;

/// Holds `found` against a pattern; what `$as` names is saved.
///
/// # Errors
/// Where and how they differ.
pub(crate) fn check(pattern: &Json, found: &Json, saved: &mut BTreeMap<String, Json>) -> Result<(), String> {
    let differs = || Err(format!("expected {}, found {}", short(pattern), short(found)));
    match (pattern, found) {
        (Json::Object(matchers), _) if matchers.keys().any(|key| key.starts_with('$')) => {
            matchers.iter().try_for_each(|(name, argument)| matches(name, argument, found, saved))
        }
        (Json::Object(expected), Json::Object(members)) => {
            if !expected.keys().eq(members.keys()) {
                return differs();
            }
            expected.iter().try_for_each(|(key, pattern)| {
                check(pattern, &members[key], saved).map_err(|error| format!("{key}: {error}"))
            })
        }
        (Json::Array(expected), Json::Array(items)) => {
            if expected.len() != items.len() {
                return differs();
            }
            let mut pairs = expected.iter().zip(items).enumerate();
            pairs.try_for_each(|(at, (pattern, item))| {
                check(pattern, item, saved).map_err(|error| format!("{at}: {error}"))
            })
        }
        _ if pattern == found => Ok(()),
        _ => differs(),
    }
}

fn matches(name: &str, argument: &Json, found: &Json, saved: &mut BTreeMap<String, Json>) -> Result<(), String> {
    let text = || found.as_str().ok_or_else(|| format!("{name} needs a string, found {}", short(found)));
    let holds = match name {
        "$any" => match argument.as_str().unwrap() {
            "int" => found.as_i64().is_some(),
            "number" => found.is_number(),
            "string" => found.is_string(),
            "bool" => found.is_boolean(),
            "array" => found.is_array(),
            "object" => found.is_object(),
            "any" => true,
            other => panic!("$any knows no {other:?}"),
        },
        "$re" => Regex::new(argument.as_str().unwrap()).unwrap().is_match(text()?),
        "$not" => check(argument, found, saved).is_err(),
        "$has" => argument.as_array().unwrap().iter().all(|part| contains(found, part)),
        "$lacks" => !argument.as_array().unwrap().iter().any(|part| contains(found, part)),
        "$partial" => {
            for (key, pattern) in argument.as_object().unwrap() {
                let member = found.get(key).ok_or_else(|| format!("no member {key} in {}", short(found)))?;
                check(pattern, member, saved).map_err(|error| format!("{key}: {error}"))?;
            }
            true
        }
        "$len" => {
            let len =
                found.as_array().map_or_else(|| text().map(|text| text.chars().count()), |items| Ok(items.len()))?;
            argument.as_u64() == Some(len as u64)
        }
        "$ge" => number(found)? >= number(argument)?,
        "$le" => number(found)? <= number(argument)?,
        "$oneOf" => argument.as_array().unwrap().iter().any(|pattern| check(pattern, found, saved).is_ok()),
        "$as" => {
            saved.insert(argument.as_str().unwrap().to_owned(), found.clone());
            true
        }
        other => panic!("there is no matcher {other}"),
    };
    if holds { Ok(()) } else { Err(format!("{name} {} does not hold of {}", short(argument), short(found))) }
}

/// Whether a text has a part, or a list an element.
fn contains(found: &Json, part: &Json) -> bool {
    match found {
        Json::String(text) => text.contains(part.as_str().unwrap()),
        Json::Array(items) => items.contains(part),
        _ => false,
    }
}

fn number(json: &Json) -> Result<f64, String> {
    json.as_f64().ok_or_else(|| format!("{} is no number", short(json)))
}

fn short(json: &Json) -> String {
    json.to_string().chars().take(300).collect()
}
