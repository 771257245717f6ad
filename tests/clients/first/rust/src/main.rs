//! The first minute with rskafka: the steps of ../../steps.py, told as it tells them. rskafka
//! describes neither clusters nor settings, and counts partitions in its list of topics.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, UNIX_EPOCH};

use rskafka::BackoffConfig;
use rskafka::chrono::DateTime;
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use tokio::io::{AsyncBufReadExt, BufReader};

const TOPIC: &str = "first";
const RECORDS: usize = 20;

/// What a step found, as JSON.
type Said = Result<String, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut addresses = std::env::args().skip(1);
    let broker = addresses.next().expect("the broker's address");
    let nowhere = addresses.next().expect("an address at which nothing listens");
    tell("list", topics(&broker).await);
    tell("create", create(&broker).await);
    tell("describe", describe(&broker).await);
    tell("produce", produce(&broker).await);
    tell("consume", consume(&broker).await);
    tell("missing", missing(&broker).await);
    tell("restart", restart(&broker).await);
    tell("delete", delete(&broker).await);
    tell("nowhere", topics(&nowhere).await);
    println!("{{\"release\": \"rskafka {}\"}}", env!("RSKAFKA_RELEASE"));
}

fn tell(step: &str, said: Said) {
    let said = said.unwrap_or_else(|failure| format!("{{\"error\": {:?}}}", failure.to_string()));
    println!("{{\"step\": {step:?}, \"said\": {said}}}");
}

/// By default it tries for as long as it is let.
async fn client(broker: &str) -> Result<Client, Box<dyn Error>> {
    let patience = BackoffConfig { deadline: Some(Duration::from_secs(10)), ..BackoffConfig::default() };
    Ok(ClientBuilder::new(vec![broker.to_owned()]).backoff_config(patience).build().await?)
}

async fn partition(broker: &str, topic: &str) -> Result<PartitionClient, Box<dyn Error>> {
    let client = client(broker).await?;
    Ok(client.partition_client(topic, 0, UnknownTopicHandling::Error).await?)
}

async fn topics(broker: &str) -> Said {
    let found = client(broker).await?.list_topics().await?;
    let names: Vec<_> = found.into_iter().map(|topic| topic.name).collect();
    Ok(format!("{names:?}"))
}

async fn create(broker: &str) -> Said {
    client(broker).await?.controller_client()?.create_topic(TOPIC, 3, 1, 10_000).await?;
    topics(broker).await
}

async fn describe(broker: &str) -> Said {
    let found = client(broker).await?.list_topics().await?;
    let topic = found.into_iter().find(|topic| topic.name == TOPIC).ok_or("no such topic")?;
    Ok(topic.partitions.len().to_string())
}

async fn send(partition: &PartitionClient) -> Result<usize, Box<dyn Error>> {
    let now = UNIX_EPOCH.elapsed()?.as_millis().try_into()?;
    let now = DateTime::from_timestamp_millis(now).ok_or("the clock is far off")?;
    let records = (0..RECORDS).map(|number| Record {
        key: None,
        value: Some(number.to_string().into_bytes()),
        headers: BTreeMap::new(),
        timestamp: now,
    });
    let sent = partition.produce(records.collect(), Compression::NoCompression).await?;
    Ok(sent.len())
}

/// The offsets of the next records.
async fn read(partition: &PartitionClient, from: i64, count: usize) -> Result<Vec<i64>, Box<dyn Error>> {
    let mut found = Vec::new();
    while found.len() < count {
        let next = from + found.len() as i64;
        let (records, _) = partition.fetch_records(next, 1..1_000_000, 1_000).await?;
        found.extend(records.into_iter().map(|record| record.offset));
    }
    Ok(found)
}

async fn produce(broker: &str) -> Said {
    Ok(send(&partition(broker, TOPIC).await?).await?.to_string())
}

async fn consume(broker: &str) -> Said {
    Ok(read(&partition(broker, TOPIC).await?, 0, RECORDS).await?.len().to_string())
}

async fn missing(broker: &str) -> Said {
    match partition(broker, "missing").await {
        Ok(_) => Ok("\"found\"".to_owned()),
        Err(refused) if refused.to_string().contains("UnknownTopicOrPartition") => {
            Ok("\"UNKNOWN_TOPIC_OR_PARTITION\"".to_owned())
        }
        Err(failure) => Err(failure),
    }
}

async fn restart(broker: &str) -> Said {
    let partition = partition(broker, TOPIC).await?;
    send(&partition).await?;
    let before = read(&partition, 0, 2 * RECORDS).await?;
    println!("{{\"restart\": true}}");
    BufReader::new(tokio::io::stdin()).read_line(&mut String::new()).await?;
    send(&partition).await?;
    let after = read(&partition, before.len() as i64, RECORDS).await?;
    let last = after.last().ok_or("nothing was read")?;
    Ok(format!("[{}, {}, {last}]", before.len(), after.len()))
}

async fn delete(broker: &str) -> Said {
    client(broker).await?.controller_client()?.delete_topic(TOPIC, 10_000).await?;
    topics(broker).await
}
