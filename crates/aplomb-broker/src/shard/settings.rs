//! Settings that change while the broker runs.

use std::sync::Arc;

use super::{Output, Shard};

impl Shard {
    /// The broker's own settings, with what the image says of them.
    pub(super) fn reconfigure(&mut self) {
        let old = self.view.config().clone();
        let changed = match old.in_force(&self.view.image().layers(&old)) {
            Ok(changed) => Arc::new(changed),
            // The controller checks before it writes: another has written.
            Err(error) => {
                let text = format!("settings changed at run time are not in force: {error}");
                return self.warn("broker/config", text);
            }
        };
        if let Some(head) = &self.head {
            let limits = Output::connection_limits(&old.network, &changed.network);
            limits.into_iter().for_each(|limits| self.post.push(limits));
            head.stores().put_in_force(&changed.security);
        }
        self.view.set_config(changed);
    }
}
