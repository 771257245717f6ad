//! Sockets that listen: bound early, so that a taken port is found before anything else is done and
//! a port that the system chose is known; listening late, so that no client waits in front of a
//! broker that is still loading.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use aplomb_broker::config::{BrokerConfig, Listener, SecurityProtocol};
use aplomb_server::net::{ConnectionLimits, Entrance, GssQueues, JwksCaches, NetConfig};
use aplomb_server::security::Gate;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with, sockopt};

use super::directories::chance;
use super::token_keys;

/// A listener that cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NetworkError {
    #[error("listeners={listener}: the host cannot be resolved: {source}")]
    Host { listener: String, source: std::io::Error },
    #[error("listeners={listener}: it cannot be bound: {source}")]
    Bind { listener: String, source: std::io::Error },
    #[error("aplomb.metrics.listener={text}: it cannot be bound: {source}")]
    Metrics { text: String, source: std::io::Error },
    #[error("keys of delegation tokens cannot be derived: {0}")]
    Tokens(std::io::Error),
    #[error("max.connections.per.ip.overrides: {host} is not an address and cannot be resolved: {source}")]
    Override { host: String, source: std::io::Error },
}

/// A socket that has its address and does not listen yet.
#[derive(Debug)]
pub(super) struct Bound {
    name: Arc<str>,
    protocol: SecurityProtocol,
    socket: OwnedFd,
    address: SocketAddr,
}

impl Bound {
    /// Binds the socket of a listener.
    pub(super) fn bind(listener: &Listener) -> Result<Self, NetworkError> {
        let written = listener.to_string();
        let failed = |source: Errno| NetworkError::Bind { listener: written.clone(), source: source.into() };
        let (socket, address) = match &listener.host {
            Some(host) => {
                let wanted = resolve(host, listener.port)
                    .map_err(|source| NetworkError::Host { listener: written.clone(), source })?;
                bind_to(wanted).map_err(failed)?
            }
            // Every interface: with IPv6 both families come in by one socket.
            None => bind_to(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), listener.port))
                .or_else(|error| match error {
                    Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL => {
                        bind_to(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), listener.port))
                    }
                    other => Err(other),
                })
                .map_err(failed)?,
        };
        Ok(Self { name: Arc::clone(&listener.name), protocol: listener.protocol, socket, address })
    }

    /// The listener's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The address, with the port that the system chose if that was left to it.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets clients come, `backlog` of them at once.
    pub(super) fn listen(
        self,
        backlog: u32,
        gate: Option<Arc<Gate>>,
    ) -> Result<aplomb_server::net::Listener, NetworkError> {
        let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
        listen(&self.socket, backlog).map_err(|source| NetworkError::Bind {
            listener: format!("{}://{}", self.name, self.address),
            source: source.into(),
        })?;
        let Self { name, protocol, socket, .. } = self;
        Ok(aplomb_server::net::Listener { name, protocol, gate, socket: TcpListener::from(socket) })
    }
}

/// The listener of the metrics page, `host:port`.
pub(super) fn bind_metrics(text: &str) -> Result<TcpListener, NetworkError> {
    TcpListener::bind(text).map_err(|source| NetworkError::Metrics { text: text.to_owned(), source })
}

/// How connections are treated, as the server wants to know it.
pub(super) fn net_config(
    config: &BrokerConfig,
    ceiling: usize,
    keys: JwksCaches,
    gss: GssQueues,
) -> Result<NetConfig, NetworkError> {
    let network = &config.network;
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let mut limits = ConnectionLimits {
        total: count(network.max_connections),
        of_listeners: network
            .connections_of_listeners()
            .into_iter()
            .map(|(listener, most)| (listener, count(most)))
            .collect(),
        ceiling,
        per_ip: count(network.max_connections_per_ip),
        ..ConnectionLimits::default()
    };
    for (host, limit) in &network.per_ip_overrides {
        let address =
            resolve(host, 0).map_err(|source| NetworkError::Override { host: host.clone(), source })?;
        limits.per_ip_overrides.insert(address.ip().to_canonical(), count(*limit));
    }
    let tokens = token_keys::start(&config.tokens).map_err(NetworkError::Tokens)?;
    Ok(NetConfig {
        max_frame: size(network.max_request.0),
        max_frames: size(network.frames.0),
        min_frame_rate: network.min_frame_rate.0,
        max_replies: size(network.replies.0),
        entrance: Entrance::new(config.security.clone(), keys, tokens, chance).with_gss(gss),
        connections: limits,
        rate_windows: config.quotas.clients.into(),
        max_idle: network.max_idle,
        send_buffer: network.send_buffer.map(count),
        receive_buffer: network.receive_buffer.map(count),
    })
}

/// An IPv4 address where there is one, as Java prefers it: `localhost` is 127.0.0.1 to most
/// clients.
fn resolve(host: &str, port: u16) -> std::io::Result<SocketAddr> {
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    let preferred = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
    preferred.copied().ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))
}

fn bind_to(address: SocketAddr) -> Result<(OwnedFd, SocketAddr), Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // A restart must not wait for old connections to be forgotten.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    bind(&socket, &address)?;
    let bound = getsockname(&socket)?.try_into().map_err(|_| Errno::AFNOSUPPORT)?;
    Ok((socket, bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(host: Option<&str>, port: u16) -> Listener {
        let host = host.map(str::to_owned);
        Listener { name: "PLAINTEXT".into(), protocol: SecurityProtocol::Plaintext, host, port }
    }

    #[test]
    fn a_bound_listener_has_its_port_and_refuses_clients_until_it_listens() {
        let bound = Bound::bind(&listener(Some("127.0.0.1"), 0)).expect("a free port");
        let address = bound.address();
        assert_ne!(address.port(), 0);
        assert!(std::net::TcpStream::connect(address).is_err());
        let _listening = bound.listen(5, None).expect("it is bound");
        assert!(std::net::TcpStream::connect(address).is_ok());
    }

    #[test]
    fn a_listener_on_every_interface_takes_both_families() {
        let bound = Bound::bind(&listener(None, 0)).expect("a free port");
        let port = bound.address().port();
        let _listening = bound.listen(5, None).expect("it is bound");
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    #[test]
    fn a_taken_port_is_named() {
        let bound = Bound::bind(&listener(Some("127.0.0.1"), 0)).expect("a free port");
        let port = bound.address().port();
        let _listening = bound.listen(5, None).expect("it is bound");
        let error = Bound::bind(&listener(Some("127.0.0.1"), port)).expect_err("it is taken");
        assert!(
            error
                .to_string()
                .starts_with(&format!("listeners=PLAINTEXT://127.0.0.1:{port}: it cannot be bound: ")),
            "{error}"
        );
    }
}
