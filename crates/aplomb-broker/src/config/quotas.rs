//! Settings of quotas (Apache Kafka 4.4.0: `QuotaConfig`).

use std::time::Duration;

use super::reading::Reading;

/// What a rate is measured over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaWindows {
    /// So many windows.
    pub count: u32,
    /// Each so long.
    pub length: Duration,
}

/// Settings of quotas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotasConfig {
    /// `quota.window.num`, `quota.window.size.seconds`: of clients.
    pub clients: QuotaWindows,
    /// `controller.quota.window.num`, `controller.quota.window.size.seconds`: of partitions that
    /// are created and deleted.
    pub mutations: QuotaWindows,
}

impl QuotasConfig {
    pub(super) fn read(reading: &Reading) -> Self {
        let windows = |number: &str, seconds: &str| QuotaWindows {
            count: reading.count(number),
            length: Duration::from_secs(reading.count(seconds).into()),
        };
        Self {
            clients: windows("quota.window.num", "quota.window.size.seconds"),
            mutations: windows("controller.quota.window.num", "controller.quota.window.size.seconds"),
        }
    }
}
