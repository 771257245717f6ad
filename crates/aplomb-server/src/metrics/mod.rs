//! Numbers for Prometheus: shared counters, put on a page on request; and how far the broker is.
//!
//! What always holds: counting is an addition to an atomic; the page is made and served by threads
//! of its own ([`http`]). The same thread looks at what slow requests waited for ([`recorder`]),
//! and makes what the [`console`] shows.

mod channel;
mod console;
mod door;
mod health;
pub mod http;
pub(crate) mod kafka;
pub(crate) mod limits;
mod page;
mod recent;
mod recorder;
mod server;
mod visitor;

pub(crate) use console::{Console, Sources};
pub use console::{TailFigures, TailSource};
pub use door::Door;
pub use health::{Health, Phase};
pub use kafka::BrokerFigures;
pub use page::{Kind, Labels, Page, Samples};
pub use recorder::RunDelays;
pub(crate) use recorder::{Recorder, RecorderParts};
pub(crate) use server::ServerFigures;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock;

/// Puts some numbers on the page. Called from the metrics' thread.
pub type Source = Box<dyn FnMut(&mut Page) + Send>;

/// Everything that can be put on the page. Cheap to clone.
#[derive(Clone, Default)]
pub struct Metrics {
    sources: Arc<Mutex<Vec<Source>>>,
    /// Once there are requests.
    observer: Arc<Mutex<Option<Observer>>>,
}

/// What looks at the broker a few times a second.
struct Observer {
    recorder: Recorder,
    console: Console,
}

impl Metrics {
    /// Adds a source. Its numbers follow those of earlier sources.
    pub fn add(&self, source: impl FnMut(&mut Page) + Send + 'static) {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(source));
    }

    /// Slow requests are recorded from here on, and the console has something to show.
    pub(crate) fn observe(&self, recorder: Recorder, console: Console) {
        *self.observer() = Some(Observer { recorder, console });
        let observer = Arc::clone(&self.observer);
        self.add(move |page| {
            if let Some(observer) = observer.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                observer.look();
                observer.recorder.put_on(page);
            }
        });
    }

    /// Looks at what happens: a few times a second.
    pub(crate) fn look(&self) {
        if let Some(observer) = self.observer().as_mut() {
            observer.look();
        }
    }

    /// Slow requests as JSON.
    pub(crate) fn slow(&self) -> String {
        let report = self.observer().as_mut().map(|observer| {
            observer.look();
            observer.recorder.report()
        });
        report.unwrap_or_else(|| "{\"requests\":[]}".to_owned())
    }

    /// What the console shows, with the steps of its history from number `since` on; `None` before
    /// there is anything.
    pub(crate) fn console(&self, since: u64) -> Option<String> {
        let mut observer = self.observer();
        let observer = observer.as_mut()?;
        observer.look();
        Some(observer.console.data(since, &observer.recorder))
    }

    fn observer(&self) -> MutexGuard<'_, Option<Observer>> {
        self.observer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page as text.
    #[must_use]
    pub fn render(&self) -> String {
        let mut page = Page::default();
        for source in self.sources.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            source(&mut page);
        }
        page.finish()
    }
}

impl Observer {
    fn look(&mut self) {
        self.recorder.look(clock::instant());
        self.console.look(&self.recorder);
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
