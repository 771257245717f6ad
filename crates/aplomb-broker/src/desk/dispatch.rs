//! What becomes of a request: read, checked against what is served, and handed to its API.

use aplomb_protocol::frame::{RequestHead, peek};
use aplomb_protocol::{ApiKey, DecodeError, Reader};

use super::{Desk, DeskEffect};
use crate::api::{APIS, api_versions, served};
use crate::calls::OpId;
use crate::head::Head;
use crate::operation::{Ahead, Asked, Begun, Calls};
use crate::ports::{CloseReason, Now, Reply, Request};
use crate::reply::ReplyTo;
use crate::storage::Storage;
use crate::view::View;

/// What requests may look at, beside the desk's own.
pub(crate) struct Surroundings<'a> {
    pub(crate) view: &'a View,
    pub(crate) storage: &'a Storage,
    /// The controller, on its shard.
    pub(crate) head: Option<&'a mut Head>,
    pub(crate) now: Now,
}

/// Why a request is not answered.
enum Refused {
    Malformed(DecodeError),
    Unsupported,
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl Desk {
    /// Takes a request that came in here, or that was passed on because it is for the controller.
    pub(crate) fn on_request(&mut self, request: Request, around: Surroundings<'_>) {
        let id = request.id;
        let (api_key, version) = peek(&request.frame);
        let reason = match self.begin(request, around) {
            Ok(()) => return,
            Err(Refused::Malformed(error)) => {
                CloseReason::Malformed(format!("{error} (api key {api_key}, version {version})"))
            }
            Err(Refused::Unsupported) => CloseReason::Unsupported { api_key, version },
        };
        self.effects.push(DeskEffect::Reply(id, Reply::Close { reason }));
    }

    fn begin(&mut self, request: Request, around: Surroundings<'_>) -> Result<(), Refused> {
        let mut body = Reader::new(request.frame.clone());
        let head = RequestHead::decode(&mut body)?;
        self.quotas.set(&around.view.image().security);
        let to = ReplyTo { api: head.api, version: head.version, correlation_id: head.correlation_id };
        let Some(api) = served(head.api, head.version) else {
            // ApiVersions is answered in any version, so that a newer client can find out; anything
            // else closes the connection.
            if to.api != ApiKey::ApiVersions {
                return Err(Refused::Unsupported);
            }
            let replied = ReplyTo { version: 0, ..to }.with(&api_versions::unsupported_version());
            self.reply(request.id, replied, None, around.now.instant);
            return Ok(());
        };
        if around.head.is_none() && api.is_for_head(&request) {
            self.forward(head.api, request);
            return Ok(());
        }
        let (mut calls, mut to_head) = (Calls::new(), Vec::new());
        let Surroundings { view, storage, head: controller, now } = around;
        let mut bill = self.quotas.bill(&request, head.api, head.client_id.as_deref());
        self.audit.at(now.instant);
        let (parked, forwarded) = (&self.by_connection, &self.forwarded);
        let ahead = Ahead { parked, forwarded, connection: request.id.connection };
        let begun = api.begin(&mut Asked {
            request: &request,
            to,
            client_id: head.client_id.as_deref(),
            body: &mut body,
            now,
            view,
            storage,
            sessions: &mut self.sessions,
            clients: &mut self.clients,
            quotas: &mut self.quotas,
            volumes: &mut self.volumes,
            ahead,
            bill: &mut bill,
            audit: &self.audit,
            head: controller,
            to_head: &mut to_head,
            op: OpId { shard: self.me, number: self.next },
            apis: APIS,
            calls: &mut calls,
        })?;
        self.tell_audit();
        self.effects.extend(to_head.into_iter().map(DeskEffect::Head));
        match begun {
            Begun::Reply(replied) => {
                assert!(calls.is_empty(), "who is answered at once has asked nobody");
                self.reply(request.id, replied, bill, now.instant);
            }
            Begun::Wait(operation, deadline) => {
                let number = self.park(request.id, operation, bill, [now.instant, deadline]);
                self.make(number, calls);
                self.go_on(number, storage, now);
            }
            Begun::ForHead => self.forward(head.api, request),
            Begun::Again(at) => self.effects.push(DeskEffect::Again(request, at)),
        }
        Ok(())
    }

    /// Has a request answered where the controller is.
    fn forward(&mut self, api: ApiKey, request: Request) {
        self.forwarded.entry(request.id.connection).or_default().insert(api);
        self.effects.push(DeskEffect::Forward(request));
    }
}
