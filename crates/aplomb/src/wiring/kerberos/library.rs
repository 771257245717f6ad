//! MIT Kerberos's library of GSSAPI, loaded when a listener or a client wants it: most brokers
//! start where it is not installed.
//!
//! What always holds: all that is unsafe about it is here. The functions have the types of RFC 2744
//! and of MIT's `gssapi_ext.h`; what the library makes is released once, by the value that has it.

#![expect(unsafe_code, reason = "the library is C, and is looked for when it is needed")]

mod initiator;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use aplomb_broker::sasl::gssapi::{Accepted, GssContext, GssFault};

/// The library's name, which has stayed the same since 2006.
const LIBRARY: &CStr = c"libgssapi_krb5.so.2";

/// Kerberos 5, the mechanism: 1.2.840.113554.1.2.2.
const KERBEROS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02];
/// A name that is a principal: 1.2.840.113554.1.2.2.1.
const PRINCIPAL_NAME: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02, 0x01];
/// A name that is a user's, of the realm that the machine is in: 1.2.840.113554.1.2.1.1.
const USER_NAME: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x01, 0x01];

const CONTINUE_NEEDED: u32 = 1;
const ERRORS: u32 = 0xffff_0000;
const FAILURE: u32 = 13 << 16;
const ACCEPT: c_int = 2;
const INDEFINITE: u32 = u32::MAX;
const GSS_CODE: c_int = 1;
const MECHANISM_CODE: c_int = 2;

/// Kerberos's errors of RFC 4120 are behind this (`ERROR_TABLE_BASE_krb5`).
const KERBEROS_ERRORS: u32 = 0x96c7_3a00;
/// Not yet valid (21 the client, 33 the ticket), and a replay: Apache Kafka's `KerberosError` has
/// clients try again.
const PASSING: [u32; 3] = [21, 33, 34];

/// The library cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "GSSAPI needs the library of MIT Kerberos, which cannot be loaded: {0}. It is in the package libgssapi-krb5-2 (Debian, Ubuntu), krb5-libs (Fedora, Red Hat), krb5 (SUSE, Arch, Alpine)"
)]
pub(crate) struct NoLibrary(String);

/// `gss_OID_desc`
#[repr(C)]
struct Oid {
    length: u32,
    elements: *const c_void,
}

/// `gss_OID_set_desc`
#[repr(C)]
struct OidSet {
    count: usize,
    elements: *const Oid,
}

/// `gss_buffer_desc`
#[repr(C)]
struct Buffer {
    length: usize,
    value: *mut c_void,
}

/// `gss_key_value_element_desc`
#[repr(C)]
struct KeyValue {
    key: *const c_char,
    value: *const c_char,
}

/// `gss_key_value_set_desc`
#[repr(C)]
struct KeyValueSet {
    count: u32,
    elements: *const KeyValue,
}

/// What `gss_name_t`, `gss_cred_id_t` and `gss_ctx_id_t` are: the library's own.
type Handle = *mut c_void;
type Release = unsafe extern "C" fn(*mut u32, *mut Handle) -> u32;

/// The functions of the library that either end needs.
#[derive(Debug)]
pub(super) struct Library {
    import_name: unsafe extern "C" fn(*mut u32, *const Buffer, *const Oid, *mut Handle) -> u32,
    canonicalize_name: unsafe extern "C" fn(*mut u32, Handle, *const Oid, *mut Handle) -> u32,
    display_name: unsafe extern "C" fn(*mut u32, Handle, *mut Buffer, *mut *const Oid) -> u32,
    release_name: Release,
    acquire_cred_from: unsafe extern "C" fn(
        *mut u32,
        Handle,
        u32,
        *const OidSet,
        c_int,
        *const KeyValueSet,
        *mut Handle,
        *mut *mut OidSet,
        *mut u32,
    ) -> u32,
    release_cred: Release,
    accept_sec_context: unsafe extern "C" fn(
        *mut u32,
        *mut Handle,
        Handle,
        *const Buffer,
        *const c_void,
        *mut Handle,
        *mut *const Oid,
        *mut Buffer,
        *mut u32,
        *mut u32,
        *mut Handle,
    ) -> u32,
    init_sec_context: unsafe extern "C" fn(
        *mut u32,
        Handle,
        *mut Handle,
        Handle,
        *const Oid,
        u32,
        u32,
        *const c_void,
        *const Buffer,
        *mut *const Oid,
        *mut Buffer,
        *mut u32,
        *mut u32,
    ) -> u32,
    delete_sec_context: unsafe extern "C" fn(*mut u32, *mut Handle, *mut Buffer) -> u32,
    wrap: unsafe extern "C" fn(*mut u32, Handle, c_int, u32, *const Buffer, *mut c_int, *mut Buffer) -> u32,
    unwrap: unsafe extern "C" fn(*mut u32, Handle, *const Buffer, *mut Buffer, *mut c_int, *mut u32) -> u32,
    display_status: unsafe extern "C" fn(*mut u32, u32, c_int, *const Oid, *mut u32, *mut Buffer) -> u32,
    release_buffer: unsafe extern "C" fn(*mut u32, *mut Buffer) -> u32,
}

