//! WriteTxnMarkers: the end of transactions is written into partitions. Coordinators of other
//! brokers ask for that, and operators whose transaction hangs (`kafka-transactions.sh abort`).

use aplomb_coordinator::runtime::MarkerWish;
use aplomb_log::producers::MarkerEpochRule;
use aplomb_model::batch::EndTxnMarker;
use aplomb_model::{ErrorCode, ProducerEpoch, ProducerId};
use aplomb_protocol::messages::write_txn_markers_request::{WritableTxnMarker, WriteTxnMarkersRequest};
use aplomb_protocol::messages::write_txn_markers_response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use crate::calls::MarkerCall;
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE, Scatter, named};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::WriteTxnMarkers, begin);

/// Where in a cell's second number the topic's place is; below that is the partition's.
const TOPIC_SHIFT: usize = 32;

/// The version of transactions in which each has an epoch of its own.
const EPOCH_EACH: i8 = 2;

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let mut request: WriteTxnMarkersRequest = asked.decode()?;
    // A marker for no partition is none.
    request.markers.retain(|marker| marker.topics.iter().any(|topic| !topic.partition_indexes.is_empty()));
    let response = WriteTxnMarkersResponse { markers: request.markers.iter().map(unanswered).collect() };
    let mut scatter = Scatter::new(asked.to, response, fill);
    let access = asked.access();
    let may_alter = access.may_quietly(AclOperation::Alter, On::Cluster);
    let allowed = if may_alter { Ok(()) } else { access.check(AclOperation::ClusterAction, On::Cluster) };
    for (m, marker) in request.markers.iter().enumerate() {
        let call = call(marker);
        for (t, topic) in marker.topics.iter().enumerate() {
            for (p, index) in topic.partition_indexes.iter().enumerate() {
                let cell = (m, t << TOPIC_SHIFT | p);
                let key = allowed.and_then(|()| named(asked.view.image(), &topic.name, *index));
                match (key, call) {
                    (Ok(key), Some(call)) => scatter.ask(cell, key, call, asked.calls),
                    (Ok(_), None) => scatter.fill(cell, ErrorCode::InvalidProducerIdMapping),
                    (Err(error), _) => scatter.fill(cell, error),
                }
            }
        }
    }
    asked.wait(scatter, PATIENCE)
}

/// `None`: no producer has such an id.
fn call(marker: &WritableTxnMarker) -> Option<MarkerCall> {
    let rule = if marker.transaction_version >= EPOCH_EACH {
        MarkerEpochRule::Above
    } else {
        MarkerEpochRule::NotBelow
    };
    let producer = ProducerId::from_wire(marker.producer_id)?;
    let epoch = ProducerEpoch(marker.producer_epoch);
    let end =
        EndTxnMarker { committed: marker.transaction_result, coordinator_epoch: marker.coordinator_epoch };
    Some(MarkerCall { marker: MarkerWish { producer, epoch, end }, rule })
}

fn unanswered(marker: &WritableTxnMarker) -> WritableTxnMarkerResult {
    let topics = marker.topics.iter().map(|topic| WritableTxnMarkerTopicResult {
        name: topic.name.clone(),
        partitions: topic
            .partition_indexes
            .iter()
            .map(|index| WritableTxnMarkerPartitionResult {
                partition_index: *index,
                error_code: ErrorCode::RequestTimedOut.to_wire(),
            })
            .collect(),
    });
    WritableTxnMarkerResult { producer_id: marker.producer_id, topics: topics.collect() }
}

/// A partition that is a group coordinator's log answers as any other.
fn fill(response: &mut WriteTxnMarkersResponse, (m, place): Cell, answer: Result<(), ErrorCode>, _: i16) {
    let error = match answer {
        Ok(()) => ErrorCode::None,
        Err(
            ErrorCode::NotCoordinator
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::CoordinatorLoadInProgress,
        ) => ErrorCode::NotLeaderOrFollower,
        Err(error) => error,
    };
    let topic = &mut response.markers[m].topics[place >> TOPIC_SHIFT];
    topic.partitions[place & ((1 << TOPIC_SHIFT) - 1)].error_code = error.to_wire();
}
