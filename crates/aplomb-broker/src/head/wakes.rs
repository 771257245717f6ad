//! What the controller does because it is time, and not because it is asked.

use aplomb_model::Instant;

use super::token_sweep::TokenSweep;
use super::{Head, HeadEffect, event};
use crate::partition::Partition;
use crate::ports::{Now, Severity};
use crate::security::TokenKey;
use crate::storage::Purpose;
use crate::view::View;

impl Head {
    /// When [`Self::on_wake`] has something to do.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let sweep = self.token_sweep.as_ref().filter(|_| !self.is_leaving).map(TokenSweep::wake_at);
        if self.indexing.is_some() { Some(Instant::START) } else { sweep }
    }

    /// That time may have come.
    pub(crate) fn on_wake(&mut self, now: Now) {
        self.indexing.take_if(|key| self.controller.index_tokens(key));
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

    /// Whether tokens can be found by what their holders know. If not, they are made ready for it
    /// in some turns from here on: it is to be asked again.
    pub(crate) fn finds_tokens(&mut self, key: TokenKey) -> bool {
        let finds = self.controller.has_token_index();
        if !finds {
            self.indexing = Some(key);
        }
        finds
    }
}

impl Head {
    /// Makes a snapshot of the published image if one is due.
    pub(crate) fn consider_snapshot(&mut self, view: &View, metadata: &Partition, now: Now) {
        let made = self.snapshots.make_if_due(view, metadata.log().size(), now);
        match made {
            Ok(command) => {
                let submit = |command| HeadEffect::Submit(command, Purpose::Snapshot);
                self.effects.extend(command.map(submit));
            }
            Err(error) => {
                let text = format!("metadata snapshot cannot be written: {error}");
                self.effects.push(event(Severity::Error, text));
            }
        }
    }

    /// A snapshot is on the disk, or never will be: what it stands for need not be in the log any
    /// more.
    pub(crate) fn on_snapshot(&mut self, written: bool, metadata: &mut Partition) {
        if let Some(end) = self.snapshots.on_ended(written) {
            metadata.raise_start(end);
            let obsolete = self.snapshots.take_obsolete(metadata.log().size());
            self.effects.extend(obsolete.map(|command| HeadEffect::Submit(command, Purpose::Chore)));
        }
    }
}