/// The library, once it is loaded. It stays until the process ends.
pub(super) fn library() -> Result<&'static Library, NoLibrary> {
    static LOADED: OnceLock<Result<Library, NoLibrary>> = OnceLock::new();
    LOADED.get_or_init(|| Library::load(LIBRARY)).as_ref().map_err(Clone::clone)
}

impl Library {
    fn load(name: &CStr) -> Result<Self, NoLibrary> {
        // SAFETY: the name ends with a NUL. The library's initializers are MIT's, and run before
        // any function of it does.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(NoLibrary(last_error()));
        }
        macro_rules! function {
            ($name:literal) => {{
                // SAFETY: the library is loaded and is never unloaded; the name ends with a NUL.
                let found = unsafe { libc::dlsym(handle, $name.as_ptr()) };
                if found.is_null() {
                    return Err(NoLibrary(last_error()));
                }
                // SAFETY: a symbol of this name has the type that the field has, by RFC 2744 and
                // gssapi_ext.h; pointers to data and to functions are the same size here.
                unsafe { std::mem::transmute_copy(&found) }
            }};
        }
        Ok(Self {
            import_name: function!(c"gss_import_name"),
            canonicalize_name: function!(c"gss_canonicalize_name"),
            display_name: function!(c"gss_display_name"),
            release_name: function!(c"gss_release_name"),
            acquire_cred_from: function!(c"gss_acquire_cred_from"),
            release_cred: function!(c"gss_release_cred"),
            accept_sec_context: function!(c"gss_accept_sec_context"),
            init_sec_context: function!(c"gss_init_sec_context"),
            delete_sec_context: function!(c"gss_delete_sec_context"),
            wrap: function!(c"gss_wrap"),
            unwrap: function!(c"gss_unwrap"),
            display_status: function!(c"gss_display_status"),
            release_buffer: function!(c"gss_release_buffer"),
        })
    }

    /// The realm that the machine is in, if its settings (`krb5.conf`) say so.
    pub(super) fn default_realm(&'static self) -> Option<String> {
        let user = self.import("tmp", USER_NAME).ok()?;
        let mut name = PrincipalName { library: self, handle: null_mut() };
        let mut minor = 0;
        // SAFETY: the name is the library's; what comes out has an owner, which releases it.
        let major =
            unsafe { (self.canonicalize_name)(&mut minor, user.handle, &oid(KERBEROS), &mut name.handle) };
        self.check("the realm", major, minor).ok()?;
        Some(name.text().ok()?.split_once('@')?.1.to_owned())
    }

    /// The keys of a principal, or all that are there: of this keytab, or the machine's.
    pub(super) fn keys(
        &'static self,
        principal: Option<&str>,
        keytab: Option<&CStr>,
    ) -> Result<Keys, GssFault> {
        // It is not the client's fault.
        self.acquire(ACCEPT, principal, [(c"keytab", keytab)], "the keytab cannot be used")
            .map_err(|fault| GssFault { is_passing: true, ..fault })
    }

    /// What a principal shows itself by, or any that is there, out of these places; `what` begins
    /// the words of a failure.
    fn acquire<const PLACES: usize>(
        &'static self,
        usage: c_int,
        principal: Option<&str>,
        places: [(&CStr, Option<&CStr>); PLACES],
        what: &str,
    ) -> Result<Keys, GssFault> {
        let name = principal.map(|principal| self.import(principal, PRINCIPAL_NAME)).transpose()?;
        let name = name.as_ref().map_or(null_mut(), |name| name.handle);
        let named = places.iter().filter_map(|(key, place)| Some((key, (*place)?)));
        let places: Vec<KeyValue> =
            named.map(|(key, place)| KeyValue { key: key.as_ptr(), value: place.as_ptr() }).collect();
        let store = KeyValueSet { count: places.len() as u32, elements: places.as_ptr() };
        let kerberos = oid(KERBEROS);
        let mechanisms = OidSet { count: 1, elements: &kerberos };
        let mut keys = Keys { library: self, handle: null_mut() };
        let mut minor = 0;
        // SAFETY: what the pointers show lives until the call ends; what comes out has an owner.
        let major = unsafe {
            (self.acquire_cred_from)(
                &mut minor,
                name,
                INDEFINITE,
                &mechanisms,
                usage,
                if places.is_empty() { null() } else { &store },
                &mut keys.handle,
                null_mut(),
                null_mut(),
            )
        };
        self.check(what, major, minor)?;
        Ok(keys)
    }

    fn import(&'static self, text: &str, kind: &[u8]) -> Result<PrincipalName, GssFault> {
        let mut name = PrincipalName { library: self, handle: null_mut() };
        let mut minor = 0;
        // SAFETY: the library copies the text and the number; what comes out has an owner.
        let major =
            unsafe { (self.import_name)(&mut minor, &lent(text.as_bytes()), &oid(kind), &mut name.handle) };
        self.check("this is no name", major, minor)?;
        Ok(name)
    }

    fn check(&self, what: &str, major: u32, minor: u32) -> Result<(), GssFault> {
        if major & ERRORS == 0 {
            return Ok(());
        }
        let is_passing = PASSING.map(|code| KERBEROS_ERRORS + code).contains(&minor);
        let mut words = Vec::new();
        // A failure of the mechanism's own is described by it, if it has described it.
        if major & ERRORS != FAILURE || minor == 0 {
            words.push(self.words(major, GSS_CODE));
        }
        if minor != 0 {
            words.push(self.words(minor, MECHANISM_CODE));
        }
        Err(GssFault { why: format!("{what}: {}", words.join(": ")), is_passing })
    }

    /// What the library says of a code.
    fn words(&self, code: u32, kind: c_int) -> String {
        let (mut minor, mut more, mut text) = (0, 0, empty());
        // SAFETY: the text is the library's until it is taken. Of several only the first is.
        let major =
            unsafe { (self.display_status)(&mut minor, code, kind, &oid(KERBEROS), &mut more, &mut text) };
        let text = self.take(text);
        if major & ERRORS == 0 { String::from_utf8_lossy(&text).into_owned() } else { code.to_string() }
    }

    /// Signs a message by a context that is established.
    fn wrap_with(&self, context: Handle, message: &[u8]) -> Result<Vec<u8>, GssFault> {
        let (mut minor, mut sealed) = (0, empty());
        // SAFETY: the library says so of a context that is not; the message lives until the call
        // ends.
        let major =
            unsafe { (self.wrap)(&mut minor, context, 0, 0, &lent(message), null_mut(), &mut sealed) };
        let sealed = self.take(sealed);
        self.check("nothing can be signed for it", major, minor)?;
        Ok(sealed)
    }

    /// The message that the other end of such a context has signed.
    fn unwrap_with(&self, context: Handle, token: &[u8]) -> Result<Vec<u8>, GssFault> {
        let (mut minor, mut message) = (0, empty());
        // SAFETY: as above.
        let major =
            unsafe { (self.unwrap)(&mut minor, context, &lent(token), &mut message, null_mut(), null_mut()) };
        let message = self.take(message);
        self.check("its last message is not signed", major, minor)?;
        Ok(message)
    }

    /// The bytes of a buffer that the library has made.
    fn take(&self, mut buffer: Buffer) -> Vec<u8> {
        let bytes = if buffer.value.is_null() {
            Vec::new()
        } else {
            // SAFETY: the library has filled as much of it as it says.
            unsafe { std::slice::from_raw_parts(buffer.value.cast::<u8>(), buffer.length) }.to_vec()
        };
        let mut minor = 0;
        // SAFETY: the buffer is the library's, or empty, and is not used again.
        unsafe { (self.release_buffer)(&mut minor, &mut buffer) };
        bytes
    }
}

