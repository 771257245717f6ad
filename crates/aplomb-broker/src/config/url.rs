//! Where the keys of an issuer are: a file, or a server of HTTP.

use std::fmt;

/// The place of a set of keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyUrl {
    /// `file:`, and the path.
    File(String),
    /// `http:` or `https:`.
    Http(HttpUrl),
}

/// A place on a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpUrl {
    /// With TLS.
    pub is_secure: bool,
    /// A name or an address; one of IPv6 without its brackets.
    pub host: String,
    /// As it is written, or the scheme's own.
    pub port: u16,
    /// Path and query, as they are asked for.
    pub target: String,
}

impl HttpUrl {
    /// Host and port as a request names them.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let usual = if self.is_secure { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for KeyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{path}"),
            // A query may have a secret in it.
            Self::Http(url) => {
                let scheme = if url.is_secure { "https" } else { "http" };
                let path = url.target.split('?').next().unwrap_or_default();
                write!(f, "{scheme}://{}{path}", url.authority())
            }
        }
    }
}

/// Reads a URL; `None`: it is none, or none that keys can be read from.
pub(super) fn parse_url(text: &str) -> Option<KeyUrl> {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let (scheme, rest) = text.split_once(':')?;
    match scheme.to_ascii_lowercase().as_str() {
        "file" => {
            let path = match rest.strip_prefix("//") {
                Some(rest) => {
                    &rest[rest.find('/').filter(|host| matches!(&rest[..*host], "" | "localhost"))?..]
                }
                None => rest,
            };
            (path.starts_with('/') && path.len() > 1).then(|| KeyUrl::File(path.to_owned()))
        }
        "http" => http(rest, false),
        "https" => http(rest, true),
        _ => None,
    }
}

fn http(rest: &str, is_secure: bool) -> Option<KeyUrl> {
    let rest = rest.strip_prefix("//")?.split('#').next()?;
    let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    // A name and a password are not sent.
    if authority.contains('@') {
        return None;
    }
    let (host, behind) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').filter(|(host, _)| host.parse::<std::net::Ipv6Addr>().is_ok())?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match behind.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|port| *port != 0)?,
        None if behind.is_empty() => {
            if is_secure {
                443
            } else {
                80
            }
        }
        None => return None,
    };
    (!host.is_empty()).then(|| KeyUrl::Http(HttpUrl { is_secure, host: host.to_owned(), port, target }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(bool, String, u16, String, String)> {
        match parse_url(text)? {
            KeyUrl::Http(url) => {
                let authority = url.authority();
                Some((url.is_secure, url.host, url.port, url.target, authority))
            }
            KeyUrl::File(_) => None,
        }
    }

    fn told(
        is_secure: bool,
        host: &str,
        port: u16,
        target: &str,
        authority: &str,
    ) -> Option<(bool, String, u16, String, String)> {
        Some((is_secure, host.to_owned(), port, target.to_owned(), authority.to_owned()))
    }

    #[test]
    fn a_place_is_a_file_or_a_server() {
        for text in ["file:/etc/keys.json", "file:///etc/keys.json", "FILE://localhost/etc/keys.json"] {
            assert_eq!(parse_url(text), Some(KeyUrl::File("/etc/keys.json".to_owned())), "{text}");
        }
        assert_eq!(parts("https://idp.example"), told(true, "idp.example", 443, "/", "idp.example"));
        assert_eq!(parts("http://idp:8080/a/b?c=d#e"), told(false, "idp", 8080, "/a/b?c=d", "idp:8080"));
        assert_eq!(parts("HTTPS://[::1]:8443?x"), told(true, "::1", 8443, "/?x", "[::1]:8443"));
        let shown = parse_url("http://idp/keys?token=secret").map(|url| url.to_string());
        assert_eq!(shown.as_deref(), Some("http://idp/keys"));
    }

    #[test]
    fn what_is_no_such_place_is_refused() {
        for text in [
            "",
            "idp",
            "ftp://idp/",
            "file:",
            "file:keys",
            "file://host/keys",
            "file:/",
            "http:idp",
            "http://",
            "http://u:p@idp/",
            "http://idp:0/",
            "http://idp:65536/",
            "http://idp:/",
            "http://[::1/",
            "http://[idp]/",
            "http://a b/",
            "http://idp/\r\nX: y",
            "jar:file:/x",
        ] {
            assert_eq!(parse_url(text), None, "{text:?}");
        }
    }
}
