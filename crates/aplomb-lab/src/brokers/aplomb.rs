//! Aplomb, from the executable that is running or another.
//!
//! What always holds: its request threads are under a guard that ends the process if one of them
//! makes a system call that could wait for a disk.

use std::path::{Path, PathBuf};

use super::settings::common;
use super::{BrokerError, Kind, NumbersAt, Override, Places, Product, Settings, Started, free_ports};

/// This program.
#[derive(Debug)]
pub struct Aplomb {
    executable: PathBuf,
    metrics: String,
}

impl Aplomb {
    /// A broker with what is in `settings` and `overrides` beside its defaults; with `executable`
    /// in place of the one that is running.
    ///
    /// # Errors
    /// When there are no ports, or when this program does not know where it is.
    pub fn broker(
        executable: Option<&Path>,
        places: Places,
        settings: &Settings,
        overrides: &[Override],
    ) -> Result<Started<Self>, BrokerError> {
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
        all.extend(settings.iter().cloned());
        let product = Self { executable, metrics };
        Ok(Started::new(product, places, port, all, overrides.to_vec()))
    }
}

impl Product for Aplomb {
    const KIND: Kind = Kind::Aplomb;
    const NAME: &'static str = "Aplomb";

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn command(&self, config: &Path) -> Vec<String> {
        let (executable, config) = (self.executable.display().to_string(), config.display().to_string());
        vec![executable, "serve".to_owned(), "--config".to_owned(), config]
    }

    fn numbers(&self, _pid: u32) -> NumbersAt {
        NumbersAt::Page { address: self.metrics.clone() }
    }
}
