//! From a URL to a [`RedisConfig`]. No error repeats a part of the URL but a parameter's name:
//! whatever was misread may be a password.

use std::time::Duration;

use leasehold_core::{Error, ErrorKind};
use percent_encoding::percent_decode_str;

use crate::config::{Address, Login, Place, RedisConfig};

const SERVER_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// What a URL's scheme says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Server,
    Sentinel,
    Cluster,
}

pub(crate) fn parse(url: &str) -> Result<RedisConfig, Error> {
    let (scheme, rest) = url.split_once("://").ok_or_else(|| {
        Error::invalid("a store on Redis is named by a URL such as redis://HOST:PORT/DB")
    })?;
    let (form, tls) = form_of(&scheme.to_ascii_lowercase())?;
    if tls && !cfg!(feature = "tls") {
        let what = "this build has no TLS: enable the feature tls, or write redis: for rediss:";
        return Err(Error::new(ErrorKind::Unsupported, what));
    }
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // The end of a login in which such a character was not written by its percent code.
    if tail.contains(['@', '#']) {
        return Err(Error::invalid(
            "in a redis URL write / as %2F, ? as %3F, # as %23 and @ as %40, but for the @ before \
             the host",
        ));
    }
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (login_of(login)?, hosts),
        None => (Login::default(), authority),
    };
    let (path, parameters) = tail.split_once('?').unwrap_or((tail, ""));
    let (place, db) = place_of(form, hosts, path.strip_prefix('/').unwrap_or(path))?;
    let config = RedisConfig { login, tls, db, ..RedisConfig::at(place) };
    with_parameters(config, parameters)
}

fn form_of(scheme: &str) -> Result<(Form, bool), Error> {
    let (server, form) = match scheme.split_once('-') {
        None => (scheme, Form::Server),
        Some((server, "sentinel")) => (server, Form::Sentinel),
        Some((server, "cluster")) => (server, Form::Cluster),
        Some(_) => ("", Form::Server),
    };
    match server {
        "redis" | "valkey" => Ok((form, false)),
        "rediss" | "valkeys" => Ok((form, true)),
        _ => Err(Error::invalid(
            "the scheme of a redis URL is redis, redis-sentinel or redis-cluster, with valkey for \
             redis and rediss or valkeys for TLS",
        )),
    }
}

fn login_of(text: &str) -> Result<Login, Error> {
    let (user, password) = text.split_once(':').ok_or_else(|| {
        Error::invalid("the login of a redis URL is USER:PASSWORD or :PASSWORD, before the @")
    })?;
    let user = decoded("user", user)?;
    let password = decoded("password", password)?;
    if password.is_empty() {
        return Err(Error::invalid("the login of a redis URL has no password after the :"));
    }
    Ok(Login { user: Some(user).filter(|user| !user.is_empty()), password: Some(password) })
}

fn place_of(form: Form, hosts: &str, path: &str) -> Result<(Place, i64), Error> {
    let port = if form == Form::Sentinel { SENTINEL_PORT } else { SERVER_PORT };
    let mut addresses: Vec<Address> = hosts
        .split(',')
        .enumerate()
        .map(|(at, host)| address_of(at + 1, host, port))
        .collect::<Result<_, _>>()?;
    match form {
        Form::Server if addresses.len() > 1 => Err(Error::invalid(
            "a redis: URL names one host; several belong to redis-sentinel: or redis-cluster:",
        )),
        Form::Server => {
            let address = addresses.remove(0);
            Ok((Place::Server(address), db_of(path)?))
        }
        Form::Sentinel => {
            let (master, db) = path.split_once('/').unwrap_or((path, ""));
            let master = decoded("master's name", master)?;
            if master.is_empty() {
                return Err(Error::invalid(
                    "a redis-sentinel: URL names its master after the hosts: /MASTER",
                ));
            }
            let login = Login::default();
            Ok((Place::Sentinel { sentinels: addresses, master, login }, db_of(db)?))
        }
        Form::Cluster => match db_of(path)? {
            0 => Ok((Place::Cluster(addresses), 0)),
            _ => Err(Error::invalid("a redis-cluster: URL has no database but 0: leave it out")),
        },
    }
}

