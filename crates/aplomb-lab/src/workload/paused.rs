//! A consumer that is paused: it asks for much, and takes nothing of what comes.
//!
//! The broker can send no more than fits into two sockets, and the rest of the answer waits. No
//! thread is needed for that: the connection is there until it is dropped.

use std::io::Write as _;
use std::net::TcpStream;

use aplomb_protocol::frame::encode_request;
use aplomb_protocol::messages::FetchRequest;
use aplomb_protocol::messages::fetch_request::{FetchPartition, FetchTopic};

use super::WorkloadError;

/// The last version that has names of topics, which every broker of today knows.
const VERSION: i16 = 12;
/// Bytes that it asks for: more than any socket takes.
const BYTES: i32 = 50 << 20;
const WHAT: &str = "the consumer that is paused";

/// A connection whose other end has much to send.
#[derive(Debug)]
pub(crate) struct Paused {
    _connection: TcpStream,
}

/// Asks for all that a topic has in its first partitions.
///
/// # Errors
/// When the broker does not take the request.
pub(crate) fn start(address: &str, topic: &str, partitions: i32) -> Result<Paused, WorkloadError> {
    let failed = |error| WorkloadError::System { what: WHAT, error };
    let frame = encode_request(&request(topic, partitions), VERSION, 0, "aplomb-lab-paused")
        .map_err(|error| failed(std::io::Error::other(error)))?;
    let mut connection = TcpStream::connect(address).map_err(failed)?;
    connection.write_all(&frame).map_err(failed)?;
    Ok(Paused { _connection: connection })
}

fn request(topic: &str, partitions: i32) -> FetchRequest {
    let partition = |partition| FetchPartition {
        partition,
        fetch_offset: 0,
        partition_max_bytes: BYTES,
        ..Default::default()
    };
    FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: BYTES,
        topics: vec![FetchTopic {
            topic: topic.to_owned(),
            partitions: (0..partitions).map(partition).collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn it_asks_once_and_stays() {
        let broker = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = broker.local_addr().expect("it has one").to_string();
        let paused = start(&address, "orders", 8).expect("somebody listens");
        let (mut there, _) = broker.accept().expect("it has connected");
        let mut length = [0; 4];
        there.read_exact(&mut length).expect("a frame");
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        there.read_exact(&mut frame).expect("all of it");
        assert_eq!(frame[..4], [0, 1, 0, 12], "Fetch, in the version that has names");
        assert!(frame.windows(6).any(|bytes| bytes == b"orders"));
        drop(paused);
        assert_eq!(there.read(&mut length).expect("an end"), 0);
    }
}
