//! What is to be done with the texts, in the order in which it came.
//!
//! One thread does it, so that each request is answered for the text that the client had when it asked. The thread that
//! listens to the client never waits for that one: it takes out what nobody wants any more, and tells the query that
//! runs to end.

use crate::analysis::Analysis;
use crate::outbox::{Outbox, Refusal};
use lsp_server::{Notification, Request, RequestId};
use salsa::CancellationToken;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub enum Job {
    Request(Request),
    Notification(Notification),
    /// What was found out elsewhere.
    Then(Box<dyn FnOnce(&mut Analysis) + Send>),
}

pub enum Next {
    Job(Job),
    /// Nothing is asked right now.
    Idle,
    /// Nothing will be asked any more.
    End,
}

#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    running: Running,
    token: Option<CancellationToken>,
    ended: bool,
}

#[derive(Default)]
enum Running {
    #[default]
    Nothing,
    /// A request: its document, and its method.
    Request { id: RequestId, uri: Option<String>, method: String },
    /// What nobody waits for.
    Idle,
}

impl Queue {
    pub fn push(&self, job: Job) {
        let mut state = self.lock();
        if matches!(state.running, Running::Idle) {
            state.end_running();
        }
        state.jobs.push_back(job);
        drop(state);
        self.ready.notify_one();
    }

    pub fn end(&self) {
        let mut state = self.lock();
        state.jobs.clear();
        state.ended = true;
        state.end_running();
        drop(state);
        self.ready.notify_one();
    }

    /// The next job, which runs from now on; if there is none, waits for one or, if there is work that nobody waits
    /// for, starts that.
    pub fn next(&self, has_idle_work: bool) -> Next {
        let mut state = self.lock();
        state.running = Running::Nothing;
        loop {
            if let Some(job) = state.jobs.pop_front() {
                if let Job::Request(request) = &job {
                    let (id, uri, method) =
                        (request.id.clone(), uri(&request.params), request.method.clone());
                    state.running = Running::Request { id, uri, method };
                }
                return Next::Job(job);
            }
            if state.ended {
                return Next::End;
            }
            if has_idle_work {
                state.running = Running::Idle;
                return Next::Idle;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Queries of this database can be told to end.
    pub fn attach(&self, token: CancellationToken) {
        self.lock().token = Some(token);
    }

    /// The client no longer wants an answer.
    pub fn cancel(&self, id: &RequestId, outbox: &Outbox) {
        let mut state = self.lock();
        let is_it = |job: &Job| matches!(job, Job::Request(r) if r.id == *id);
        state.jobs.retain(|job| !is_it(job));
        if matches!(&state.running, Running::Request { id: running, .. } if running == id) {
            state.end_running();
        }
        drop(state);
        outbox.answer(id, Err(Refusal::canceled()));
    }

    /// A document has been edited: what was asked about the text before that is of no use. What a client shows while
    /// somebody types on is: completions are answered for the text for which they were asked.
    pub fn outdate(&self, edited: &str, outbox: &Outbox) {
        let mut outdated = Vec::new();
        let mut state = self.lock();
        state.jobs.retain(|job| match job {
            Job::Request(r) if is_of(&r.method, uri(&r.params).as_deref(), edited) => {
                outdated.push((r.id.clone(), r.method.clone()));
                false
            }
            _ => true,
        });
        if let Running::Request { id, uri, method } = &state.running
            && is_of(method, uri.as_deref(), edited)
        {
            outdated.push((id.clone(), method.clone()));
            state.end_running();
        }
        drop(state);
        for (id, method) in outdated {
            outbox.answer(&id, Err(Refusal::outdated(&method)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn end_running(&mut self) {
        if let Some(token) = &self.token {
            token.cancel();
        }
    }
}

/// Whether a request is about the text of a document.
fn is_of(method: &str, uri: Option<&str>, edited: &str) -> bool {
    uri == Some(edited) && method != "textDocument/completion"
}

/// The document that a request is about.
fn uri(params: &serde_json::Value) -> Option<String> {
    Some(params.pointer("/textDocument/uri")?.as_str()?.to_owned())
}