fn address_of(nth: usize, text: &str, port: u16) -> Result<Address, Error> {
    let bad = |what: &str| Error::invalid(format!("host {nth} of a redis URL {what}"));
    let (host, rest) = match text.strip_prefix('[') {
        Some(text) => text.split_once(']').ok_or_else(|| bad("has a [ without its ]"))?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let is_in_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | ':' | '%');
    if host.is_empty() || !host.chars().all(is_in_name) {
        return Err(bad("is no name and no address"));
    }
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => Some(port),
        None => None,
        Some(digits) => digits.parse().ok().filter(|port| *port > 0),
    };
    let port = port.ok_or_else(|| bad("has a port that is no number from 1 to 65535"))?;
    // The zone of an address is behind a %, which may be written by its percent code.
    Ok(Address { host: decoded("host", host)?, port })
}

fn db_of(text: &str) -> Result<i64, Error> {
    match text {
        "" => Ok(0),
        text => text
            .parse::<u32>()
            .map(i64::from)
            .map_err(|_| Error::invalid("the database of a redis URL is a number")),
    }
}

fn with_parameters(mut config: RedisConfig, parameters: &str) -> Result<RedisConfig, Error> {
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        config = with_parameter(config, name, decoded("parameter's value", value)?)?;
    }
    Ok(config)
}

fn with_parameter(
    mut config: RedisConfig,
    name: &str,
    value: String,
) -> Result<RedisConfig, Error> {
    match (name, &mut config.place) {
        ("namespace", _) => return config.with_namespace(value),
        ("timeout_ms", _) => {
            let ms = value.parse().ok().filter(|ms| (1..=86_400_000).contains(ms));
            let ms = ms.ok_or_else(|| {
                Error::invalid("the parameter timeout_ms is a number from 1 to 86400000")
            })?;
            return Ok(config.with_call_timeout(Duration::from_millis(ms)));
        }
        ("sentinel_user", Place::Sentinel { login, .. }) => login.user = Some(value),
        ("sentinel_password", Place::Sentinel { login, .. }) => login.password = Some(value),
        ("sentinel_user" | "sentinel_password", _) => {
            return Err(Error::invalid(format!("{name} belongs to a redis-sentinel: URL")));
        }
        // An unknown parameter is named and its value is not: it may be a secret.
        _ => {
            return Err(Error::invalid(format!(
                "a redis URL has no parameter {name:?}; known are namespace, timeout_ms, \
                 sentinel_user and sentinel_password"
            )));
        }
    }
    Ok(config)
}

