//! Access control (`kafka.server:type=plugins,config=authorizer.class.name`), where an authorizer is
//! set. Neither set of rules has names for it: these are the ones that the JMX exporter gives
//! without a rule.

use std::sync::Arc;

use aplomb_broker::figures::ShardFigures;
use aplomb_model::Instant;

use super::super::recent::Recent;
use super::{Page, RATES};

const LABELS: [(&str, &str); 3] =
    [("class", "StandardAuthorizer"), ("config", "authorizer.class.name"), ("role", "broker")];

/// Decisions: of each kind, and what they were a while ago.
#[derive(Debug)]
pub(super) struct AccessRates(Recent<[u64; 2]>);

impl AccessRates {
    pub(super) fn new(now: Instant) -> Self {
        Self(Recent::new(RATES, now, [0; 2]))
    }

    pub(super) fn put_on(&mut self, page: &mut Page, shards: &[Arc<ShardFigures>], now: Instant) {
        let Some(acls) = shards.iter().find_map(|shard| shard.access().acls()) else { return };
        let each: Vec<[u64; 2]> = shards.iter().map(|shard| shard.access().decisions()).collect();
        let current = each.iter().fold([0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
        let (ago, before) = self.0.before(now, &current);
        let minutes = ago.as_secs_f64() / 60.0;
        let rate = |count: u64| if minutes == 0.0 { 0.0 } else { count as f64 / minutes };
        let new = [0, 1].map(|n| current[n].saturating_sub(before[n]));
        for (name, count) in [
            ("kafka_server_plugins_authorization_allowed_rate_per_minute", new[0]),
            ("kafka_server_plugins_authorization_denied_rate_per_minute", new[1]),
            ("kafka_server_plugins_authorization_request_rate_per_minute", new[0] + new[1]),
        ] {
            page.gauge(name, "Decisions on what clients may do, a minute.", &LABELS, rate(count));
        }
        page.gauge("kafka_server_plugins_acls_total_count", "ACLs.", &LABELS, acls as f64);
        for (n, [allowed, denied]) in each.into_iter().enumerate() {
            for (outcome, count) in [("allowed", allowed), ("denied", denied)] {
                let labels = [("outcome", outcome), ("shard", &*n.to_string())];
                let help = "Decisions on what clients may do.";
                page.counter("aplomb_authorizations_total", help, &labels, count);
            }
        }
    }
}
