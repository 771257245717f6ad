//! Numbers for Prometheus: shared counters, put on a page on request; and how far the broker is.
//!
//! What always holds: counting is an addition to an atomic; the page is made and served by threads
//! of its own ([`http`]). The same thread looks at what slow requests waited for.

mod health;
pub mod http;
pub(crate) mod kafka;
pub(crate) mod limits;
mod page;
mod recent;
mod recorder;
mod server;
mod visitor;

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
    recorder: Arc<Mutex<Option<Recorder>>>,
}

impl Metrics {
    /// Adds a source. Its numbers follow those of earlier sources.
    pub fn add(&self, source: impl FnMut(&mut Page) + Send + 'static) {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(source));
    }

    /// Slow requests are recorded from here on.
    pub(crate) fn record(&self, recorder: Recorder) {
        *self.recorder() = Some(recorder);
        let recorder = Arc::clone(&self.recorder);
        self.add(move |page| {
            if let Some(recorder) = recorder.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                recorder.look(clock::instant());
                recorder.put_on(page);
            }
        });
    }

    /// Looks at what happens: a few times a second.
    pub(crate) fn look(&self) {
        if let Some(recorder) = self.recorder().as_mut() {
            recorder.look(clock::instant());
        }
    }

    /// Slow requests as JSON.
    pub(crate) fn slow(&self) -> String {
        self.recorder().as_mut().map_or_else(
            || "{\"requests\":[]}".to_owned(),
            |recorder| {
                recorder.look(clock::instant());
                recorder.report()
            },
        )
    }

    fn recorder(&self) -> MutexGuard<'_, Option<Recorder>> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
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

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
