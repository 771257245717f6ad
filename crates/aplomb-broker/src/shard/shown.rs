//! What is shown of the whole cluster, by the shard that has the controller.

use crate::figures::ShardFigures;
use crate::view::View;

/// How large the cluster is, and how many ACLs it has where they count.
pub(super) fn show_cluster(view: &View, figures: &ShardFigures) {
    let (topics, partitions) = view.image().topics.totals();
    figures.set_cluster(topics, partitions);
    let has_authorizer = view.config().access.authorizer.is_some();
    figures.access().set_acls(has_authorizer.then(|| view.image().security.acls.len()));
}
