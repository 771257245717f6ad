//! The metrics listener: where it is, who may look, and a warning where it asks for nothing.

use std::sync::Arc;

use aplomb_broker::config::{BrokerConfig, ClientAuth, NetworkConfig};
use aplomb_server::log::Log;
use aplomb_server::metrics::{Door, Health, Metrics, http};

use super::network::bind_metrics;
use super::stores::{Gates, METRICS};
use super::{BrokerError, process};

/// What is to be shown, and how the broker is; served, if they are to be.
pub(super) fn start(
    config: &BrokerConfig,
    gates: &Gates,
    log: &Log,
) -> Result<(Metrics, Health), BrokerError> {
    let (metrics, health) = (Metrics::default(), Health::default());
    let shown = health.clone();
    metrics.add(move |page| shown.put_on(page));
    metrics.add(process::put_on);
    serve(&config.network, gates, (&metrics, &health), log)?;
    Ok((metrics, health))
}

/// Serves the pages, if they are to be.
fn serve(
    network: &NetworkConfig,
    gates: &Gates,
    (metrics, health): (&Metrics, &Health),
    log: &Log,
) -> Result<(), BrokerError> {
    let Some(text) = &network.metrics_listener else { return Ok(()) };
    let access = &network.metrics_access;
    let gate = gates.get(METRICS).map(Arc::clone);
    let scheme = if gate.is_some() { "https" } else { "http" };
    let login = access.login.as_ref().map(|(name, password)| (name.as_str(), password.reveal()));
    let door = Door::new(gate, login);
    let address = http::serve(bind_metrics(text)?, door, metrics, health, log)?;
    log.info("wiring", format!("numbers are at {scheme}://{address}/metrics"));
    if address.ip().is_loopback() {
        return Ok(());
    }
    let asks_for_certificates =
        access.tls.as_ref().is_some_and(|tls| tls.client_auth == ClientAuth::Required);
    if !asks_for_certificates && login.is_none() {
        log.warn(
            "wiring",
            format!(
                "numbers, slow requests and the console are open to everyone who reaches {address}: ask for a \
                 password (aplomb.metrics.user) or for certificates (aplomb.metrics.ssl.client.auth=required), or \
                 set aplomb.metrics.listener to an address of this host alone"
            ),
        );
    } else if access.tls.is_none() {
        log.warn(
            "wiring",
            format!(
                "passwords travel to {address} as they are: aplomb.metrics.ssl.keystore.location would hide them"
            ),
        );
    }
    Ok(())
}
