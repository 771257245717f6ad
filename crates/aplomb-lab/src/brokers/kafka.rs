//! Apache Kafka, one node in KRaft mode, as its own start script starts it.
//!
//! What always holds: the JVM's flags are those of `kafka-server-start.sh` and `kafka-run-class.sh`
//! (compared with the source tree 4.0.0-SNAPSHOT, 1eb7644349c): a heap of 1 GiB, G1 with its
//! settings, the collector's log in ten files of 100 MB, the JMX agent without a port. Beside these
//! there is a second log with the safepoints, for the record.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::settings::{common, without_aplombs};
use super::{
    BrokerError, ClassPath, Kind, NumbersAt, Override, Places, Product, Settings, Started, free_ports, jvm,
};
use crate::record;

/// `KAFKA_HEAP_OPTS` of `kafka-server-start.sh`.
const HEAP: [&str; 2] = ["-Xmx1G", "-Xms1G"];
/// `KAFKA_JVM_PERFORMANCE_OPTS` of `kafka-run-class.sh`.
const PERFORMANCE: [&str; 7] = [
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
];
/// `KAFKA_JMX_OPTS` of `kafka-run-class.sh`.
const JMX: [&str; 3] = [
    "-Dcom.sun.management.jmxremote=true",
    "-Dcom.sun.management.jmxremote.authenticate=false",
    "-Dcom.sun.management.jmxremote.ssl=false",
];
/// Lines as the lab wants them: with their times, to the standard error.
const LOG: [&str; 3] = [
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss,SSS",
];
/// Any id will do: the cluster lives as long as the run.
const CLUSTER_ID: &str = "aplombLabIncidents0000";

/// A release of Apache Kafka.
#[derive(Debug)]
pub struct Kafka {
    jars: ClassPath,
    java: String,
    java_version: Option<String>,
    collector_log: PathBuf,
    safepoints: PathBuf,
}

impl Kafka {
    /// A broker with what is in `settings` and `overrides` beside its defaults; keys of Aplomb are
    /// left out.
    ///
    /// # Errors
    /// When there are no ports.
    pub fn broker(
        jars: ClassPath,
        places: Places,
        settings: &Settings,
        overrides: &[Override],
    ) -> Result<Started<Self>, BrokerError> {
        let [port, controller] = free_ports()?;
        let mut all = common(&places, port, controller);
        all.extend(without_aplombs(settings));
        let overrides: Vec<_> = overrides.iter().filter(|one| !one.is_aplombs()).cloned().collect();
        let java = match std::env::var("JAVA_HOME") {
            Ok(home) if !home.is_empty() => format!("{home}/bin/java"),
            _ => "java".to_owned(),
        };
        let product = Self {
            jars,
            java_version: java_version(&java),
            java,
            collector_log: places.logs.join("kafkaServer-gc.log"),
            safepoints: places.own.join("safepoints.log"),
        };
        Ok(Started::new(product, places, port, all, overrides))
    }

    fn flags(&self) -> Vec<String> {
        let (collector, safepoints) = (self.collector_log.display(), self.safepoints.display());
        let mut flags: Vec<String> = HEAP.iter().chain(&PERFORMANCE).map(|&flag| flag.to_owned()).collect();
        flags.push(format!("-Xlog:gc*:file={collector}:time,tags:filecount=10,filesize=100M"));
        flags.push(format!("-Xlog:safepoint:file={safepoints}:timenanos"));
        flags.extend(JMX.iter().chain(&LOG).map(|&flag| flag.to_owned()));
        flags
    }
}

impl Product for Kafka {
    const KIND: Kind = Kind::Kafka;
    const NAME: &'static str = "Apache Kafka";

    fn version(&self) -> String {
        self.jars.version.clone()
    }

    fn command(&self, config: &Path) -> Vec<String> {
        let mut command = vec![self.java.clone()];
        command.extend(self.flags());
        command.extend(["-cp".to_owned(), self.jars.path.clone(), "kafka.Kafka".to_owned()]);
        command.push(config.display().to_string());
        command
    }

    fn describe(&self, about: &mut record::Broker) {
        // The class path is a page of jars, and says no more than the version does.
        if let Some(path) = about.command.iter_mut().find(|word| **word == self.jars.path) {
            *path = format!("<jars of kafka_2.13:{}>", self.jars.version);
        }
        about.jvm_flags = self.flags();
        about.java.clone_from(&self.java_version);
    }

    fn format(&self, config: &Path) -> Result<(), BrokerError> {
        let done = Command::new(&self.java)
            .args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"])
            .args([&self.jars.path, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c"])
            .arg(config)
            .output()
            .map_err(BrokerError::system(format!("starting {}", self.java)))?;
        if done.status.success() {
            return Ok(());
        }
        let said = [done.stdout, done.stderr].concat();
        Err(BrokerError::Format(String::from_utf8_lossy(&said).trim().to_owned()))
    }

    fn safepoint_log(&self) -> Option<&Path> {
        Some(&self.safepoints)
    }

    fn thread_names(&self, pid: u32) -> HashMap<u32, String> {
        jvm::thread_names(Path::new(&self.java), pid)
    }

    fn numbers(&self, pid: u32) -> NumbersAt {
        NumbersAt::Jvm { java: PathBuf::from(&self.java), pid }
    }
}

/// What `java -version` calls itself.
fn java_version(java: &str) -> Option<String> {
    let said = Command::new(java).arg("-version").output().ok()?.stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    said.lines().find(|line| line.contains("Runtime Environment")).or(said.lines().next()).map(str::to_owned)
}
