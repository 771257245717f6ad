//! What the controller does because it is time, and not because it is asked.

use aplomb_model::Instant;

use super::token_sweep::TokenSweep;
use super::{Head, event};
use crate::ports::{Now, Severity};

impl Head {
    /// When [`Self::on_wake`] has something to do.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.token_sweep.as_ref().filter(|_| !self.is_leaving).map(TokenSweep::wake_at)
    }

    /// That time may have come.
    pub(crate) fn on_wake(&mut self, now: Now) {
        let Some(sweep) = &mut self.token_sweep else { return };
        if self.is_leaving || !sweep.is_due(now.instant) {
            return;
        }
        let (draft, has_more) = self.controller.sweep_tokens(now.wall);
        sweep.on_swept(has_more, now.instant);
        let records = self.controller.take(draft);
        if !records.is_empty() {
            let text = format!("{} delegation tokens have expired", records.len());
            self.effects.push(event(Severity::Info, text));
            self.write(Vec::new(), records, None, now);
        }
    }
}
