//! The client's side of the library.

use std::ffi::{CStr, c_int};
use std::fmt;
use std::ptr::{null, null_mut};

use aplomb_broker::sasl::gssapi::GssFault;
use aplomb_security::client::{TicketExchange, TicketStep};

use super::{CONTINUE_NEEDED, Handle, KERBEROS, Keys, Library, PrincipalName, empty, lent, oid};

/// A name that is a service's on a host: 1.2.840.113554.1.2.1.4.
const SERVICE_NAME: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x01, 0x04];

const INITIATE: c_int = 1;
/// The service has to show that it could read the ticket.
const MUTUAL: u32 = 2;

impl Library {
    /// An exchange with a service (`kafka@host`), with tickets of this cache, or of the usual one,
    /// which a keytab gets if they are not there.
    pub(in super::super) fn initiate(
        &'static self,
        service: &str,
        principal: Option<&str>,
        cache: Option<&CStr>,
        keytab: Option<&CStr>,
    ) -> Result<Initiator, GssFault> {
        let service = self.import(service, SERVICE_NAME)?;
        let places = [(c"ccache", cache), (c"client_keytab", keytab)];
        let tickets = self.acquire(INITIATE, principal, places, "there are no tickets")?;
        let mut exchange =
            Initiator { service, tickets, handle: null_mut(), first: Vec::new(), is_done: false };
        // Here, where the library may ask a KDC, and not where the token is to be said.
        let TicketStep { token, is_done } = exchange.advance(b"")?;
        (exchange.first, exchange.is_done) = (token, is_done);
        Ok(exchange)
    }
}

/// One exchange's context.
pub(in super::super) struct Initiator {
    service: PrincipalName,
    tickets: Keys,
    handle: Handle,
    /// What was made when it began, until it is said.
    first: Vec<u8>,
    is_done: bool,
}

// SAFETY: the library's handles are of no thread: it locks what contexts and credentials share, and
// an exchange has its own.
unsafe impl Send for Initiator {}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Initiator").finish_non_exhaustive()
    }
}

impl Initiator {
    fn advance(&mut self, token: &[u8]) -> Result<TicketStep, GssFault> {
        let library = self.tickets.library;
        let (mut minor, mut answer) = (0, empty());
        // SAFETY: the token lives until the call ends, and names and tickets as long as the
        // context; the answer is taken.
        let major = unsafe {
            (library.init_sec_context)(
                &mut minor,
                self.tickets.handle,
                &mut self.handle,
                self.service.handle,
                &oid(KERBEROS),
                MUTUAL,
                0,
                null(),
                &lent(token),
                null_mut(),
                &mut answer,
                null_mut(),
                null_mut(),
            )
        };
        let token = library.take(answer);
        library.check("the library says", major, minor)?;
        Ok(TicketStep { token, is_done: major & CONTINUE_NEEDED == 0 })
    }
}

impl TicketExchange for Initiator {
    fn step(&mut self, token: &[u8]) -> Result<TicketStep, String> {
        if !self.first.is_empty() {
            return Ok(TicketStep { token: std::mem::take(&mut self.first), is_done: self.is_done });
        }
        self.advance(token).map_err(|fault| fault.why)
    }

    fn unwrap(&mut self, token: &[u8]) -> Result<Vec<u8>, String> {
        self.tickets.library.unwrap_with(self.handle, token).map_err(|fault| fault.why)
    }

    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
        self.tickets.library.wrap_with(self.handle, message).map_err(|fault| fault.why)
    }
}

impl Drop for Initiator {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: it is deleted here alone; the library passes over none at all.
        unsafe { (self.tickets.library.delete_sec_context)(&mut minor, &mut self.handle, null_mut()) };
    }
}
