//! A store's URL as it may be shown: [`redacted()`].

/// What stands for a part that is not shown.
const HIDDEN: &str = "***";

/// Parameters that hold no secret, with their values.
const PLAIN: &[&str] = &["synchronous=full", "synchronous=normal"];

/// The URL of a store without what could be a secret, as one line for logs and for people.
/// `***` stands for what is not shown.
///
/// | URL | shown |
/// |---|---|
/// | `memory:` | as it is |
/// | `sqlite:PATH`, `sqlite://PATH` | as it is, with any `@` and `:` in the path |
/// | `sqlite://USER@REST` | `sqlite://***@REST`; no store opens it, but a password may stand there |
/// | `SCHEME://USER:PASSWORD@HOST:PORT/PATH` | `SCHEME://***@HOST:PORT/PATH`; HOST may be an IPv6 address or a list |
/// | any of these with `?synchronous=normal` | as it is |
/// | with any other parameter or a fragment | `***` instead, for its name too |
/// | anything else | `SCHEME://***`, or `***` where there is no `//` |
///
/// What can be read in two ways is not shown, so that a password stays hidden in which a `/`,
/// `?`, `#` or `@` was not written by its percent code. A control character is shown by its
/// percent code.
///
/// # Examples
/// ```
/// use leasehold::redacted;
///
/// assert_eq!(redacted("sqlite:a@b/tasks.db"), "sqlite:a@b/tasks.db");
/// assert_eq!(redacted("postgres://ada:secret@db:5432/tasks"), "postgres://***@db:5432/tasks");
/// assert_eq!(redacted("redis://db?password=secret"), "redis://db?***");
/// ```
#[must_use]
pub fn redacted(url: &str) -> String {
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    let shown = match (scheme.to_ascii_lowercase().as_str(), rest.strip_prefix("//")) {
        ("memory", None) if rest.is_empty() => url.to_owned(),
        ("sqlite", None) => format!("{scheme}:{}", file(rest)),
        ("sqlite", Some(rest)) => format!("{scheme}://{}", file_after_slashes(rest)),
        (_, Some(rest)) if is_scheme(scheme) => {
            format!("{scheme}://{}", server(rest).as_deref().unwrap_or(HIDDEN))
        }
        // What looks like a scheme may be the user of `user:password@host`.
        _ => HIDDEN.to_owned(),
    };
    shown.chars().fold(String::new(), |line, c| line + &on_one_line(c))
}

fn file(rest: &str) -> String {
    let (path, parameters) = split(rest, &['?']);
    format!("{path}{}", without_secrets(parameters))
}

/// As in [`connect()`](crate::connect()): what stands where other URLs have their user could
/// be a password.
fn file_after_slashes(rest: &str) -> String {
    let (first, path) = split(rest, &['/', '?']);
    match first.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{}", file(&format!("{host}{path}"))),
        None => file(rest),
    }
}

/// `None` when it cannot be told for sure which part is which.
fn server(rest: &str) -> Option<String> {
    let (authority, tail) = split(rest, &['/', '?', '#']);
    // The end of a user in which such a character was not written by its percent code.
    if tail.contains('@') || tail.contains("%40") {
        return None;
    }
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((_, hosts)) => (format!("{HIDDEN}@"), hosts),
        None => (String::new(), authority),
    };
    if !hosts.split(',').all(is_host) {
        return None;
    }
    let (path, parameters) = split(tail, &['?', '#']);
    Some(format!("{user}{hosts}{path}{}", without_secrets(parameters)))
}

/// What stands before the first of these characters, and the rest with it.
fn split<'a>(text: &'a str, at: &[char]) -> (&'a str, &'a str) {
    text.split_at(text.find(at).unwrap_or(text.len()))
}

/// From the `?` or `#` on.
fn without_secrets(parameters: &str) -> String {
    let Some(mark) = parameters.chars().next() else { return String::new() };
    let is_plain = |parameter: &str| parameter.is_empty() || PLAIN.contains(&parameter);
    let shown = |parameter| if is_plain(parameter) { parameter } else { HIDDEN };
    let all: Vec<_> = parameters[mark.len_utf8()..].split('&').map(shown).collect();
    format!("{mark}{}", all.join("&"))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// A name or an address, perhaps with a port. `ada:secret` is none: a port has only digits.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        // The zone of an address is behind a `%`.
        Some((address, port)) if address.chars().all(|c| is_in_name(c) || ":%".contains(c)) => {
            ("", port)
        }
        _ => split(text, &[':']),
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    name.chars().all(is_in_name) && digits.chars().all(|c| c.is_ascii_digit())
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '.' | '_')
}

fn on_one_line(c: char) -> String {
    if !c.is_control() {
        return c.to_string();
    }
    c.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
}
