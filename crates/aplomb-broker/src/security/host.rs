//! From where an ACL counts: everywhere, one address in Java's form, or a network. Names of hosts
//! are accepted and match nothing, as in Apache Kafka.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why a text with a `/` is no network, in Apache Kafka's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Not an IPv4 address with a length.
    #[error("Could not parse [{0}]")]
    Form(String),
    /// A part of an IPv4 address is too large.
    #[error("Value [{0}] not in range [0,255]")]
    Octet(u32),
    /// The length is too large.
    #[error("Value [{0}] not in range [0,32]")]
    Length(u32),
    /// Not an IPv6 address with a length.
    #[error("Could not parse [{0}] - {1}")]
    Form6(String, &'static str),
}

/// The hosts of an ACL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum HostPattern {
    Any,
    Text,
    V4 { network: u32, mask: u32 },
    V6 { network: u128, mask: u128 },
}

impl HostPattern {
    pub(super) fn parse(text: &str) -> Self {
        match text {
            "*" => Self::Any,
            text if text.contains('/') => network(text).unwrap_or(Self::Text),
            _ => Self::Text,
        }
    }

    /// Whether an address is in the network, if it is one.
    pub(super) fn contains(&self, peer: IpAddr) -> bool {
        self.around(peer).as_ref() == Some(self)
    }

    /// The network as wide as this one that an address is in.
    pub(super) fn around(&self, peer: IpAddr) -> Option<Self> {
        match (self, peer) {
            // No network has the address 0.0.0.0 (`SubnetUtils`).
            (Self::V4 { mask, .. }, IpAddr::V4(peer)) if !peer.is_unspecified() => {
                Some(Self::V4 { network: u32::from(peer) & mask, mask: *mask })
            }
            (Self::V6 { mask, .. }, IpAddr::V6(peer)) => {
                Some(Self::V6 { network: u128::from(peer) & mask, mask: *mask })
            }
            _ => None,
        }
    }

    /// The first network that is as wide as this one.
    pub(super) fn width(&self) -> Self {
        match *self {
            Self::V4 { mask, .. } => Self::V4 { network: 0, mask },
            Self::V6 { mask, .. } => Self::V6 { network: 0, mask },
            Self::Any => Self::Any,
            Self::Text => Self::Text,
        }
    }
}

/// Whether a host with a `/` is a network.
///
/// # Errors
/// What is wrong with it.
pub fn check_network(text: &str) -> Result<(), NetworkError> {
    network(text).map(drop)
}

fn network(text: &str) -> Result<HostPattern, NetworkError> {
    if text.contains(':') { network_v6(text) } else { network_v4(text) }
}

fn network_v4(text: &str) -> Result<HostPattern, NetworkError> {
    let form = || NetworkError::Form(text.to_owned());
    let (address, length) = text.split_once('/').ok_or_else(form)?;
    let number = |part: &str, digits: usize| {
        let is_one = (1..=digits).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_one { part.parse::<u32>().map_err(|_| form()) } else { Err(form()) }
    };
    let octets = address.split('.').map(|part| number(part, 3)).collect::<Result<Vec<_>, _>>()?;
    let length = number(length, 2)?;
    let octets: [u32; 4] = octets.try_into().map_err(|_| form())?;
    if let Some(large) = octets.iter().find(|octet| **octet > 255) {
        return Err(NetworkError::Octet(*large));
    }
    if length > 32 {
        return Err(NetworkError::Length(length));
    }
    let address = u32::from(Ipv4Addr::from(octets.map(|octet| octet as u8)));
    let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
    Ok(HostPattern::V4 { network: address & mask, mask })
}

fn network_v6(text: &str) -> Result<HostPattern, NetworkError> {
    let form = |why| NetworkError::Form6(text.to_owned(), why);
    let (address, length) = text.split_once('/').ok_or_else(|| form("missing prefix length"))?;
    let address: Ipv6Addr = address.parse().map_err(|_| form("not an IPv6 address"))?;
    let length: i32 = length.parse().map_err(|_| form("invalid prefix length"))?;
    let length = u32::try_from(length).ok().filter(|length| *length <= 128);
    let length = length.ok_or_else(|| form("prefix length must be between 0 and 128"))?;
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    Ok(HostPattern::V6 { network: u128::from(address) & mask, mask })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(network: &str, peer: &str) -> bool {
        HostPattern::parse(network).contains(peer.parse().expect("an address"))
    }

    #[test]
    fn a_network_has_the_addresses_of_its_own_family_alone() {
        assert!(has("10.0.0.0/8", "10.255.0.1") && !has("10.0.0.0/8", "11.0.0.1"));
        assert!(has("10.1.2.3/8", "10.9.9.9"), "bits of a host are left out");
        assert!(has("0.0.0.0/0", "1.2.3.4") && has("1.2.3.4/32", "1.2.3.4"));
        assert!(has("2001:db8::/32", "2001:db8::1") && !has("2001:db8::/32", "2001:db9::1"));
        assert!(!has("0.0.0.0/0", "::1") && !has("::/0", "1.2.3.4"));
        assert!(!has("1.2.3.4", "1.2.3.4"), "an address is compared as a text");
    }

    #[test]
    fn what_is_no_network_is_said_in_kafkas_words() {
        let said = |text: &str| check_network(text).expect_err("no network").to_string();
        assert_eq!(said("host/8"), "Could not parse [host/8]");
        assert_eq!(said("1.2.3.4/33"), "Value [33] not in range [0,32]");
        assert_eq!(said("1.2.3.256/8"), "Value [256] not in range [0,255]");
        assert_eq!(said("2001:db8::/x"), "Could not parse [2001:db8::/x] - invalid prefix length");
    }
}
