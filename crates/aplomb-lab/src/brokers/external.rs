//! A broker that somebody else has started and will stop, with the directory that may be disturbed.
//!
//! What always holds: it is neither configured, started, stopped nor killed from here, and no
//! directory but the one that was given is looked at.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{BrokerError, BrokerUnderTest, Kind, NumbersAt, jvm};
use crate::record;

/// Somebody else's broker.
#[derive(Clone, Debug)]
pub struct External {
    /// Where clients find it, as `host:port`.
    pub address: String,
    /// Its log directory; it lies on the disk that is disturbed.
    pub directory: PathBuf,
    /// Its process; without it nobody's stack is looked at.
    pub pid: Option<u32>,
}

impl BrokerUnderTest for External {
    fn kind(&self) -> Kind {
        Kind::External
    }

    fn about(&self) -> record::Broker {
        record::Broker {
            kind: self.kind().name().to_owned(),
            name: format!("the broker at {}", self.address),
            ..record::Broker::default()
        }
    }

    fn prepare(&mut self) -> Result<(), BrokerError> {
        Ok(())
    }

    fn launch(&mut self) -> Result<(), BrokerError> {
        Ok(())
    }

    fn wait_until_it_answers(&mut self) -> Result<(), BrokerError> {
        Ok(())
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn data_directories(&self) -> &[PathBuf] {
        std::slice::from_ref(&self.directory)
    }

    fn thread_names(&self) -> HashMap<u32, String> {
        let names = |pid| Some(jvm::thread_names(&jvm::java_of(pid)?, pid));
        self.pid.and_then(names).unwrap_or_default()
    }

    fn numbers(&self) -> Option<NumbersAt> {
        self.pid.and_then(|pid| Some(NumbersAt::Jvm { java: jvm::java_of(pid)?, pid }))
    }

    fn log_file(&self) -> Option<&Path> {
        None
    }

    fn stop(&mut self) {}

    fn kill(&mut self) {}
}
