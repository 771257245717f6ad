//! The exchange itself (RFC 4752, section 3.1; `GssKrb5Server` of Java).
//!
//! Tokens go to and fro until the context is established; the server offers what it can do to later
//! messages, which is nothing; the client chooses that. The user that it wants to be is not looked
//! at: it is who its ticket says (`SaslServerCallbackHandler#handleAuthorizeCallback`).

use super::port::{Accepted, GssContext, GssFault};

/// Messages are neither signed nor encrypted after the exchange: TLS does that.
const NO_LAYER: u8 = 1;

/// What is offered: no layer, and, as Java has it, messages of up to 64 KiB, which count for layers
/// alone.
const OFFER: [u8; 4] = [NO_LAYER, 1, 0, 0];

/// One exchange.
pub(super) struct Dialogue<C> {
    context: C,
    stage: DialogueStage,
}

enum DialogueStage {
    /// The context is being established.
    Tokens,
    /// The client has the last token, and is to say nothing.
    Established { peer: String },
    /// It is to choose.
    Offered { peer: String },
}

/// What comes of a token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DialogueStep {
    /// The client is to hear this.
    More(Vec<u8>),
    /// It is this principal.
    Proved(String),
}

impl<C: GssContext> Dialogue<C> {
    pub(super) const fn new(context: C) -> Self {
        Self { context, stage: DialogueStage::Tokens }
    }

    /// Takes what the client says. Behind an error or a proof there is nothing more to say.
    pub(super) fn on_token(&mut self, token: &[u8]) -> Result<DialogueStep, GssFault> {
        match std::mem::replace(&mut self.stage, DialogueStage::Tokens) {
            DialogueStage::Tokens => match self.context.accept(token)? {
                Accepted { token, peer: None } => Ok(DialogueStep::More(token)),
                Accepted { token, peer: Some(peer) } if token.is_empty() => self.offer(peer),
                Accepted { token, peer: Some(peer) } => {
                    self.stage = DialogueStage::Established { peer };
                    Ok(DialogueStep::More(token))
                }
            },
            DialogueStage::Established { peer } if token.is_empty() => self.offer(peer),
            DialogueStage::Established { .. } => {
                Err(GssFault::lasting("it says something where it is to say nothing"))
            }
            DialogueStage::Offered { peer } => {
                let choice = self.context.unwrap(token)?;
                chosen_layer(&choice).map_err(GssFault::lasting)?;
                Ok(DialogueStep::Proved(peer))
            }
        }
    }

    fn offer(&mut self, peer: String) -> Result<DialogueStep, GssFault> {
        let offer = self.context.wrap(&OFFER)?;
        self.stage = DialogueStage::Offered { peer };
        Ok(DialogueStep::More(offer))
    }
}

/// Whether the last message of a client chooses what it was offered, which is no layer.
///
/// # Errors
/// In words for the log.
pub fn chosen_layer(message: &[u8]) -> Result<(), &'static str> {
    match message {
        [layers, _, _, _, ..] if layers & NO_LAYER != 0 => Ok(()),
        [_, _, _, _, ..] => Err("it chooses a security layer, and none was offered"),
        _ => Err("its choice of a security layer is too short"),
    }
}
