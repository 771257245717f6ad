//! What becomes of a request: read, checked against what is served, and handed to its API.

use std::time::Duration;

use aplomb_protocol::frame::{RequestHead, peek};
use aplomb_protocol::hot::fetch_request::FetchBody;
use aplomb_protocol::hot::produce_request::ProduceBody;
use aplomb_protocol::messages as m;
use aplomb_protocol::request::decode_request;
use aplomb_protocol::{ApiKey, DecodeError, Reader};

use super::Shard;
use super::operations::reply;
use crate::api::describe_log_dirs::LogDirsOp;
use crate::api::fetch::{self, FetchOp};
use crate::api::produce::ProduceOp;
use crate::api::scatter::ReplyTo;
use crate::api::{
    Context, alter_replica_log_dirs, api_versions, delete_records, describe_cluster, describe_configs,
    describe_producers, describe_topic_partitions, list_config_resources, list_offsets,
    list_partition_reassignments, metadata, offset_for_leader_epoch, served,
};
use crate::message::ShardMessage;
use crate::parked::Waiting;
use crate::ports::{CloseReason, Now, Output, Reply, Request, RequestId, ShardId};

/// How long lookups may take whose request does not say (`request.timeout.ms` of clients).
const PATIENCE: Duration = Duration::from_secs(30);

/// Batches that wait for memory do so at least this long, whatever little time their producer gives.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(1);

