//! Code that a document shows from files of the tree.

/// Stands before a block of Rust and names the file that the code is from.
const FROM: (&str, &str) = ("<!-- from ", " -->");

/// The blocks of Rust code in a document that are not, word for word, in the files that they
/// name; `read` gives a file's text.
pub fn drifted(markdown: &str, read: impl Fn(&str) -> String) -> Vec<String> {
    let mut drifted = Vec::new();
    let mut before = "";
    let mut lines = markdown.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if line == "```rust" {
            let code: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            let from = before.strip_prefix(FROM.0).and_then(|rest| rest.strip_suffix(FROM.1));
            match from {
                None => drifted.push(format!("{}: code from nowhere", at + 1)),
                Some(path) if !read(path).contains(&code.join("\n")) => {
                    drifted.push(format!("{}: not in {path}", at + 1));
                }
                Some(_) => {}
            }
        }
        before = line;
    }
    drifted
}

#[cfg(test)]
mod tests {
    use super::drifted;

    #[test]
    fn code_is_compared_with_the_file_that_it_names() {
        let read = |path: &str| format!("// {path}\nfn a() {{\n    b();\n}}\n");
        let shown = |head: &str, code: &str| {
            drifted(&format!("Text.\n{head}\n```rust\n{code}\n```\n"), read)
        };
        assert_eq!(shown("<!-- from a.rs -->", "fn a() {\n    b();"), [""; 0]);
        assert_eq!(shown("<!-- from a.rs -->", "fn a() {\n    c();"), ["3: not in a.rs"]);
        assert_eq!(shown("", "fn a() {"), ["3: code from nowhere"]);
    }
}
