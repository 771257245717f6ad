//! Listener addresses as `listeners` and `advertised.listeners` write them: `NAME://host:port`,
//! separated by commas.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How bytes travel on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecurityProtocol {
    /// Neither encrypted nor authenticated.
    Plaintext,
    /// In TLS.
    Ssl,
    /// As they are, after a SASL exchange.
    SaslPlaintext,
    /// In TLS, after a SASL exchange.
    SaslSsl,
}

impl SecurityProtocol {
    pub(super) const ALL: [Self; 4] = [Self::Plaintext, Self::Ssl, Self::SaslPlaintext, Self::SaslSsl];

    /// The name in configurations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "PLAINTEXT",
            Self::Ssl => "SSL",
            Self::SaslPlaintext => "SASL_PLAINTEXT",
            Self::SaslSsl => "SASL_SSL",
        }
    }

    /// The number in a broker's registration (`SecurityProtocol#id`).
    #[must_use]
    pub const fn to_wire(self) -> i16 {
        self as i16
    }

    /// Whether clients say by SASL who they are.
    #[must_use]
    pub const fn has_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }

    /// Whether everything is in TLS.
    #[must_use]
    pub const fn has_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name().eq_ignore_ascii_case(name))
    }
}

/// One of `listeners` or `advertised.listeners`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its name, in capitals.
    pub name: Arc<str>,
    /// How bytes travel on it.
    pub protocol: SecurityProtocol,
    /// The host to bind to or to be told to clients; `None` is every interface, or this machine's
    /// own name.
    pub host: Option<String>,
    /// The port; 0 lets the system choose.
    pub port: u16,
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.as_deref().unwrap_or("");
        if host.contains(':') {
            write!(f, "{}://[{host}]:{}", self.name, self.port)
        } else {
            write!(f, "{}://{host}:{}", self.name, self.port)
        }
    }
}

/// What is wrong with a list of listeners.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListenerError {
    /// Not of the form `NAME://host:port`.
    #[error("{0} is not of the form NAME://host:port")]
    Form(String),
    /// Two of one name.
    #[error("the listener name {0} is used twice")]
    NameTwice(Arc<str>),
    /// Two on one port.
    #[error("port {0} is used twice")]
    PortTwice(u16),
    /// The name says nothing about the protocol, and neither does the map.
    #[error("listener.security.protocol.map has no security protocol for {0}")]
    NoProtocol(Arc<str>),
}

/// Listener names, in capitals, and their protocols.
pub(super) type ProtocolMap = BTreeMap<String, SecurityProtocol>;

/// Reads `listener.security.protocol.map`. The pair that is not one is the error.
pub(super) fn parse_protocol_map(text: &str) -> Result<ProtocolMap, String> {
    text.split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, protocol) = pair.rsplit_once(':').ok_or_else(|| pair.to_owned())?;
            let protocol = SecurityProtocol::from_name(protocol.trim()).ok_or_else(|| pair.to_owned())?;
            Ok((name.trim().to_uppercase(), protocol))
        })
        .collect()
}

/// Reads a list of listeners. Ports may only repeat where `distinct_ports` is not asked for
/// (advertised addresses behind a proxy), or when they are 0.
pub(super) fn parse_listeners(
    items: &[String],
    protocols: &ProtocolMap,
    distinct_ports: bool,
) -> Result<Vec<Listener>, ListenerError> {
    let mut listeners: Vec<Listener> = Vec::with_capacity(items.len());
    for item in items {
        let listener = parse_listener(item, protocols)?;
        for known in &listeners {
            if known.name == listener.name {
                return Err(ListenerError::NameTwice(listener.name));
            }
            if distinct_ports
                && listener.port != 0
                && known.port == listener.port
                && !families_differ(known, &listener)
            {
                return Err(ListenerError::PortTwice(listener.port));
            }
        }
        listeners.push(listener);
    }
    Ok(listeners)
}

fn parse_listener(item: &str, protocols: &ProtocolMap) -> Result<Listener, ListenerError> {
    let form = || ListenerError::Form(item.to_owned());
    let (name, address) = item.split_once("://").ok_or_else(form)?;
    let (host, port) = address.rsplit_once(':').ok_or_else(form)?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let known_character = |byte: u8| byte.is_ascii_alphanumeric() || b"-%._:".contains(&byte);
    if name.is_empty() || !host.bytes().all(known_character) {
        return Err(form());
    }
    let name: Arc<str> = name.to_uppercase().into();
    let protocol = *protocols.get(&*name).ok_or_else(|| ListenerError::NoProtocol(name.clone()))?;
    let host = (!host.is_empty()).then(|| host.to_owned());
    Ok(Listener { name, protocol, host, port: port.parse().map_err(|_| form())? })
}

/// An IPv4 and an IPv6 address may share a port.
fn families_differ(left: &Listener, right: &Listener) -> bool {
    let address =
        |listener: &Listener| listener.host.as_deref().and_then(|host| host.parse::<std::net::IpAddr>().ok());
    matches!((address(left), address(right)), (Some(l), Some(r)) if l.is_ipv4() != r.is_ipv4())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Listener>, ListenerError> {
        let protocols = parse_protocol_map("PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT,SSL:SSL").expect("a map");
        let items: Vec<String> = text.split(',').map(str::to_owned).collect();
        parse_listeners(&items, &protocols, true)
    }

    #[test]
    fn a_listener_reads_back_as_it_was_written() {
        for text in [
            "PLAINTEXT://:9092",
            "INSIDE://10.0.0.1:0",
            "SSL://[::1]:9093",
            "PLAINTEXT://broker-1.example.com:1",
        ] {
            let listeners = parse(text).expect("a listener");
            assert_eq!(listeners[0].to_string(), text);
        }
        assert_eq!(parse("plaintext://:9092").expect("a listener")[0].name.as_ref(), "PLAINTEXT");
    }

    #[test]
    fn what_is_no_listener_is_named() {
        for text in [
            "9092",
            "PLAINTEXT:9092",
            "PLAINTEXT://host",
            "PLAINTEXT://host:port",
            "://host:1",
            "PLAINTEXT://a b:1",
        ] {
            assert_eq!(parse(text), Err(ListenerError::Form(text.to_owned())));
        }
        assert_eq!(parse("OTHER://:1"), Err(ListenerError::NoProtocol("OTHER".into())));
    }

    #[test]
    fn names_and_ports_are_used_once() {
        assert_eq!(parse("SSL://a:1,SSL://a:2"), Err(ListenerError::NameTwice("SSL".into())));
        assert_eq!(parse("SSL://a:1,INSIDE://b:1"), Err(ListenerError::PortTwice(1)));
        assert!(parse("SSL://a:0,INSIDE://b:0").is_ok());
        assert!(parse("SSL://127.0.0.1:1,INSIDE://[::1]:1").is_ok());
    }
}
