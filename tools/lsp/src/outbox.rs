//! What goes to the client: answers, one to each request, and what the server says of its own accord.

use gen_lsp_types::{
    LogMessageNotification, LogMessageParams, MessageType, Notification, Request, ShowMessageNotification,
    ShowMessageParams,
};
use lsp_server::{ErrorCode, Message, RequestId, Response, ResponseError};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Why a request has no result.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub code: i32,
    pub message: String,
    pub data: Option<serde_json::Value>,
}

pub type Answer<T> = Result<T, Refusal>;

impl Refusal {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Refusal {
        Refusal { code: code as i32, message: message.into(), data: None }
    }

    /// What was asked cannot be done, and the sentence says why.
    pub fn failed(message: impl Into<String>) -> Refusal {
        Refusal::new(ErrorCode::RequestFailed, message)
    }

    pub fn of_parameters(message: impl Into<String>) -> Refusal {
        Refusal::new(ErrorCode::InvalidParams, message)
    }

    pub fn canceled() -> Refusal {
        Refusal::new(ErrorCode::RequestCanceled, "cancelled by the client")
    }

    /// The text has changed since this was asked.
    pub fn outdated(method: &str) -> Refusal {
        if method == "textDocument/diagnostic" {
            let mut refusal = Refusal::new(ErrorCode::ServerCancelled, "the text has changed");
            refusal.data = Some(serde_json::json!({ "retriggerRequest": true }));
            return refusal;
        }
        Refusal::new(ErrorCode::ContentModified, "the text has changed")
    }
}

/// The way to the client.
pub struct Outbox {
    sender: crossbeam_channel::Sender<Message>,
    /// The client's requests that have no answer yet.
    pending: Mutex<HashSet<RequestId>>,
    next: AtomicU32,
}

impl Outbox {
    pub fn new(sender: crossbeam_channel::Sender<Message>) -> Outbox {
        Outbox { sender, pending: Mutex::default(), next: AtomicU32::new(0) }
    }

    /// A request that will be answered.
    pub fn expect(&self, id: &RequestId) {
        self.pending().insert(id.clone());
    }

    /// Whether nobody has answered yet.
    pub fn is_pending(&self, id: &RequestId) -> bool {
        self.pending().contains(id)
    }

    /// Answers a request, if it has no answer yet.
    pub fn answer(&self, id: &RequestId, answer: Answer<serde_json::Value>) {
        if !self.pending().remove(id) {
            return;
        }
        let response_result =
            answer.map_err(|r| ResponseError { code: r.code, message: r.message, data: r.data });
        self.send(Message::Response(Response { id: id.clone(), response_result }));
    }

    pub fn notify<N: Notification>(&self, params: N::Params) {
        let method: String = N::METHOD.into();
        self.send(Message::Notification(lsp_server::Notification::new(method, params)));
    }

    /// Asks the client something whose answer does not matter.
    pub fn ask<R: Request>(&self, params: R::Params) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let method: String = R::METHOD.into();
        let id = RequestId::from(format!("remc-{id}"));
        self.send(Message::Request(lsp_server::Request::new(id, method, params)));
    }

    pub fn log(&self, kind: MessageType, message: impl Into<String>) {
        self.notify::<LogMessageNotification>(LogMessageParams { kind, message: message.into() });
    }

    pub fn show(&self, kind: MessageType, message: impl Into<String>) {
        self.notify::<ShowMessageNotification>(ShowMessageParams { kind, message: message.into() });
    }

    fn send(&self, message: Message) {
        // A client that is gone asks for nothing.
        let _ = self.sender.send(message);
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
