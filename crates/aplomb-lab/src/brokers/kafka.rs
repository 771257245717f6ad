//! Apache Kafka, one node in KRaft mode, as its own start script starts it.
//!
//! What always holds: the JVM's flags are those of `kafka-server-start.sh` and `kafka-run-class.sh` (compared with the source tree 4.0.0-SNAPSHOT,
//! 1eb7644349c): a heap of 1 GiB, G1 with its settings, the collector's log in ten files of 100 MB, the JMX agent without a port. Beside these
//! there is a second log with the safepoints, for the record.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::settings::{common, without_aplombs, write_properties};
use super::{
    BrokerError, BrokerUnderTest, ClassPath, Kind, NumbersAt, Override, Places, Process, Settings,
    free_ports, jvm,
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

/// A broker of a release.
#[derive(Debug)]
pub struct Kafka {
    jars: ClassPath,
    java: String,
    java_version: Option<String>,
    places: Places,
    settings: Settings,
    overrides: Vec<Override>,
    address: String,
    config: PathBuf,
    log: PathBuf,
    safepoints: PathBuf,
    process: Option<Process>,
}

impl Kafka {
    /// A broker with what is in `settings` and `overrides` beside its defaults; keys of Aplomb are left out.
    ///
    /// # Errors
    /// When there are no ports.
    pub fn new(
        jars: ClassPath,
        places: Places,
        settings: &Settings,
        overrides: &[Override],
    ) -> Result<Self, BrokerError> {
        let [port, controller] = free_ports()?;
        let mut all = common(&places, port, controller);
        let overrides: Vec<_> = overrides.iter().filter(|one| !one.is_aplombs()).cloned().collect();
        all.extend(without_aplombs(settings).into_iter().chain(overrides.iter().map(Override::pair)));
        let java = match std::env::var("JAVA_HOME") {
            Ok(home) if !home.is_empty() => format!("{home}/bin/java"),
            _ => "java".to_owned(),
        };
        Ok(Self {
            jars,
            java_version: java_version(&java),
            java,
            settings: all,
            overrides,
            address: format!("127.0.0.1:{port}"),
            config: places.own.join("kafka.properties"),
            log: places.logs.join("kafka.log"),
            safepoints: places.own.join("safepoints.log"),
            places,
            process: None,
        })
    }

    fn flags(&self) -> Vec<String> {
        let collector = self.places.logs.join("kafkaServer-gc.log");
        let mut flags: Vec<String> = HEAP.iter().chain(&PERFORMANCE).map(|&flag| flag.to_owned()).collect();
        flags.push(format!("-Xlog:gc*:file={}:time,tags:filecount=10,filesize=100M", collector.display()));
        flags.push(format!("-Xlog:safepoint:file={}:timenanos", self.safepoints.display()));
        flags.extend(JMX.iter().chain(&LOG).map(|&flag| flag.to_owned()));
        flags
    }

    fn command(&self) -> Vec<String> {
        let mut command = vec![self.java.clone()];
        command.extend(self.flags());
        command.extend(["-cp".to_owned(), self.jars.path.clone(), "kafka.Kafka".to_owned()]);
        command.push(self.config.display().to_string());
        command
    }
}

impl BrokerUnderTest for Kafka {
    fn kind(&self) -> Kind {
        Kind::Kafka
    }

    fn about(&self) -> record::Broker {
        // The class path is a page of jars, and says no more than the version does.
        let mut command = self.command();
        if let Some(path) = command.iter_mut().find(|word| **word == self.jars.path) {
            *path = format!("<jars of kafka_2.13:{}>", self.jars.version);
        }
        record::Broker {
            kind: self.kind().name().to_owned(),
            name: "Apache Kafka".to_owned(),
            version: self.jars.version.clone(),
            command,
            jvm_flags: self.flags(),
            java: self.java_version.clone(),
            overrides: self.overrides.iter().map(Override::to_string).collect(),
        }
    }

    fn prepare(&mut self) -> Result<(), BrokerError> {
        write_properties(&self.config, &self.settings)?;
        let done = Command::new(&self.java)
            .args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"])
            .args([&self.jars.path, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c"])
            .arg(&self.config)
            .output()
            .map_err(BrokerError::system(format!("starting {}", self.java)))?;
        if done.status.success() {
            return Ok(());
        }
        let said = [done.stdout, done.stderr].concat();
        Err(BrokerError::Format(String::from_utf8_lossy(&said).trim().to_owned()))
    }

    fn launch(&mut self) -> Result<(), BrokerError> {
        self.process = Some(Process::start("Apache Kafka", &self.command(), &self.log)?);
        Ok(())
    }

    fn wait_until_it_answers(&mut self) -> Result<(), BrokerError> {
        self.process.as_mut().map_or(Ok(()), |process| process.wait_until_it_answers(&self.address))
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    fn ended(&mut self) -> Option<String> {
        self.process.as_mut().and_then(Process::ended)
    }

    fn data_directories(&self) -> &[PathBuf] {
        &self.places.data
    }

    fn log_file(&self) -> Option<&Path> {
        Some(&self.log)
    }

    fn safepoint_log(&self) -> Option<&Path> {
        Some(&self.safepoints)
    }

    fn thread_names(&self) -> HashMap<u32, String> {
        self.pid().map(|pid| jvm::thread_names(Path::new(&self.java), pid)).unwrap_or_default()
    }

    fn numbers(&self) -> Option<NumbersAt> {
        self.pid().map(|pid| NumbersAt::Jvm { java: PathBuf::from(&self.java), pid })
    }

    fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.stop();
        }
    }

    fn kill(&mut self) {
        self.process = None;
    }
}

/// What `java -version` calls itself.
fn java_version(java: &str) -> Option<String> {
    let said = Command::new(java).arg("-version").output().ok()?.stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    said.lines().find(|line| line.contains("Runtime Environment")).or(said.lines().next()).map(str::to_owned)
}
