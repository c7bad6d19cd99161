//! A value as text within a budget of bytes: JSON if it fits, else JSON5 with a comment for what is left out.

use memlet_core::value::Value;

use super::json::{line_break, quoted, sorted, write};

/// The smallest budget: room for the mark.
pub(super) const BUDGET_BYTES_MIN: usize = 10;

/// Stands for what is left out.
const MARK: &str = "/* … */";

/// What an element gets while there is as much, so that many elements are not all cut to nothing.
const SHARE_BYTES_MIN: usize = 48;

const _: () = assert!(MARK.len() <= BUDGET_BYTES_MIN);

/// Shows a value in at most `budget` bytes; on one line if `compact`, else indented.
pub(super) fn inspect(value: &Value, budget: usize, compact: bool) -> String {
    shown(value, budget, if compact { None } else { Some(0) }).unwrap_or_else(|| MARK.to_owned())
}

/// None if not even a part fits.
fn shown(value: &Value, budget: usize, indent: Option<usize>) -> Option<String> {
    let mut whole = String::new();
    write(value, indent, &mut whole);
    if whole.len() <= budget {
        return Some(whole);
    }
    match value {
        Value::Text(text) => beginning(text, budget),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(|item| (String::new(), item)).collect();
            elements(['[', ']'], &items, budget, indent)
        }
        Value::Map(entries) => {
            let colon = if indent.is_some() { ": " } else { ":" };
            let entries = sorted(entries);
            let entries: Vec<_> = entries.into_iter().map(|(key, value)| (quoted(key) + colon, value)).collect();
            elements(['{', '}'], &entries, budget, indent)
        }
        _ => None,
    }
}

/// As much of a string as fits, then the mark.
fn beginning(text: &str, budget: usize) -> Option<String> {
    let mut left = budget.checked_sub(r#""""#.len() + MARK.len())?;
    let fits = |c: &char| {
        let bytes = quoted(c.encode_utf8(&mut [0; 4])).len() - r#""""#.len();
        left.checked_sub(bytes).map(|rest| left = rest).is_some()
    };
    let beginning: String = text.chars().take_while(fits).collect();
    Some(quoted(&beginning) + MARK)
}

/// The first elements, each with its part of the budget, then the mark if some did not fit.
fn elements(
    [open, close]: [char; 2],
    elements: &[(String, &Value)],
    budget: usize,
    indent: Option<usize>,
) -> Option<String> {
    let below = indent.map(|level| level + 1);
    let mut separator = String::from(",");
    line_break(below, &mut separator);
    let mut end = String::new();
    line_break(indent, &mut end);
    end.push(close);
    // Room for the mark as one element more, behind the separator that stands in for the opening bracket at first.
    let mut left = budget.checked_sub(separator.len() + MARK.len() + end.len())?;
    let mut out = String::from(open);
    line_break(below, &mut out);
    for (at, (key, value)) in elements.iter().enumerate() {
        let share = left / (elements.len() - at);
        let room = share.max(left.min(SHARE_BYTES_MIN));
        let part = room.checked_sub(separator.len() + key.len()).and_then(|room| shown(value, room, below));
        let Some(part) = part else {
            out.push_str(MARK);
            break;
        };
        left -= separator.len() + key.len() + part.len();
        out.push_str(key);
        out.push_str(&part);
        if at + 1 < elements.len() {
            out.push_str(&separator);
        }
    }
    out.push_str(&end);
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::json::from_json;
    use super::*;

    fn text(value: serde_json::Value, budget: usize, compact: bool) -> String {
        inspect(&from_json(&value).unwrap(), budget, compact)
    }

    #[test]
    fn what_fits_is_json() {
        let value = json!({"b": [true, "x"], "a": 1});
        assert_eq!(text(value.clone(), 24, true), r#"{"a":1,"b":[true,"x"]}"#);
        assert_eq!(text(value, 60, false), "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    \"x\"\n  ]\n}");
    }

    #[test]
    fn what_does_not_fit_is_marked() {
        assert_eq!(text(json!(["word", "word", "word"]), 20, true), r#"["word",/* … */]"#);
        assert_eq!(text(json!("abcdefghijklmnop"), 16, true), r#""abcde"/* … */"#);
        assert_eq!(text(json!({"a": "long enough to be cut", "b": 2}), 30, true), r#"{"a":"lon"/* … */,/* … */}"#);
        assert_eq!(text(json!([1, 2, 3, 4, 5, 6]), 10, true), MARK);
        assert_eq!(text(json!(i64::MIN), 10, true), MARK);
        assert_eq!(text(json!(["word", "word", "word"]), 25, false), "[\n  \"word\",\n  /* … */\n]");
    }

    proptest! {
        #[test]
        fn never_more_than_the_budget(
            words in prop::collection::vec("\\PC{0,12}", 0..20),
            budget in BUDGET_BYTES_MIN..200,
            compact: bool,
        ) {
            let value = json!({"list": words, "map": {"k": [words, {"n": 1.5}]}, "text": words.concat()});
            let shown = text(value, budget, compact);
            prop_assert!(shown.len() <= budget, "{} > {budget}: {shown}", shown.len());
        }
    }
}
