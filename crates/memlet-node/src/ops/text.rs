//! Text that cannot be mistaken for what is around it: the `safe` forms of recalled lines and context bodies.

/// Stands for a line break inside a recalled line: space, U+23CE, space.
const BREAK: &str = " \u{23CE} ";

/// One recalled line with its line breaks made visible and without characters that steer a terminal or reorder text.
pub(super) fn safe_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                out.push_str(BREAK);
            }
            '\n' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push_str(BREAK),
            '\t' => out.push(c),
            _ if c.is_control() || is_bidi_control(c) => out.push(char::REPLACEMENT_CHARACTER),
            _ => out.push(c),
        }
    }
    out
}

/// A text of several lines without control characters.
pub(super) fn safe_block(text: &str) -> String {
    let safe = |c: char| if c.is_control() && c != '\n' && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(safe).collect()
}

/// The characters of Unicode's Bidi_Control property.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(safe_line("a\r\nb\nc\rd\u{B}e\u{C}f\u{85}g\u{2028}h\u{2029}i"), "a ⏎ b ⏎ c ⏎ d ⏎ e ⏎ f ⏎ g ⏎ h ⏎ i");
        assert_eq!(safe_line("\r\r\n"), " ⏎  ⏎ ");
    }

    #[test]
    fn controls_are_replaced_and_tabs_kept() {
        assert_eq!(safe_line("a\tb\0c\u{1b}[2Jd\u{7f}e\u{9b}f"), "a\tb\u{FFFD}c\u{FFFD}[2Jd\u{FFFD}e\u{FFFD}f");
        assert_eq!(safe_line("\u{202E}x\u{2069}\u{200F}\u{61C}"), "\u{FFFD}x\u{FFFD}\u{FFFD}\u{FFFD}");
        assert_eq!(safe_line("zero\u{200D}width, é, 🍵"), "zero\u{200D}width, é, 🍵");
        assert_eq!(safe_block("a\nb\tc\rd\0"), "a\nb\tc\u{FFFD}d\u{FFFD}");
    }
}