/// Why a request is not answered.
enum Refused {
    Malformed(DecodeError),
    Unsupported,
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl Shard {
    /// Takes a request that came in here, or that was passed on because it is for the controller.
    pub(super) fn dispatch(&mut self, request: Request, now: Now, out: &mut Vec<Output>) {
        let id = request.id;
        let (api_key, version) = peek(&request.frame);
        match self.try_dispatch(request, now, out) {
            Ok(()) => {}
            Err(Refused::Malformed(error)) => {
                let reason =
                    CloseReason::Malformed(format!("{error} (api key {api_key}, version {version})"));
                out.push(Output::Reply { id, reply: Reply::Close { reason } });
            }
            Err(Refused::Unsupported) => {
                let reason = CloseReason::Unsupported { api_key, version };
                out.push(Output::Reply { id, reply: Reply::Close { reason } });
            }
        }
    }

    fn try_dispatch(&mut self, request: Request, now: Now, out: &mut Vec<Output>) -> Result<(), Refused> {
        let id = request.id;
        let mut body = Reader::new(request.frame.clone());
        let head = RequestHead::decode(&mut body)?;
        let to = ReplyTo { api: head.api, version: head.version, correlation_id: head.correlation_id };
        if served(head.api.key(), head.version).is_none() {
            return self.refuse_version(id, to, out);
        }
        if is_controllers(head.api) {
            if self.controller.is_none() {
                out.push(Output::Send { to: ShardId(0), message: ShardMessage::Request(request) });
                return Ok(());
            }
            return Ok(self.decide(id, to, &mut body, now, out)?);
        }
        match head.api {
            ApiKey::Produce => {
                let body = ProduceBody::decode(&mut body, head.version)?;
                let patience = Duration::from_millis(u64::try_from(body.timeout_ms).unwrap_or(0));
                let deadline = now.instant + patience.max(SHORTEST_PATIENCE);
                let client = head.client_id.as_deref();
                let (op, calls) = ProduceOp::begin(&body, head.correlation_id, client, &self.image, deadline);
                self.start(id, Waiting::Produce(op), calls, Some(deadline), now, out);
            }
            ApiKey::Fetch => {
                let body = FetchBody::decode(&mut body, head.version)?;
                self.fetch(id, to, body, now, out);
            }
            ApiKey::ListOffsets => {
                let asked: m::ListOffsetsRequest = decode_request(&mut body, head.version)?;
                let (op, calls) = list_offsets::begin(&asked, to, &self.image);
                let patience = u64::try_from(asked.timeout_ms).ok().filter(|ms| *ms > 0);
                let deadline = now.instant + patience.map_or(PATIENCE, Duration::from_millis);
                self.start(id, Waiting::ListOffsets(op), calls, Some(deadline), now, out);
            }
            ApiKey::OffsetForLeaderEpoch => {
                let asked: m::OffsetForLeaderEpochRequest = decode_request(&mut body, head.version)?;
                let (op, calls) = offset_for_leader_epoch::begin(&asked, to, &self.image);
                self.start(id, Waiting::EpochEnds(op), calls, Some(now.instant + PATIENCE), now, out);
            }
            ApiKey::DeleteRecords => {
                let asked: m::DeleteRecordsRequest = decode_request(&mut body, head.version)?;
                let (op, calls) = delete_records::begin(&asked, to, &self.image);
                let patience = Duration::from_millis(u64::try_from(asked.timeout_ms).unwrap_or(0));
                self.start(id, Waiting::DeleteRecords(op), calls, Some(now.instant + patience), now, out);
            }
            ApiKey::DescribeLogDirs => {
                let asked: m::DescribeLogDirsRequest = decode_request(&mut body, head.version)?;
                let (op, calls) = LogDirsOp::begin(&asked, to, &self.image);
                self.start(id, Waiting::LogDirs(op), calls, Some(now.instant + PATIENCE), now, out);
            }
            ApiKey::DescribeProducers => {
                let asked: m::DescribeProducersRequest = decode_request(&mut body, head.version)?;
                let (op, calls) = describe_producers::begin(&asked, to, &self.image);
                self.start(id, Waiting::Producers(op), calls, Some(now.instant + PATIENCE), now, out);
            }
            ApiKey::AlterReplicaLogDirs => {
                let asked: m::AlterReplicaLogDirsRequest = decode_request(&mut body, head.version)?;
                let directories = self.log_dirs();
                let (op, calls, preferences) =
                    alter_replica_log_dirs::begin(&asked, to, &self.image, &directories);
                for (name, disk) in preferences {
                    self.tell_preference(name, disk, out);
                }
                self.start(id, Waiting::Moves(op), calls, Some(now.instant + PATIENCE), now, out);
            }
            ApiKey::ListPartitionReassignments => {
                let _: m::ListPartitionReassignmentsRequest = decode_request(&mut body, head.version)?;
                reply(id, to.with(&list_partition_reassignments::handle()), out);
            }
            ApiKey::ApiVersions => {
                let asked: m::ApiVersionsRequest = decode_request(&mut body, head.version)?;
                self.note_software(&request, &asked, head.version);
                let response =
                    api_versions::handle(&asked, head.version, &self.context(&request.session.listener));
                reply(id, to.with(&response), out);
            }
            ApiKey::Metadata => {
                let asked: m::MetadataRequest = decode_request(&mut body, head.version)?;
                let answer = metadata::handle(&asked, head.version, &self.context(&request.session.listener));
                reply(id, to.with(&answer.response), out);
                if !answer.create.is_empty() {
                    self.ask_for_topics(answer.create, now, out);
                }
            }
            ApiKey::DescribeCluster => {
                let asked: m::DescribeClusterRequest = decode_request(&mut body, head.version)?;
                let context = self.context(&request.session.listener);
                reply(id, to.with(&describe_cluster::handle(&asked, head.version, &context)), out);
            }
            ApiKey::DescribeTopicPartitions => {
                let asked: m::DescribeTopicPartitionsRequest = decode_request(&mut body, head.version)?;
                let context = self.context(&request.session.listener);
                reply(id, to.with(&describe_topic_partitions::handle(&asked, head.version, &context)), out);
            }
            ApiKey::DescribeConfigs => {
                let asked: m::DescribeConfigsRequest = decode_request(&mut body, head.version)?;
                reply(
                    id,
                    to.with(&describe_configs::handle(&asked, &self.context(&request.session.listener))),
                    out,
                );
            }
            ApiKey::ListConfigResources => {
                let asked: m::ListConfigResourcesRequest = decode_request(&mut body, head.version)?;
                let context = self.context(&request.session.listener);
                reply(id, to.with(&list_config_resources::handle(&asked, head.version, &context)), out);
            }
            other => unreachable!("{other:?} is served, and nobody serves it"),
        }
        Ok(())
    }

    fn fetch(&mut self, id: RequestId, to: ReplyTo, body: FetchBody, now: Now, out: &mut Vec<Output>) {
        let limit = self.config.network.max_fetch.0;
        let (correlation_id, image) = (to.correlation_id, self.image.clone());
        match FetchOp::begin(body, correlation_id, &image, &mut self.sessions, limit, now.instant) {
            Ok(mut op) => {
                let (reads, deadline) = (op.reads(), op.deadline());
                self.start(id, Waiting::Fetch(Box::new(op)), reads, Some(deadline), now, out);
            }
            Err(error) => reply(id, fetch::refuse(to.version, correlation_id, error), out),
        }
    }

    /// ApiVersions is answered in any version, so that a newer client can find out; anything else closes the connection.
    fn refuse_version(&mut self, id: RequestId, to: ReplyTo, out: &mut Vec<Output>) -> Result<(), Refused> {
        if to.api != ApiKey::ApiVersions {
            return Err(Refused::Unsupported);
        }
        let body = api_versions::unsupported_version();
        reply(id, ReplyTo { version: 0, ..to }.with(&body), out);
        Ok(())
    }

    /// What a client says it is, for those who look at the figures. An invalid name is refused and not noted.
    fn note_software(&mut self, request: &Request, asked: &m::ApiVersionsRequest, version: i16) {
        let (name, release) = (&asked.client_software_name, &asked.client_software_version);
        let said = version >= api_versions::WITH_SOFTWARE;
        if said && ![name, release].into_iter().all(|text| api_versions::is_software_text(text)) {
            return;
        }
        let (name, release) = if said { (name.as_str(), release.as_str()) } else { ("unknown", "unknown") };
        let connection = request.id.connection.number;
        self.notes.clients.introduce(connection, name, release, &request.session.listener);
    }

    pub(super) fn context<'a>(&'a self, listener: &'a str) -> Context<'a> {
        Context { image: &self.image, config: &self.config, listener }
    }
}

/// Whether the controller answers.
const fn is_controllers(api: ApiKey) -> bool {
    matches!(
        api,
        ApiKey::CreateTopics
            | ApiKey::DeleteTopics
            | ApiKey::CreatePartitions
            | ApiKey::AlterConfigs
            | ApiKey::IncrementalAlterConfigs
            | ApiKey::InitProducerId
            | ApiKey::AlterPartitionReassignments
            | ApiKey::UpdateFeatures
            | ApiKey::DescribeQuorum
    )
}