struct PrincipalName {
    library: &'static Library,
    handle: Handle,
}

impl PrincipalName {
    fn text(&self) -> Result<String, GssFault> {
        let (mut minor, mut text) = (0, empty());
        // SAFETY: the name is the library's; the text is taken.
        let major = unsafe { (self.library.display_name)(&mut minor, self.handle, &mut text, null_mut()) };
        let text = self.library.take(text);
        self.library.check("its principal has no name", major, minor)?;
        String::from_utf8(text).map_err(|_| GssFault::lasting("its principal's name is not UTF-8"))
    }
}

impl Drop for PrincipalName {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: it is released here alone; the library passes over none at all.
        unsafe { (self.library.release_name)(&mut minor, &mut self.handle) };
    }
}

/// A service's keys.
pub(super) struct Keys {
    library: &'static Library,
    handle: Handle,
}

impl Keys {
    /// A context for one exchange.
    pub(super) fn context(self) -> Context {
        Context { keys: self, handle: null_mut() }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: they are released here alone, when no context has them any more.
        unsafe { (self.library.release_cred)(&mut minor, &mut self.handle) };
    }
}

/// One exchange's context.
pub(super) struct Context {
    keys: Keys,
    handle: Handle,
}

impl GssContext for Context {
    fn accept(&mut self, token: &[u8]) -> Result<Accepted, GssFault> {
        let library = self.keys.library;
        let mut peer = PrincipalName { library, handle: null_mut() };
        let (mut minor, mut answer) = (0, empty());
        // SAFETY: the token lives until the call ends, and the keys as long as the context; the
        // name and the answer have owners. Without a place for them, credentials are not delegated.
        let major = unsafe {
            (library.accept_sec_context)(
                &mut minor,
                &mut self.handle,
                self.keys.handle,
                &lent(token),
                null(),
                &mut peer.handle,
                null_mut(),
                &mut answer,
                null_mut(),
                null_mut(),
                null_mut(),
            )
        };
        let token = library.take(answer);
        library.check("its ticket does not count", major, minor)?;
        let peer = if major & CONTINUE_NEEDED == 0 { Some(peer.text()?) } else { None };
        Ok(Accepted { token, peer })
    }

    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, GssFault> {
        self.keys.library.wrap_with(self.handle, message)
    }

