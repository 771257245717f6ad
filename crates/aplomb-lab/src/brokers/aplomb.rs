//! Aplomb, from the executable that is running or another.
//!
//! What always holds: its request threads are under a guard that ends the process if one of them makes a system call that could wait for a disk.

use std::path::{Path, PathBuf};

use super::settings::{common, write_properties};
use super::{BrokerError, BrokerUnderTest, Kind, NumbersAt, Override, Places, Process, Settings, free_ports};
use crate::record;

/// A broker of this program.
#[derive(Debug)]
pub struct Aplomb {
    executable: PathBuf,
    places: Places,
    settings: Settings,
    overrides: Vec<Override>,
    address: String,
    metrics: String,
    config: PathBuf,
    log: PathBuf,
    process: Option<Process>,
}

impl Aplomb {
    /// A broker with what is in `settings` and `overrides` beside its defaults; with `executable` in place of the one that is running.
    ///
    /// # Errors
    /// When there are no ports, or when this program does not know where it is.
    pub fn new(
        executable: Option<&Path>,
        places: Places,
        settings: &Settings,
        overrides: &[Override],
    ) -> Result<Self, BrokerError> {
        let executable = match executable {
            Some(path) => path.to_owned(),
            None => std::env::current_exe().map_err(BrokerError::system("looking for this program"))?,
        };
        let [port, controller, metrics] = free_ports()?;
        let metrics = format!("127.0.0.1:{metrics}");
        let mut all = common(&places, port, controller);
        all.extend([
            ("aplomb.guard".to_owned(), "enforce".to_owned()),
            ("aplomb.metrics.listener".to_owned(), metrics.clone()),
            ("aplomb.tail.dir".to_owned(), places.memory.display().to_string()),
        ]);
        all.extend(settings.iter().cloned().chain(overrides.iter().map(Override::pair)));
        Ok(Self {
            executable,
            settings: all,
            overrides: overrides.to_vec(),
            address: format!("127.0.0.1:{port}"),
            metrics,
            config: places.own.join("aplomb.properties"),
            log: places.logs.join("aplomb.log"),
            places,
            process: None,
        })
    }

    fn command(&self) -> Vec<String> {
        let (executable, config) = (self.executable.display().to_string(), self.config.display().to_string());
        vec![executable, "serve".to_owned(), "--config".to_owned(), config]
    }
}

impl BrokerUnderTest for Aplomb {
    fn kind(&self) -> Kind {
        Kind::Aplomb
    }

    fn about(&self) -> record::Broker {
        record::Broker {
            kind: self.kind().name().to_owned(),
            name: "Aplomb".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command(),
            jvm_flags: Vec::new(),
            java: None,
            overrides: self.overrides.iter().map(Override::to_string).collect(),
        }
    }

    fn prepare(&mut self) -> Result<(), BrokerError> {
        write_properties(&self.config, &self.settings)
    }

    fn launch(&mut self) -> Result<(), BrokerError> {
        self.process = Some(Process::start("Aplomb", &self.command(), &self.log)?);
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

    fn numbers(&self) -> Option<NumbersAt> {
        Some(NumbersAt::Page { address: self.metrics.clone() })
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
