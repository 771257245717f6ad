//! A broker that the lab starts: one process at a time, configured by one properties file.
//!
//! What always holds: the process of before is gone when the next one starts; a broker that is
//! dropped takes its process with it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::settings::write_properties;
use super::{BrokerError, BrokerUnderTest, Kind, NumbersAt, Override, Places, Process, Settings};
use crate::record;

/// What tells the products apart that the lab can start.
pub trait Product {
    /// Which of those that `--broker` names.
    const KIND: Kind;
    /// Its name for people.
    const NAME: &'static str;

    /// The version that is run.
    fn version(&self) -> String;

    /// The command that starts it with the properties file `config`.
    fn command(&self, config: &Path) -> Vec<String>;

    /// What a record says beside the name, the version, the command and the settings.
    fn describe(&self, _about: &mut record::Broker) {}

    /// Formats the directories that the properties file names.
    ///
    /// # Errors
    /// When they cannot be formatted.
    fn format(&self, _config: &Path) -> Result<(), BrokerError> {
        Ok(())
    }

    /// The JVM's log of its safepoints.
    fn safepoint_log(&self) -> Option<&Path> {
        None
    }

    /// Whole names of a process's threads, where the kernel's own are cut off.
    fn thread_names(&self, _pid: u32) -> HashMap<u32, String> {
        HashMap::new()
    }

    /// Where a process's own account of its requests is to be had.
    fn numbers(&self, pid: u32) -> NumbersAt;
}

/// A product with its directories, its settings and its process.
#[derive(Debug)]
pub struct Started<P> {
    product: P,
    data: Vec<PathBuf>,
    settings: Settings,
    overrides: Vec<Override>,
    address: String,
    config: PathBuf,
    log: PathBuf,
    process: Option<Process>,
}

impl<P: Product> Started<P> {
    /// A broker that listens at `port` once it is started. Of `settings` that come twice the last
    /// counts, and `overrides` after all of them.
    pub(super) fn new(
        product: P,
        places: Places,
        port: u16,
        mut settings: Settings,
        overrides: Vec<Override>,
    ) -> Self {
        settings.extend(overrides.iter().map(Override::pair));
        let kind = P::KIND.name();
        Self {
            product,
            config: places.own.join(format!("{kind}.properties")),
            log: places.logs.join(format!("{kind}.log")),
            data: places.data,
            settings,
            overrides,
            address: format!("127.0.0.1:{port}"),
            process: None,
        }
    }
}

impl<P: Product> BrokerUnderTest for Started<P> {
    fn kind(&self) -> Kind {
        P::KIND
    }

    fn about(&self) -> record::Broker {
        let mut about = record::Broker {
            kind: P::KIND.name().to_owned(),
            name: P::NAME.to_owned(),
            version: self.product.version(),
            command: self.product.command(&self.config),
            overrides: self.overrides.iter().map(Override::to_string).collect(),
            ..record::Broker::default()
        };
        self.product.describe(&mut about);
        about
    }

    fn prepare(&mut self) -> Result<(), BrokerError> {
        write_properties(&self.config, &self.settings)?;
        self.product.format(&self.config)
    }

    fn launch(&mut self) -> Result<(), BrokerError> {
        self.process = Some(Process::start(P::NAME, &self.product.command(&self.config), &self.log)?);
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
        &self.data
    }

    fn log_file(&self) -> Option<&Path> {
        Some(&self.log)
    }

    fn safepoint_log(&self) -> Option<&Path> {
        self.product.safepoint_log()
    }

    fn thread_names(&self) -> HashMap<u32, String> {
        self.pid().map(|pid| self.product.thread_names(pid)).unwrap_or_default()
    }

    fn numbers(&self) -> Option<NumbersAt> {
        self.pid().map(|pid| self.product.numbers(pid))
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
