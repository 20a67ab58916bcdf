//! A Rust source as tokens, and what can be counted on them: lines of code and lengths of
//! functions. Tokens, not patterns on lines, so that a brace in a string or a comment in the
//! middle of a function cannot mislead a count.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Stands in a comment before a function that is one flat match and so may be long.
pub const FLAT_MATCH: &str = "tidy: flat match";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name, a keyword or a number.
    Word,
    /// A string or a character, with its quotes.
    Literal,
    /// One other character.
    Mark,
    Comment,
}

#[derive(Debug, Clone, Copy)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// The line it begins on; the first is 1.
    pub line: usize,
}

impl Token<'_> {
    fn lines(&self) -> RangeInclusive<usize> {
        self.line..=self.line + self.text.matches('\n').count()
    }
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    /// Lines of code from `fn` to the closing brace.
    pub lines: usize,
}

/// The number of lines with code on them: no blank lines, no comments, no test modules.
pub fn code_lines(source: &str) -> usize {
    lines_of(&code(source)).len()
}

/// The functions outside test modules, but for those marked as one flat match.
pub fn functions(source: &str) -> Vec<Function> {
    let code = code(source);
    let lines = lines_of(&code);
    let marks: Vec<usize> = tokens(source)
        .iter()
        .filter(|token| token.kind == Kind::Comment && token.text.contains(FLAT_MATCH))
        .map(|token| token.line)
        .collect();
    let mut functions = Vec::new();
    for at in 0..code.len() {
        let Some((name, body)) = function(&code[at..]) else { continue };
        let body = at + body.start()..=at + body.end();
        let (first, last) = (code[at].line, code[*body.end()].line);
        let head = end_of_previous(&code[..at]) + 1..=first;
        let is_flat_match = marks.iter().any(|mark| head.contains(mark))
            && code[body].iter().any(|token| token.text == "match");
        if !is_flat_match {
            let lines = lines.range(first..=last).count();
            functions.push(Function { name: name.to_owned(), line: first, lines });
        }
    }
    functions
}

/// All tokens of a source, comments among them.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < source.len() {
        let (kind, length) = next(&source[at..]);
        let text = &source[at..at + length];
        if let Some(kind) = kind {
            tokens.push(Token { kind, text, line });
        }
        line += text.matches('\n').count();
        at += length;
    }
    tokens
}

/// The index of the mark that closes the one at `open`.
pub fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match (token.kind, token.text) {
            (Kind::Mark, "(" | "[" | "{") => depth += 1,
            (Kind::Mark, ")" | "]" | "}") => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The tokens that count: no comments, no test modules.
fn code(source: &str) -> Vec<Token<'_>> {
    let all: Vec<_> =
        tokens(source).into_iter().filter(|token| token.kind != Kind::Comment).collect();
    let mut code = Vec::new();
    let mut at = 0;
    while at < all.len() {
        match test_module(&all[at..]) {
            Some(length) => at += length,
            None => {
                code.push(all[at]);
                at += 1;
            }
        }
    }
    code
}

fn lines_of(code: &[Token<'_>]) -> BTreeSet<usize> {
    code.iter().flat_map(Token::lines).collect()
}

/// The length in tokens of a test module with its attributes, when one begins here.
fn test_module(code: &[Token<'_>]) -> Option<usize> {
    let begins = |at: usize, texts: &[&str]| {
        code.get(at..at + texts.len())
            .is_some_and(|tokens| tokens.iter().zip(texts).all(|(token, text)| token.text == *text))
    };
    if !begins(0, &["#", "[", "cfg", "(", "test", ")"])
        && !begins(0, &["#", "[", "cfg", "(", "all", "(", "test", ","])
    {
        return None;
    }
    let mut at = 0;
    while begins(at, &["#", "["]) {
        at = closing(code, at + 1)? + 1;
    }
    let is_module = begins(at, &["mod"]) && code.get(at + 2)?.text == "{";
    if is_module { Some(closing(code, at + 2)? + 1) } else { None }
}

/// The name and the body, when a function with a body begins here.
fn function<'a>(code: &[Token<'a>]) -> Option<(&'a str, RangeInclusive<usize>)> {
    let name = code.get(1).filter(|name| name.kind == Kind::Word)?;
    if code[0].text != "fn" {
        return None;
    }
    let mut at = 2;
    loop {
        match code.get(at)?.text {
            "{" => return Some((name.text, at..=closing(code, at)?)),
            ";" => return None,
            "(" | "[" => at = closing(code, at)? + 1,
            _ => at += 1,
        }
    }
}

