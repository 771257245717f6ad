//! Keys of listeners, sockets, threads and requests. Names, types, defaults and limits are Apache
//! Kafka 4.4.0's `SocketServerConfigs` and `ServerConfigs`; where a default is ours, the sentence
//! says so.

use super::super::key::{ConfigKey, config_keys};
use super::reasons::{NO_PEERS, NO_PURGATORY, NO_REQUEST_QUEUE, NO_THREAD_POOLS};

config_keys! {
    "advertised.listeners": List = null, Any, High, ReadOnly, Used("network.advertised");
        "The addresses that clients are told, in the form of listeners. Unset: those of listeners.";
    "background.threads": Int = "10", AtLeast(1), High, ClusterWide, Unused(NO_THREAD_POOLS);
        "The number of background threads of a Java broker.";
    "connections.max.idle.ms": Long = "600000", Any, Medium, ReadOnly, Used("network.max_idle");
        "A connection without a request for this many milliseconds is closed; negative: never.";
    "delete.records.purgatory.purge.interval.requests": Int = "1", Any, Medium, ReadOnly, Unused(NO_PURGATORY);
        "How often a Java broker tidies its waiting DeleteRecords requests.";
    "early.start.listeners": List = null, Any, High, ReadOnly, Unused(NO_PEERS);
        "Listeners that open before the broker is ready to answer clients.";
    "fetch.max.bytes": Int = "57671680", AtLeast(1024), Medium, ReadOnly, Used("network.max_fetch");
        "The most bytes that one fetch response carries, whatever the client asks for.";
    "fetch.purgatory.purge.interval.requests": Int = "1000", Any, Medium, ReadOnly, Unused(NO_PURGATORY);
        "How often a Java broker tidies its waiting fetches.";
    "inter.broker.listener.name": Text = null, Any, Medium, ReadOnly, Unused(NO_PEERS);
        "The listener that brokers use among themselves.";
    "listener.security.protocol.map": Text = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", Any, Low, PerBroker, Used("network.listeners");
        "The security protocol of each listener name, as NAME:PROTOCOL, separated by commas.";
    "listeners": List = "PLAINTEXT://localhost:9092", Any, High, PerBroker, Used("network.listeners");
        "The addresses to listen on, as NAME://host:port, separated by commas. An empty host means every interface. The default is ours: only this machine can connect.";
    "max.connection.creation.rate": Int = "2147483647", AtLeast(0), Medium, ClusterWide, Used("network.connection_rate");
        "The most new connections in a second.";
    "max.connections": Int = "2147483647", AtLeast(0), Medium, ClusterWide, Used("network.max_connections");
        "The most connections at one time.";
    "max.connections.per.ip": Int = "2147483647", AtLeast(0), Medium, ClusterWide, Used("network.max_connections_per_ip");
        "The most connections at one time from one address.";
    "max.connections.per.ip.overrides": Text = "", Any, Medium, ClusterWide, Used("network.per_ip_overrides");
        "Limits for single addresses, as address:count, separated by commas.";
    "max.incremental.fetch.session.cache.slots": Int = "1000", AtLeast(0), Medium, ReadOnly, Used("network.fetch_sessions");
        "The number of fetch sessions that the broker remembers.";
    "max.request.partition.size.limit": Int = "2000", AtLeast(1), Medium, ReadOnly, Used("network.max_response_partitions");
        "The most partitions in one DescribeTopicPartitions response.";
    "num.io.threads": Int = "8", AtLeast(1), High, ClusterWide, Unused(NO_THREAD_POOLS);
        "The number of request handler threads of a Java broker.";
    "num.network.threads": Int = "3", AtLeast(1), High, ClusterWide, Used("network.most_shards");
        "The most event loops that carry connections and partitions, unless aplomb.shards says how many.";
    "producer.purgatory.purge.interval.requests": Int = "1000", Any, Medium, ReadOnly, Unused(NO_PURGATORY);
        "How often a Java broker tidies its waiting produce requests.";
    "queued.max.request.bytes": Long = "-1", Any, Medium, ReadOnly, Used("network.frames");
        "The most bytes of requests in memory before the broker stops reading from sockets; -1: see aplomb.frames.max.bytes.";
    "queued.max.requests": Int = "500", AtLeast(1), High, ReadOnly, Unused(NO_REQUEST_QUEUE);
        "The most requests that wait for a request handler thread of a Java broker.";
    "request.timeout.ms": Int = "30000", Any, High, ReadOnly, Unused(NO_PEERS);
        "How long the broker waits for an answer from another node, in milliseconds.";
    "share.fetch.purgatory.purge.interval.requests": Int = "1000", Any, Medium, ReadOnly, Unused(NO_PURGATORY);
        "How often a Java broker tidies its waiting share fetches.";
    "socket.connection.setup.timeout.max.ms": Long = "30000", Any, Medium, ReadOnly, Unused(NO_PEERS);
        "How long to wait for a connection to another node at most, in milliseconds.";
    "socket.connection.setup.timeout.ms": Long = "10000", Any, Medium, ReadOnly, Unused(NO_PEERS);
        "How long to wait for a connection to another node at first, in milliseconds.";
    "socket.listen.backlog.size": Int = "4096", AtLeast(1), Medium, ReadOnly, Used("network.backlog");
        "The length of the queue of connections that wait to be accepted, as far as the system's net.core.somaxconn goes. The default is ours: beyond Apache Kafka's 50, clients that come in a crowd wait a second before they try again.";
    "socket.receive.buffer.bytes": Int = "102400", Any, High, ReadOnly, Used("network.receive_buffer");
        "The SO_RCVBUF of client sockets in bytes; -1 leaves it to the operating system.";
    "socket.request.max.bytes": Int = "104857600", AtLeast(1), High, ReadOnly, Used("network.max_request");
        "The largest request in bytes. A longer one closes the connection.";
    "socket.send.buffer.bytes": Int = "102400", Any, High, ReadOnly, Used("network.send_buffer");
        "The SO_SNDBUF of client sockets in bytes; -1 leaves it to the operating system.";
}
