//! Clients with quotas (`kafka.server:type=Produce,user=…,client-id=…` and its like).

use aplomb_broker::quotas::QuotaKind;
use aplomb_model::Instant;

use super::{BrokerFigures, Page};

/// Clients may call themselves whatever they like: so many are shown.
const SHOWN: usize = 1000;

/// What those use that share a quota, and for how long they were throttled last.
pub(super) fn put_on(page: &mut Page, broker: &BrokerFigures, now: Instant) {
    // The book is one for all shards.
    let Some(shard) = broker.shards.first() else { return };
    for standing in shard.ledger().standings(SHOWN, now) {
        let (resource, rate, help) = match standing.kind {
            QuotaKind::Produce => ("Produce", "kafka_server_quota_byte_rate", "Bytes a second."),
            QuotaKind::Fetch => ("Fetch", "kafka_server_quota_byte_rate", "Bytes a second."),
            QuotaKind::Request => ("Request", "kafka_server_quota_request_time", "Percent of an event loop."),
            // What is left of their permits is where the controller is.
            QuotaKind::Mutation => continue,
        };
        let of = |name: &Option<std::sync::Arc<str>>| name.clone().unwrap_or_else(|| "".into());
        let (user, client) = (of(&standing.user), of(&standing.client));
        let labels = [("resource", resource), ("user", &*user), ("clientId", &*client)];
        page.gauge(rate, help, &labels, standing.rate);
        let help = "Milliseconds that the last answer said to wait.";
        page.gauge("kafka_server_quota_throttle_time", help, &labels, standing.throttled as f64);
        page.gauge("aplomb_quota_limit", "What there may be in a second.", &labels, standing.limit);
    }
}
