//! Tickets that this process shows as a client.

use std::ffi::CString;

use aplomb_broker::config::{ClientTickets, TicketCache};
use aplomb_security::client::{TicketExchange, TicketHolder};

use super::library::{Library, NoLibrary, library};

/// Where tickets lie that were got with a keytab: in this process alone.
const OWN_CACHE: &str = "MEMORY:aplomb";

/// Tickets of a cache, or that a keytab gets. Both are read anew for each exchange: tickets that
/// `kinit` renews count at once.
#[derive(Debug)]
pub(crate) struct OwnTickets {
    library: &'static Library,
    config: ClientTickets,
}

impl OwnTickets {
    /// Loads the library.
    pub(crate) fn new(config: ClientTickets) -> Result<Self, NoLibrary> {
        Ok(Self { library: library()?, config })
    }

    fn begin_with(
        &self,
        host: &str,
        cache: Option<&str>,
        keytab: Option<&str>,
    ) -> Result<Box<dyn TicketExchange>, String> {
        let text = |text: &str| CString::new(text).map_err(|error| error.to_string());
        let [cache, keytab] = [cache, keytab].map(|place| place.map(text).transpose());
        let (cache, keytab, principal) = (cache?, keytab?, self.config.principal.as_deref());
        let service = format!("{}@{host}", self.config.service);
        let exchange = self.library.initiate(&service, principal, cache.as_deref(), keytab.as_deref());
        Ok(Box::new(exchange.map_err(|fault| fault.why)?))
    }
}

impl TicketHolder for OwnTickets {
    fn begin(&self, host: &str) -> Result<Box<dyn TicketExchange>, String> {
        let ClientTickets { cache, keytab, .. } = &self.config;
        let cached = cache.as_ref().map(|cache| match cache {
            TicketCache::Usual => self.begin_with(host, None, None),
            TicketCache::File(file) => self.begin_with(host, Some(&format!("FILE:{file}")), None),
        });
        match (cached, keytab) {
            (Some(Ok(exchange)), _) => Ok(exchange),
            (_, Some(keytab)) => self.begin_with(host, Some(OWN_CACHE), Some(keytab)),
            (Some(Err(why)), None) => Err(why),
            (None, None) => unreachable!("the settings name one of them"),
        }
    }
}
