//! A new metadata image, and what a shard makes of it: its partitions, and the settings in force.

use std::sync::Arc;

use super::message::Output;
use super::{Shard, shown};
use crate::metadata::{Delta, MetadataImage};
use crate::ports::Now;
use crate::replicas::Hosting;

impl Shard {
    /// Takes a new image, and makes the partitions of this shard what it says.
    pub(super) fn apply(&mut self, image: Arc<MetadataImage>, delta: &Delta, now: Now) {
        self.view.set_image(image);
        if delta.broker_configs {
            self.reconfigure();
        }
        let outputs = Output::of_image(&self.view, delta, self.head.is_some());
        outputs.for_each(|output| self.post.push(output));
        let Self { view, partitions, replicas, storage, notes, fx, .. } = self;
        replicas.apply(delta, Hosting { view, partitions, storage, notes, now, fx });
        self.coordinators.on_metadata(delta);
        if self.head.is_some() {
            shown::show_cluster(&self.view, &self.figures);
        }
    }

    /// The broker's own settings, with what the image says of them.
    fn reconfigure(&mut self) {
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