/// The line on which the item before these last tokens ends; 0 at the top of a file.
fn end_of_previous(code: &[Token<'_>]) -> usize {
    let end = code
        .iter()
        .rfind(|token| token.kind == Kind::Mark && ["}", ";", "{"].contains(&token.text));
    end.map_or(0, |token| token.line)
}

/// The kind and length of what a text begins with; white space has no kind.
fn next(rest: &str) -> (Option<Kind>, usize) {
    let first = rest.chars().next().expect("the text is not at its end");
    if first.is_whitespace() {
        (None, first.len_utf8())
    } else if rest.starts_with("//") {
        (Some(Kind::Comment), rest.find('\n').unwrap_or(rest.len()))
    } else if rest.starts_with("/*") {
        (Some(Kind::Comment), block_comment(rest))
    } else if let Some(length) = string(rest).or_else(|| character(rest)) {
        (Some(Kind::Literal), length)
    } else {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if end == 0 { (Some(Kind::Mark), first.len_utf8()) } else { (Some(Kind::Word), end) }
    }
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of the string that begins here: plain, bytes or C, raw or not.
fn string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    if let Some(raw) = after.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inside = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = inside.find(&close).map_or(inside.len(), |end| end + close.len());
        return Some(rest.len() - inside.len() + end);
    }
    let inside = after.strip_prefix('"')?;
    Some(rest.len() - inside.len() + quoted(inside, '"'))
}

/// The length of the character that begins here; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('\'')?;
    let mut chars = inside.chars();
    let is_character = chars.next()? == '\\' || chars.next()? == '\'';
    is_character.then(|| rest.len() - inside.len() + quoted(inside, '\''))
}

/// The length up to and with the closing quote.
fn quoted(inside: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    inside.len()
}

#[cfg(test)]
mod tests {
    use super::{Function, code_lines, functions, tokens};

    #[test]
    fn blank_lines_and_comments_are_no_code() {
        let source = "//! a\n\n/// b\nfn f() {} // c\n/* d\n/* e */\n*/\nstruct S;\n";
        assert_eq!(code_lines(source), 2);
    }

    #[test]
    fn every_line_of_a_string_is_code() {
        assert_eq!(code_lines("const A: &str = \"one\n// two\n\";\n"), 3);
        assert_eq!(code_lines("const A: &str = r#\"one\n\"\n\"#;\n"), 3);
    }

    #[test]
    fn a_test_module_is_not_counted_and_what_follows_it_is() {
        let source =
            "struct A;\n#[cfg(test)]\n#[allow(dead_code)]\nmod tests {\n    fn t() {}\n}\n";
        assert_eq!(code_lines(source), 1);
        assert_eq!(code_lines(&format!("{source}struct B;\n")), 2);
        assert_eq!(code_lines(&source.replace("(test)", "(all(test, unix))")), 1);
        assert_eq!(code_lines(&source.replace("(test)", "(feature = \"test\")")), 6);
        assert_eq!(functions(source), []);
    }

    #[test]
    fn quotes_and_braces_in_literals_open_nothing() {
        let source = "fn f<'a>(c: &'a char) -> bool {\n    *c == '{' || *c == '\\'' || *c == '\"'\n}\n\
                      fn g() -> &'static str {\n    \"}\\\"{\"\n}\n";
        let lengths: Vec<_> = functions(source).into_iter().map(|f| (f.name, f.lines)).collect();
        assert_eq!(lengths, [("f".to_owned(), 3), ("g".to_owned(), 3)]);
    }

    #[test]
    fn a_long_function_is_seen_wherever_it_stands() {
        let body = "        work();\n".repeat(60);
        let source = format!(
            "impl A {{\n    pub async fn long(\n        x: [u8; 2],\n    ) -> u8 {{\n{body}\n        // why\n    }}\n}}\n"
        );
        assert_eq!(functions(&source), [Function { name: "long".to_owned(), line: 2, lines: 64 }]);
    }

    #[test]
    fn a_declaration_and_a_pointer_type_are_no_functions() {
        assert_eq!(functions("trait T { fn f(&self, g: fn(u8) -> u8); }\n"), []);
    }

    #[test]
    fn only_a_marked_match_is_left_out() {
        let mark = "// tidy: flat match\n#[must_use]\n";
        let one = "pub fn one() {\n    match x {\n        _ => {}\n    }\n}\n";
        assert_eq!(functions(&format!("{mark}{one}")), []);
        assert_eq!(functions(one).len(), 1);
        // The mark is for the function under it alone, and only when it does match.
        assert_eq!(functions(&format!("{mark}{one}{one}")).len(), 1);
        assert_eq!(functions(&format!("{mark}fn two() {{\n    if x {{}}\n}}\n")).len(), 1);
    }

    #[test]
    fn tokens_know_their_lines() {
        let lines: Vec<_> = tokens("a /* b\n */ c\n'd' 'e").iter().map(|t| t.line).collect();
        assert_eq!(lines, [1, 1, 2, 3, 3, 3]);
    }
}
