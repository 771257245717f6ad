//! The producer id and epoch of an idempotent producer, and how it gets them.

use std::time::Duration;

use aplomb_model::{Instant, ProducerEpoch, ProducerId};
use aplomb_protocol::messages::InitProducerIdResponse;

/// Who the producer is to the brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// It is not idempotent, and never asks.
    Anonymous,
    Wanted {
        not_before: Instant,
    },
    Asked,
    Known(ProducerId, ProducerEpoch),
}

impl Identity {
    pub(super) fn new(idempotent: bool) -> Self {
        if idempotent { Self::Wanted { not_before: Instant::START } } else { Self::Anonymous }
    }

    /// Whether records can be sent.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self, Self::Anonymous | Self::Known(..))
    }

    /// What batches are stamped with; `None` where they are not.
    pub(super) fn known(&self) -> Option<(ProducerId, ProducerEpoch)> {
        match self {
            Self::Known(id, epoch) => Some((*id, *epoch)),
            Self::Anonymous | Self::Wanted { .. } | Self::Asked => None,
        }
    }

    /// The broker knows another past of this producer: it begins anew under another id.
    pub(super) fn want_another(&mut self, now: Instant) {
        if matches!(self, Self::Known(..)) {
            *self = Self::Wanted { not_before: now };
        }
    }

    /// Whether the request for an id goes out now. True once.
    pub(super) fn ask(&mut self, now: Instant) -> bool {
        let asks = matches!(self, Self::Wanted { not_before } if *not_before <= now);
        if asks {
            *self = Self::Asked;
        }
        asks
    }

    /// The answer, or `None` when it was lost. Returns whether there is an id now.
    pub(super) fn answered(
        &mut self,
        response: Option<&InitProducerIdResponse>,
        now: Instant,
        backoff: Duration,
    ) -> bool {
        let known = response.filter(|r| r.error_code == 0).and_then(|r| {
            Some(Self::Known(ProducerId::from_wire(r.producer_id)?, ProducerEpoch(r.producer_epoch)))
        });
        *self = known.unwrap_or(Self::Wanted { not_before: now + backoff });
        known.is_some()
    }

    /// When it wants to ask.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        match self {
            Self::Wanted { not_before } => Some(*not_before),
            Self::Anonymous | Self::Asked | Self::Known(..) => None,
        }
    }
}
