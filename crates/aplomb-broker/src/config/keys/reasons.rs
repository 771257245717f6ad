//! Why a key does nothing here. One sentence each: they end up in the log of the broker whose file
//! sets the key.

pub(super) const ALONE: &str = "this broker does not replicate yet";
pub(super) const CLUSTER_OF_ITS_OWN: &str = "this version is a cluster of its own";
pub(super) const NO_CLASSES: &str =
    "Java classes cannot be loaded, and ignoring this one would change what is allowed";
pub(super) const NO_JVM: &str = "there is no JVM whose classes it could name";
pub(super) const NO_PEERS: &str = "this broker calls no other node yet";
pub(super) const NO_PURGATORY: &str = "waiting requests need no tidying here";
pub(super) const NO_LOOKS: &str = "each transaction ends when its time is up, and is not looked for";
pub(super) const NO_POLLS: &str = "who waits for a transaction goes on when it can, and does not ask again";
pub(super) const EVEN_MOVES: &str =
    "moves between log directories keep to their rate evenly, and not in windows";
pub(super) const IN_PIECES: &str = "a log is loaded in pieces of 64 KiB, one a turn";
pub(super) const NO_QUORUM: &str = "the metadata quorum is this process alone";
pub(super) const NO_REQUEST_QUEUE: &str =
    "requests are handled by the loop that reads them, and wait in no queue; see queued.max.request.bytes";
pub(super) const NO_TICKETS: &str =
    "who the broker is lies in its keytab, and it has no ticket of its own that would be renewed";
pub(super) const NO_LOGIN: &str = "this broker logs in nowhere yet";
pub(super) const NO_LOGIN_CLASSES: &str =
    "Java classes cannot be loaded here, and this broker logs in nowhere yet";
pub(super) const NEWEST: &str = "the newest of ssl.enabled.protocols that the client knows is spoken";
pub(super) const NO_ENGINES: &str = "Java classes cannot be loaded here; stores are named by ssl.keystore.location and ssl.truststore.location";
pub(super) const NO_THREAD_POOLS: &str =
    "requests run on event loops; see num.network.threads and aplomb.shards";
pub(super) const NO_SHARE_GROUPS: &str = "there are no share groups yet";
pub(super) const NO_STREAMS_GROUPS: &str = "the streams protocol of groups is not spoken yet";
pub(super) const NO_TELEMETRY: &str = "clients are not asked for their metrics yet";
pub(super) const NO_TIERS: &str = "there is no tiered storage yet";
pub(super) const NO_TWO_PHASES: &str = "no producer takes part in a commit that somebody else decides yet";
pub(super) const SHARDS: &str = "coordinators run on the event loops of their partitions";
pub(super) const WITH_RECOVERY_POINTS: &str =
    "all files of offsets are written together; see aplomb.recovery.point.interval.ms";