    fn unwrap(&mut self, token: &[u8]) -> Result<Vec<u8>, GssFault> {
        self.keys.library.unwrap_with(self.handle, token)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: it is deleted here alone; the library passes over none at all.
        unsafe { (self.keys.library.delete_sec_context)(&mut minor, &mut self.handle, null_mut()) };
    }
}

/// Bytes that the library reads and does not keep.
const fn lent(bytes: &[u8]) -> Buffer {
    Buffer { length: bytes.len(), value: bytes.as_ptr().cast_mut().cast() }
}

const fn empty() -> Buffer {
    Buffer { length: 0, value: null_mut() }
}

const fn oid(number: &[u8]) -> Oid {
    Oid { length: number.len() as u32, elements: number.as_ptr().cast() }
}

/// Why a library or a function of it was not found.
fn last_error() -> String {
    // SAFETY: the text lives until the next call of this thread, and is copied before.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "without a reason".to_owned();
    }
    // SAFETY: it ends with a NUL.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_no_library_the_packages_that_have_it_are_named() {
        let missing = Library::load(c"libgssapi_of_no_one.so.2").expect_err("there is none").to_string();
        assert!(
            missing.contains("libgssapi_of_no_one.so.2") && missing.contains("libgssapi-krb5-2"),
            "{missing}"
        );
        let other = Library::load(c"libm.so.6").expect_err("it has no such function").to_string();
        assert!(other.contains("gss_import_name"), "{other}");
    }

    #[test]
    fn what_the_library_refuses_is_said_in_its_words() {
        // Where it is not installed, the test above is all that can be tested.
        let Ok(library) = library() else { return };
        let fault = library.keys(Some("kafka/host@REALM"), Some(c"/nowhere/keytab")).err().expect("no file");
        assert!(fault.is_passing && fault.why.contains("/nowhere/keytab"), "{fault:?}");
        let fault = library.check("its ticket does not count", FAILURE, KERBEROS_ERRORS + 34);
        assert!(fault.is_err_and(|fault| fault.is_passing), "a replay");
        let fault = library.check("its ticket does not count", FAILURE, KERBEROS_ERRORS + 32);
        let fault = fault.expect_err("it is over");
        // The library has words only for what it has come across, and numbers for all else.
        let number = (KERBEROS_ERRORS + 32).to_string();
        let why = fault.why.strip_prefix("its ticket does not count: ").expect("what it is about");
        assert!(!fault.is_passing && ["Ticket expired", &*number].contains(&why), "{fault:?}");
    }
}
