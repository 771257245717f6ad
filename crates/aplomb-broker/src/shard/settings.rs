//! Settings that change while the broker runs.

use std::sync::Arc;

use super::message::Output;
use super::post::Post;
use crate::head::Head;
use crate::view::View;

/// The broker's own settings, with what the image says of them.
///
/// # Errors
/// What cannot be in force. The controller checks before it writes: another has written.
pub(super) fn change(view: &mut View, head: Option<&Head>, post: &mut Post) -> Result<(), String> {
    let old = view.config().clone();
    let changed = old
        .in_force(&view.image().layers(&old))
        .map_err(|error| format!("settings changed at run time are not in force: {error}"))?;
    if let Some(head) = head {
        let limits = Output::connection_limits(&old.network, &changed.network);
        limits.into_iter().for_each(|limits| post.push(limits));
        head.stores().put_in_force(&changed.security);
    }
    view.set_config(Arc::new(changed));
    Ok(())
}
