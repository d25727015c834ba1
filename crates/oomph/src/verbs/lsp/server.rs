//! The conversation: one message in, any number out. Whatever an editor sends, the server goes on.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeNotebookDocument, DidChangeTextDocument, DidChangeWatchedFiles, DidCloseNotebookDocument,
    DidCloseTextDocument, DidOpenNotebookDocument, DidOpenTextDocument, DidSaveNotebookDocument, DidSaveTextDocument,
    Notification as _, PublishDiagnostics, ShowMessage,
};
use lsp_types::request::{CodeActionRequest, HoverRequest, Initialize, RegisterCapability, Request as _, Shutdown};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionParams, DidChangeNotebookDocumentParams, DidChangeTextDocumentParams,
    DidCloseNotebookDocumentParams, DidCloseTextDocumentParams, DidOpenNotebookDocumentParams,
    DidOpenTextDocumentParams, Hover, HoverContents, HoverParams, HoverProviderCapability, InitializeParams,
    InitializeResult, MarkupContent, MarkupKind, MessageType, NotebookCellSelector, NotebookDocumentSyncOptions,
    NotebookSelector, OneOf, PublishDiagnosticsParams, ServerCapabilities, ServerInfo, ShowMessageParams,
    TextDocumentItem, TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, Uri,
};
use oomph_check::settings::{Options, Settings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::actions::{self, EditStyle, FIX_ALL};
use super::document::{Document, path_of};
use super::notebook::Notebook;
use super::position::Encoding;
use crate::settings::{FILE_NAME, Origin, Resolver};

/// What to do after a message.
pub(super) enum Step {
    /// Send these and read on.
    Go(Vec<Message>),
    /// The conversation is over.
    End {
        /// The editor said so first.
        orderly: bool,
    },
}

/// The state of a conversation.
#[derive(Default)]
pub(super) struct Server {
    initialized: bool,
    shut_down: bool,
    encoding: Encoding,
    edit_style: EditStyle,
    can_watch: bool,
    documents: HashMap<Uri, Document>,
    notebooks: Vec<Notebook>,
    /// `None` until it is needed, and again when a settings file may have changed.
    resolver: Option<Resolver>,
    outbox: Vec<Message>,
}

/// Why a request gets no answer.
struct Refusal(ErrorCode, String);

impl Server {
    /// Takes in a message and says what to do.
    pub(super) fn receive(&mut self, message: Message) -> Step {
        match message {
            Message::Notification(notification) if notification.method == "exit" => {
                return Step::End { orderly: self.shut_down };
            }
            Message::Request(request) => {
                let id = request.id.clone();
                let answer = guarded(|| self.answer(request));
                self.outbox.push(Message::Response(response(id, answer)));
            }
            Message::Notification(notification) if self.initialized && !self.shut_down => {
                let method = notification.method.clone();
                if let Err(Refusal(_, problem)) = guarded(|| self.take_note(notification).map(|()| Value::Null)) {
                    self.show(&format!("{method}: {problem}"));
                }
            }
            Message::Notification(_) | Message::Response(_) => {}
        }
        Step::Go(std::mem::take(&mut self.outbox))
    }

    fn answer(&mut self, request: Request) -> Result<Value, Refusal> {
        match request.method.as_str() {
            Initialize::METHOD if !self.initialized => Ok(value(&self.initialize(&read(request.params)?))),
            Initialize::METHOD => Err(Refusal(ErrorCode::InvalidRequest, "initialized already".into())),
            _ if !self.initialized => Err(Refusal(ErrorCode::ServerNotInitialized, "initialize comes first".into())),
            _ if self.shut_down => Err(Refusal(ErrorCode::InvalidRequest, "shut down already".into())),
            Shutdown::METHOD => {
                self.shut_down = true;
                Ok(Value::Null)
            }
            HoverRequest::METHOD => Ok(value(&self.hover(&read(request.params)?))),
            CodeActionRequest::METHOD => self.code_actions(&read(request.params)?),
            method => Err(Refusal(ErrorCode::MethodNotFound, format!("oomph does not know {method}"))),
        }
    }

    fn take_note(&mut self, notification: Notification) -> Result<(), Refusal> {
        match notification.method.as_str() {
            "initialized" => self.watch_settings(),
            DidOpenTextDocument::METHOD => {
                let opened: DidOpenTextDocumentParams = read(notification.params)?;
                let document = opened.text_document;
                let document = Document::new(document.uri, document.version, document.text, self.encoding);
                self.resolver = None;
                self.put(document);
            }
            DidChangeTextDocument::METHOD => {
                let changed: DidChangeTextDocumentParams = read(notification.params)?;
                let (uri, version) = (changed.text_document.uri, changed.text_document.version);
                if let Some(document) = self.documents.get(&uri) {
                    let document = document.changed(version, changed.content_changes, self.encoding);
                    self.put(document);
                }
            }
            DidCloseTextDocument::METHOD => {
                let closed: DidCloseTextDocumentParams = read(notification.params)?;
                self.close(&closed.text_document.uri);
            }
            DidOpenNotebookDocument::METHOD => self.open_notebook(read(notification.params)?),
            DidChangeNotebookDocument::METHOD => self.change_notebook(read(notification.params)?),
            DidCloseNotebookDocument::METHOD => {
                let closed: DidCloseNotebookDocumentParams = read(notification.params)?;
                self.notebooks.retain(|notebook| notebook.uri != closed.notebook_document.uri);
                for cell in closed.cell_text_documents {
                    self.close(&cell.uri);
                }
            }
            DidSaveTextDocument::METHOD
            | DidSaveNotebookDocument::METHOD
            | DidChangeWatchedFiles::METHOD
            | "workspace/didChangeConfiguration" => self.check_all(),
            // What servers may pass over begins with `$/`; the rest is not for oomph either.
            _ => {}
        }
        Ok(())
    }

    fn initialize(&mut self, params: &InitializeParams) -> InitializeResult {
        let general = params.capabilities.general.as_ref();
        self.encoding = Encoding::negotiate(general.and_then(|general| general.position_encodings.as_deref()));
        let workspace = params.capabilities.workspace.as_ref();
        let edits = workspace.and_then(|workspace| workspace.workspace_edit.as_ref());
        self.edit_style = EditStyle { versioned: edits.and_then(|edits| edits.document_changes).unwrap_or(false) };
        let watching = workspace.and_then(|workspace| workspace.did_change_watched_files);
        self.can_watch = watching.and_then(|watching| watching.dynamic_registration).unwrap_or(false);
        self.initialized = true;
        InitializeResult {
            capabilities: ServerCapabilities {
                position_encoding: Some(self.encoding.kind()),
                text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(TextDocumentSyncKind::INCREMENTAL),
                    save: Some(true.into()),
                    ..TextDocumentSyncOptions::default()
                })),
                notebook_document_sync: Some(OneOf::Left(NotebookDocumentSyncOptions {
                    notebook_selector: vec![NotebookSelector::ByNotebook {
                        notebook: lsp_types::Notebook::String("*".to_owned()),
                        cells: Some(vec![NotebookCellSelector { language: "python".to_owned() }]),
                    }],
                    save: Some(true),
                })),
                hover_provider: Some(HoverProviderCapability::Simple(true)),
                code_action_provider: Some(
                    CodeActionOptions {
                        code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, FIX_ALL]),
                        ..CodeActionOptions::default()
                    }
                    .into(),
                ),
                ..ServerCapabilities::default()
            },
            server_info: Some(ServerInfo {
                name: "oomph".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        }
    }

    /// Asks the editor to tell when a settings file changes.
    fn watch_settings(&mut self) {
        if self.can_watch {
            let watchers = json!([{ "globPattern": format!("**/{FILE_NAME}") }]);
            let registration = json!({
                "id": "oomph-settings",
                "method": DidChangeWatchedFiles::METHOD,
                "registerOptions": { "watchers": watchers },
            });
            self.outbox.push(Message::Request(Request {
                id: RequestId::from("oomph-settings".to_owned()),
                method: RegisterCapability::METHOD.to_owned(),
                params: json!({ "registrations": [registration] }),
            }));
        }
    }

    fn open_notebook(&mut self, opened: DidOpenNotebookDocumentParams) {
        let notebook = opened.notebook_document;
        self.notebooks.retain(|known| known.uri != notebook.uri);
        self.open_cells(&notebook.uri, opened.cell_text_documents);
        self.resolver = None;
        self.put_notebook(Notebook { uri: notebook.uri, cells: notebook.cells });
    }

    fn change_notebook(&mut self, changed: DidChangeNotebookDocumentParams) {
        let uri = changed.notebook_document.uri;
        let Some(index) = self.notebooks.iter().position(|notebook| notebook.uri == uri) else { return };
        let mut notebook = self.notebooks.swap_remove(index);
        if let Some(change) = changed.change.cells {
            if let Some(structure) = change.structure {
                notebook.splice(structure.array);
                self.open_cells(&uri, structure.did_open.unwrap_or_default());
                for closed in structure.did_close.unwrap_or_default() {
                    self.close(&closed.uri);
                }
            }
            for content in change.text_content.unwrap_or_default() {
                if let Some(cell) = self.documents.get(&content.document.uri) {
                    let cell = cell.changed(content.document.version, content.changes, self.encoding);
                    self.documents.insert(cell.uri.clone(), cell);
                }
            }
        }
        self.put_notebook(notebook);
    }

    fn open_cells(&mut self, notebook: &Uri, cells: Vec<TextDocumentItem>) {
        for cell in cells {
            let mut document = Document::new(cell.uri, cell.version, cell.text, self.encoding);
            document.notebook = Some(notebook.clone());
            self.documents.insert(document.uri.clone(), document);
        }
    }

    /// Checks a notebook, keeps it, and shows what was found in each cell.
    fn put_notebook(&mut self, notebook: Notebook) {
        let settings = self.settings(path_of(&notebook.uri).as_deref());
        let found = notebook.check(|uri| self.documents.get(uri).map(Document::text), &settings);
        for (uri, findings) in found {
            if let Some(cell) = self.documents.get_mut(&uri) {
                cell.findings = findings;
                let diagnostics = PublishDiagnosticsParams::new(uri, cell.diagnostics(), Some(cell.version));
                self.notify::<PublishDiagnostics>(&diagnostics);
            }
        }
        self.notebooks.push(notebook);
    }

    fn close(&mut self, uri: &Uri) {
        if let Some(document) = self.documents.remove(uri) {
            self.notify::<PublishDiagnostics>(&PublishDiagnosticsParams::new(document.uri, Vec::new(), None));
        }
    }

    /// Checks a document, keeps it, and shows what was found.
    fn put(&mut self, mut document: Document) {
        document.check(&self.settings(document.path().as_deref()));
        let diagnostics =
            PublishDiagnosticsParams::new(document.uri.clone(), document.diagnostics(), Some(document.version));
        self.notify::<PublishDiagnostics>(&diagnostics);
        self.documents.insert(document.uri.clone(), document);
    }

    /// Checks every open document again: settings may have changed.
    fn check_all(&mut self) {
        self.resolver = None;
        let alone = |_: &Uri, document: &mut Document| document.notebook.is_none();
        let mut documents: Vec<Document> = self.documents.extract_if(alone).map(|(_, document)| document).collect();
        documents.sort_by(|a, b| a.uri.as_str().cmp(b.uri.as_str()));
        for document in documents {
            self.put(document);
        }
        for notebook in std::mem::take(&mut self.notebooks) {
            self.put_notebook(notebook);
        }
    }

    /// The settings for a file; a faulty file of settings is told of, once, and the defaults hold.
    fn settings(&mut self, path: Option<&Path>) -> Arc<Settings> {
        if self.resolver.is_none() {
            self.resolver = Resolver::new(&Origin::Nearest, Options::default()).ok();
        }
        let Some(resolver) = &self.resolver else {
            return Arc::new(Settings::default_for(&oomph_check::catalogue()));
        };
        let here = std::env::current_dir().unwrap_or_default();
        let settings = resolver.of(path.and_then(Path::parent).unwrap_or(&here));
        if let Some(fault) = resolver.fault() {
            let hint = fault.hint().map_or(String::new(), |hint| format!("; {hint}"));
            self.show(&format!("{fault}{hint}"));
        }
        settings
    }

    fn hover(&self, params: &HoverParams) -> Option<Hover> {
        let at = &params.text_document_position_params;
        let document = self.documents.get(&at.text_document.uri)?;
        let offset = document.lines.offset(document.text(), at.position);
        let covers = |finding: &&oomph_check::Finding| {
            finding.range.start().to_usize() <= offset && offset <= finding.range.end().to_usize()
        };
        let rules = oomph_check::catalogue();
        let mut names: Vec<&str> = document.findings.iter().filter(covers).map(|finding| finding.rule).collect();
        names.dedup();
        let pages: Vec<String> = names
            .iter()
            .filter_map(|name| rules.iter().find(|rule| rule.name == *name))
            .map(|rule| rule.page())
            .collect();
        let first = document.findings.iter().find(covers)?;
        Some(Hover {
            contents: HoverContents::Markup(MarkupContent {
                kind: MarkupKind::Markdown,
                value: pages.join("\n---\n\n"),
            }),
            range: Some(document.lines.range(document.text(), first.range)),
        })
    }

    fn code_actions(&mut self, params: &CodeActionParams) -> Result<Value, Refusal> {
        let uri = &params.text_document.uri;
        let unknown = || Refusal(ErrorCode::InvalidParams, format!("{} is not open", uri.as_str()));
        let path = self.documents.get(uri).ok_or_else(unknown)?.path();
        let settings = self.settings(path.as_deref());
        let document = self.documents.get(uri).ok_or_else(unknown)?;
        Ok(value(&actions::actions(document, params, &settings, self.edit_style)))
    }

    fn notify<N: lsp_types::notification::Notification>(&mut self, params: &N::Params) {
        self.outbox.push(Message::Notification(Notification::new(N::METHOD.to_owned(), params)));
    }

    fn show(&mut self, message: &str) {
        let params = ShowMessageParams { typ: MessageType::ERROR, message: format!("oomph: {message}") };
        self.notify::<ShowMessage>(&params);
    }
}

/// A defect of oomph spoils one answer, not the conversation.
fn guarded(work: impl FnOnce() -> Result<Value, Refusal>) -> Result<Value, Refusal> {
    let defect = |_| Err(Refusal(ErrorCode::InternalError, "a defect of oomph: please report it with the file".into()));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(defect)
}

fn response(id: RequestId, answer: Result<Value, Refusal>) -> Response {
    match answer {
        Ok(value) => Response::new_ok(id, value),
        Err(Refusal(code, message)) => Response::new_err(id, code as i32, message),
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(|error| Refusal(ErrorCode::InvalidParams, error.to_string()))
}

/// The protocol's own types can always be written.
fn value(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).unwrap_or_default()
}