fn decoded(part: &str, text: &str) -> Result<String, Error> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| Error::invalid(format!("the {part} of a redis URL is not UTF-8")));
    text.map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> RedisConfig {
        parse(url).unwrap_or_else(|error| panic!("{url}: {error:?}"))
    }

    fn at(host: &str, port: u16) -> Address {
        Address { host: host.to_owned(), port }
    }

    fn login(user: Option<&str>, password: &str) -> Login {
        Login { user: user.map(str::to_owned), password: Some(password.to_owned()) }
    }

    #[test]
    fn a_server_is_a_host_with_a_port_and_a_database() {
        let table = [
            ("redis://db", at("db", 6379), 0),
            ("redis://db/", at("db", 6379), 0),
            ("REDIS://db:7000/3", at("db", 7000), 3),
            ("valkey://10.0.0.1:7000", at("10.0.0.1", 7000), 0),
            ("redis://[::1]:7000/2", at("::1", 7000), 2),
            ("redis://[fe80::1%eth0]", at("fe80::1%eth0", 6379), 0),
            ("redis://[fe80::1%25eth0]:7", at("fe80::1%eth0", 7), 0),
        ];
        for (url, address, db) in table {
            let config = parsed(url);
            assert_eq!((config.place, config.db), (Place::Server(address), db), "{url}");
            assert_eq!((config.login, config.tls), (Login::default(), false), "{url}");
        }
    }

    #[test]
    fn a_login_is_decoded() {
        let table = [
            ("redis://ada:secret@db", login(Some("ada"), "secret")),
            ("redis://:secret@db", login(None, "secret")),
            ("redis://a%3Ab:s%2Fe%40c%25r:et@db", login(Some("a:b"), "s/e@c%r:et")),
        ];
        for (url, expected) in table {
            assert!(parsed(url).login == expected, "{url}");
        }
    }

    #[test]
    fn sentinels_and_clusters_are_lists() {
        let config = parsed("redis-sentinel://ada:pw@a,b:7/my%2Fmaster/4?sentinel_password=s%26p");
        let sentinels = vec![at("a", 26379), at("b", 7)];
        let expected = Place::Sentinel {
            sentinels,
            master: "my/master".to_owned(),
            login: login(None, "s&p"),
        };
        assert_eq!((config.place, config.db), (expected, 4));
        assert!(config.login == login(Some("ada"), "pw"));

        let config = parsed("valkey-cluster://:pw@a:1,b,[::1]:3/0");
        assert_eq!(config.place, Place::Cluster(vec![at("a", 1), at("b", 6379), at("::1", 3)]));
    }

    #[test]
    fn parameters_set_what_the_setters_set() {
        let config = parsed("redis://db?namespace=a%3Ab&timeout_ms=250&");
        assert_eq!(config.namespace, "a:b");
        assert_eq!(config.call_timeout, Duration::from_millis(250));
    }

    #[test]
    fn no_error_shows_a_part_of_the_url() {
        let table = [
            ("hunter2", "such as"),
            ("redis:hunter2", "such as"),
            ("hunter2://db", "scheme"),
            ("redis-hunter2://db", "scheme"),
            ("redis://hunter2@db", "login"),
            ("redis://ada:@hunter2", "password"),
            ("redis://ada:hunter2", "port"),
            ("redis://ada:hun/ter2@db", "%2F"),
            ("redis://ada:hun?ter2@db", "%2F"),
            ("redis://ada:hun#ter2@db", "%2F"),
            ("redis://ada:hun#ter2", "%2F"),
            ("redis://ada:%ff@db", "password of a redis URL is not UTF-8"),
            ("redis://%ff:hunter2@db", "user of a redis URL is not UTF-8"),
            ("redis://", "host 1"),
            ("redis://hun ter2", "host 1"),
            ("redis://db:0", "host 1"),
            ("redis://db:65536", "host 1"),
            ("redis://[::1", "host 1"),
            ("redis://[::1]hunter2", "host 1"),
            ("redis-cluster://a,,hunter2", "host 2"),
            ("redis://a,b", "one host"),
            ("redis://db/hunter2", "database"),
            ("redis://db/-1", "database"),
            ("redis://db/1/2", "database"),
            ("redis-cluster://a,b/1", "no database but 0"),
            ("redis-sentinel://a,b", "/MASTER"),
            ("redis-sentinel://a,b/", "/MASTER"),
            ("redis-sentinel://a,b/m/hunter2", "database"),
            ("redis://db?password=hunter2", "\"password\""),
            ("redis://db?timeout_ms=hunter2", "timeout_ms"),
            ("redis://db?timeout_ms=0", "timeout_ms"),
            ("redis://db?namespace=hunter2%20", "namespace"),
            ("redis://db?namespace=%ff", "UTF-8"),
            ("redis://db?sentinel_password=hunter2", "redis-sentinel:"),
            ("redis-cluster://db?sentinel_user=hunter2", "redis-sentinel:"),
        ];
        for (url, names) in table {
            let error = parse(url).expect_err(url);
            let shown = format!("{error} {error:?}");
            assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
            assert!(shown.contains(names), "{url}: {shown}");
            assert!(!shown.contains("hun") && !shown.contains("ter2"), "{url}: {shown}");
        }
    }

    #[test]
    fn what_was_read_shows_hosts_and_no_login() {
        for url in [
            "redis://ada:hunter2@db",
            "redis-sentinel://ada:hunter2@db/m?sentinel_user=ada&sentinel_password=hunter2",
            "redis-cluster://ada:hunter2@db",
        ] {
            let shown = format!("{:?} {:#?}", parsed(url), parsed(url));
            assert!(shown.contains("\"db\""), "{shown}");
            assert!(!shown.contains("ada") && !shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn tls_needs_its_feature() {
        for url in ["rediss://db", "valkeys://db", "rediss-sentinel://a/m", "valkeys-cluster://a"] {
            let parsed = parse(url);
            if cfg!(feature = "tls") {
                assert!(parsed.expect(url).tls, "{url}");
            } else {
                let error = parsed.expect_err(url);
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{url}");
                assert!(error.to_string().contains("feature tls"), "{error}");
            }
        }
    }
}
