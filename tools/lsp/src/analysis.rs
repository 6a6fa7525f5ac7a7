//! The thread that has the texts: what the client says of them, and what it asks.

mod claims;
mod diagnostics;
mod edits;
mod layout;
mod lenses;
mod places;
mod requests;
mod semantic;
mod workspace;

use claims::{Known, Search};
pub use places::Places;

use crate::client::Client;
use crate::good::Good;
use crate::outbox::{Answer, Outbox, Refusal};
use crate::pages::Pages;
use crate::queue::Queue;
use crate::runs::Runs;
use crate::text::Text;
use crate::uri;
use gen_lsp_types as lsp;
use lsp::{MessageType, SemanticToken};
use lsp_server::{ErrorCode, Notification, Request, RequestId};
use remc_driver::{Db, Session, SourceFile};
use remc_ide::Completion;
use rustc_hash::FxHashMap;
use salsa::{CancellationToken, Cancelled, Database as _};
use serde::de::DeserializeOwned;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a document that is open is.
pub struct Document {
    version: i32,
    text: Text,
    file: SourceFile,
    /// Of one that is a file of this machine.
    path: Option<PathBuf>,
    good: Good,
    /// What is known of the values that its comments claim.
    known: Vec<Known>,
    /// The search for that.
    search: Option<Search>,
    /// The diagnostics that the client was told last.
    told: Option<Vec<lsp::Diagnostic>>,
    /// The tokens that the client was told last, and what they were called.
    tokens: (u64, Vec<SemanticToken>),
}

pub struct Analysis {
    session: Session,
    /// By the name that the client has for them.
    documents: FxHashMap<String, Document>,
    /// Texts of documents that are no files, by their names.
    nameless: FxHashMap<String, SourceFile>,
    /// Last good versions, of documents for which they were asked.
    good: FxHashMap<SourceFile, SourceFile>,
    /// The documents whose diagnostics may have changed, the one at hand first.
    doubtful: VecDeque<String>,
    /// Files of the workspace that are still to be read.
    unread: VecDeque<PathBuf>,
    /// The completions that were given last, for when one of them is asked about.
    completions: (u64, Vec<Completion>),
    serial: u64,
    client: Client,
    explanation: fn(&str) -> Option<String>,
    outbox: Arc<Outbox>,
    queue: Arc<Queue>,
    runs: Arc<Runs>,
    pages: Arc<Pages>,
}

/// The ways to others.
pub struct Ways {
    pub outbox: Arc<Outbox>,
    pub queue: Arc<Queue>,
    pub runs: Arc<Runs>,
}

impl Analysis {
    pub fn new(
        client: Client,
        explanation: fn(&str) -> Option<String>,
        pages: Arc<Pages>,
        ways: Ways,
    ) -> Analysis {
        let Ways { outbox, queue, runs } = ways;
        let mut analysis = Analysis {
            session: Session::default(),
            documents: FxHashMap::default(),
            nameless: FxHashMap::default(),
            good: FxHashMap::default(),
            doubtful: VecDeque::new(),
            unread: VecDeque::new(),
            completions: (0, Vec::new()),
            serial: 0,
            client,
            explanation,
            outbox,
            queue,
            runs,
            pages,
        };
        for folder in analysis.client.folders.clone() {
            analysis.add_folder(&folder);
        }
        analysis
    }

    /// Ends the query that runs.
    pub fn token(&self) -> CancellationToken {
        self.session.db.cancellation_token()
    }

    /// Forgets that a query was told to end: what comes next was not meant.
    pub fn settle(&self) {
        salsa::plumbing::attach(&self.session.db, || {});
        self.session.db.timings().abandon();
    }

    /// Whether there is something to do that nobody has asked for.
    pub fn has_idle_work(&self) -> bool {
        !self.unread.is_empty() || (!self.client.pulls && !self.doubtful.is_empty())
    }

    /// A piece of that work.
    pub fn idle(&mut self) {
        let done = caught(|| match self.doubtful.front().cloned() {
            Some(uri) if !self.client.pulls => {
                self.tell_diagnostics(&uri);
                self.doubtful.pop_front();
            }
            _ => self.read_one(),
        });
        if let Err(Caught::Bug(message)) = done {
            self.doubtful.pop_front();
            self.unread.pop_front();
            self.report_bug(&message);
        }
    }

