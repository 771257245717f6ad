//! A thread that derives the keys of delegation tokens: shards that need them come again when it
//! has them ([`TokenKeys`]).

use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use aplomb_broker::config::TokensConfig;
use aplomb_broker::sasl::TokenKeys;

/// Starts it, if there are tokens. It is at work until the process ends.
pub(super) fn start(config: &TokensConfig) -> io::Result<Option<Arc<TokenKeys>>> {
    let Some(key) = config.key() else { return Ok(None) };
    let (call, calls) = sync_channel(1);
    // If one call waits already, it will see to this, too.
    let keys = Arc::new(TokenKeys::new(key, move || {
        let _ = call.try_send(());
    }));
    let work = Arc::clone(&keys);
    let thread = std::thread::Builder::new().name("aplomb-tokens".to_owned());
    thread.spawn(move || {
        while calls.recv().is_ok() {
            while work.derive_next() {}
        }
    })?;
    Ok(Some(keys))
}