    pub fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        let done = caught(|| self.route(&id, &method, params));
        let answer = match done {
            Ok(Some(answer)) => answer,
            // Somebody else answers.
            Ok(None) => return,
            Err(Caught::Cancelled) => Err(Refusal::outdated(&method)),
            Err(Caught::Bug(message)) => {
                self.report_bug(&message);
                Err(Refusal::new(ErrorCode::InternalError, format!("remc has made a mistake: {message}")))
            }
        };
        self.outbox.answer(&id, answer);
    }

    /// What the client says; whether there is another database after that.
    pub fn notification(&mut self, notification: Notification) -> bool {
        let Notification { method, params } = notification;
        self.take(|all| {
            if let Err(refusal) = all.hear(&method, params) {
                all.outbox.log(MessageType::Error, format!("{method}: {}", refusal.message));
            }
        })
    }

    /// Takes notice of something; whether there is another database after that.
    pub fn take(&mut self, what: impl FnOnce(&mut Analysis)) -> bool {
        match caught(|| what(self)) {
            Ok(()) => false,
            Err(caught) => {
                if let Caught::Bug(message) = caught {
                    self.report_bug(&message);
                }
                self.start_again();
                true
            }
        }
    }

    fn hear(&mut self, method: &str, params: serde_json::Value) -> Answer<()> {
        match method {
            "textDocument/didOpen" => {
                let item = read::<lsp::DidOpenTextDocumentParams>(params)?.text_document;
                self.opened(item.uri.0, item.version, item.text);
            }
            "textDocument/didChange" => {
                let changed = read::<lsp::DidChangeTextDocumentParams>(params)?;
                let uri = changed.text_document.text_document_identifier.uri.0;
                self.edited(&uri, changed.text_document.version, changed.content_changes)?;
            }
            "textDocument/didClose" => {
                self.closed(&read::<lsp::DidCloseTextDocumentParams>(params)?.text_document.uri.0);
            }
            "textDocument/didSave" => {
                self.saved(&read::<lsp::DidSaveTextDocumentParams>(params)?.text_document.uri.0);
            }
            "workspace/didChangeWatchedFiles" => {
                self.changed_on_disk(read::<lsp::DidChangeWatchedFilesParams>(params)?.changes);
            }
            "workspace/didChangeWorkspaceFolders" => {
                let event = read::<lsp::DidChangeWorkspaceFoldersParams>(params)?.event;
                let removed: Vec<PathBuf> =
                    event.removed.iter().filter_map(|f| uri::path(&f.uri.0)).collect();
                self.client.folders.retain(|folder| !removed.contains(folder));
                for folder in event.added.iter().filter_map(|f| uri::path(&f.uri.0)) {
                    self.add_folder(&folder);
                    self.client.folders.push(folder);
                }
            }
            // Whatever else is said makes no difference here.
            _ => {}
        }
        Ok(())
    }

    fn opened(&mut self, uri: String, version: i32, text: String) {
        let path = uri::path(&uri);
        let file = self.place(&uri, path.as_deref(), &text);
        let is_prelude = file.prelude(&self.session.db);
        let text = Text::new(if is_prelude { file.text(&self.session.db).to_owned() } else { text });
        let good = Good::default();
        let document = Document {
            version,
            text,
            file,
            path,
            good,
            known: Vec::new(),
            search: None,
            told: None,
            tokens: (0, Vec::new()),
        };
        self.documents.insert(uri.clone(), document);
        self.doubt(&uri);
    }

    /// The file of a document that is opened.
    fn place(&mut self, uri: &str, path: Option<&Path>, text: &str) -> SourceFile {
        if let Some(path) = path {
            // The prelude is what it is, whatever is done to the page that shows it.
            return match self.prelude(path) {
                Some(file) => file,
                None => self.session.open(path, text.to_owned()),
            };
        }
        if let Some(file) = self.nameless.get(uri) {
            let file = *file;
            self.session.set_text(file, text.to_owned());
            return file;
        }
        let folder = self.client.folders.first().cloned().unwrap_or_default();
        let file = self.session.load_text(&uri::shown(uri), &folder, text.to_owned());
        self.nameless.insert(uri.to_owned(), file);
        file
    }

    /// The file of the prelude that a page shows.
    fn prelude(&self, path: &Path) -> Option<SourceFile> {
        let name = self.pages.name(path)?;
        let is_it = |file: &&SourceFile| Path::new(file.path(&self.session.db)) == name;
        self.session.prelude().iter().find(is_it).copied()
    }

    fn edited(
        &mut self,
        uri: &str,
        version: i32,
        changes: Vec<lsp::TextDocumentContentChangeEvent>,
    ) -> Answer<()> {
        let encoding = self.client.encoding;
        let document = self.documents.get_mut(uri).ok_or_else(|| not_open(uri))?;
        document.version = version;
        if document.file.prelude(&self.session.db) {
            return Ok(());
        }
        for replaced in document.text.apply(changes, encoding) {
            document.good.edited(replaced);
        }
        let (file, text) = (document.file, document.text.as_str().to_owned());
        self.session.set_text(file, text);
        self.doubt(uri);
        Ok(())
    }

    fn closed(&mut self, uri: &str) {
        let Some(document) = self.documents.remove(uri) else { return };
        if let Some(search) = document.search {
            search.ticket.cancel();
            if let Some(id) = search.asked {
                self.outbox.answer(&id, Err(not_open(uri)));
            }
        }
        self.doubtful.retain(|other| other != uri);
        if document.told.is_some_and(|told| !told.is_empty()) {
            self.outbox.notify::<lsp::PublishDiagnosticsNotification>(lsp::PublishDiagnosticsParams {
                uri: lsp::Uri(uri.to_owned()),
                version: None,
                diagnostics: Vec::new(),
            });
        }
        if let Some(good) = self.good.remove(&document.file) {
            self.session.set_text(good, String::new());
        }
        let other = self.documents.values().find(|d| d.file == document.file);
        match (&document.path, other) {
            // It is open by another name.
            (Some(path), Some(other)) => {
                let text = other.text.as_str().to_owned();
                self.session.open(path, text);
            }
            (Some(path), None) => self.session.close(path),
            (None, _) => self.session.set_text(document.file, String::new()),
        }
        self.doubt_all();
    }

    /// The diagnostics of a document, and of those that may import it, have to be looked at.
    fn doubt(&mut self, first: &str) {
        self.doubt_all();
        self.doubtful.retain(|uri| uri != first);
        self.doubtful.push_front(first.to_owned());
    }

    fn doubt_all(&mut self) {
        for uri in self.documents.keys() {
            if !self.doubtful.contains(uri) {
                self.doubtful.push_back(uri.clone());
            }
        }
    }

    /// A session made anew from the texts that are open, where the one that there was may be half changed.
    fn start_again(&mut self) {
        self.session = Session::default();
        self.nameless.clear();
        self.good.clear();
        let mut documents = std::mem::take(&mut self.documents);
        for (uri, document) in &mut documents {
            document.file = self.place(uri, document.path.as_deref(), document.text.as_str());
        }
        self.documents = documents;
        self.doubt_all();
    }

    fn document(&self, uri: &lsp::Uri) -> Answer<&Document> {
        self.documents.get(&uri.0).ok_or_else(|| not_open(&uri.0))
    }

    fn places(&self) -> Places<'_> {
        Places::new(self)
    }

    fn report_bug(&self, message: &str) {
        self.outbox.log(
            MessageType::Error,
            format!(
                "remc has made a mistake; your program may be right.\n  {message}\nPlease report it, with the program \
                 and this message."
            ),
        );
    }
}

fn not_open(uri: &str) -> Refusal {
    Refusal::of_parameters(format!("`{uri}` is not open"))
}

/// The parameters of a message.
fn read<T: DeserializeOwned>(params: serde_json::Value) -> Answer<T> {
    serde_json::from_value(params).map_err(|e| Refusal::of_parameters(e.to_string()))
}

enum Caught {
    Cancelled,
    Bug(String),
}

/// Does something that may be told to end, or that may be wrong.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Caught> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match panic.downcast::<Cancelled>() {
        Ok(_) => Caught::Cancelled,
        Err(panic) => Caught::Bug(panic_message(panic.as_ref())),
    })
}

/// What a panic said.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// An answer that somebody else gives.
type Later<T> = Option<T>;

fn now<T: serde::Serialize>(answer: Answer<T>) -> Later<Answer<serde_json::Value>> {
    Some(answer.and_then(|a| {
        serde_json::to_value(a).map_err(|e| Refusal::new(ErrorCode::InternalError, e.to_string()))
    }))
}

/// Who waits for the answer.
type Asked<'a> = &'a RequestId;
