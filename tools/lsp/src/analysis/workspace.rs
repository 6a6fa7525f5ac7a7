//! Files that are not open: those of the workspace's folders, and those that change on the disk.

use super::Analysis;
use crate::uri;
use gen_lsp_types as lsp;
use lsp::MessageType;
use std::path::{Path, PathBuf};

/// So many files of the workspace are read at most, and folders looked into.
const MOST: usize = 4096;

impl Analysis {
    /// The files of a folder will be read, so that they are among what is searched.
    pub(super) fn add_folder(&mut self, folder: &Path) {
        let (mut files, mut folders, mut looked) = (Vec::new(), vec![folder.to_owned()], 0);
        while let Some(folder) = folders.pop() {
            looked += 1;
            let inside = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut inside: Vec<PathBuf> = inside.map(|entry| entry.path()).collect();
            inside.sort();
            for path in inside {
                let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
                // A link may lead back.
                let is_link = path.is_symlink();
                if path.is_dir() && !is_link {
                    if !name.starts_with('.') && !matches!(name.as_str(), "target" | "node_modules") {
                        folders.push(path);
                    }
                } else if path.extension().is_some_and(|e| e == "remora") {
                    files.push(path);
                }
            }
            if files.len() > MOST || looked > MOST {
                files.truncate(MOST);
                let said = format!("`{}` is large: not all of its files are searched", folder.display());
                self.outbox.log(MessageType::Warning, said);
                break;
            }
        }
        self.unread.extend(files);
    }

    /// Reads one file of the workspace.
    pub(super) fn read_one(&mut self) {
        // One that cannot be read is said to be so where it is imported.
        if let Some(path) = self.unread.pop_front() {
            let _ = self.session.find_or_load(&path);
        }
    }

    pub(super) fn changed_on_disk(&mut self, changes: Vec<lsp::FileEvent>) {
        let is_program = |path: &PathBuf| path.extension().is_some_and(|e| e == "remora");
        let paths: Vec<PathBuf> =
            changes.iter().filter_map(|c| uri::path(&c.uri.0)).filter(is_program).collect();
        self.session.read_again(&paths);
        let inside = |path: &&PathBuf| self.client.folders.iter().any(|folder| path.starts_with(folder));
        let new: Vec<PathBuf> = paths.iter().filter(inside).cloned().collect();
        self.unread.extend(new);
        self.doubt_all();
        if self.client.pulls && self.client.refreshes_diagnostics {
            self.outbox.ask::<lsp::DiagnosticRefreshRequest>(());
        }
        if self.client.refreshes_hints {
            self.outbox.ask::<lsp::InlayHintRefreshRequest>(());
        }
        if self.client.refreshes_tokens {
            self.outbox.ask::<lsp::SemanticTokensRefreshRequest>(());
        }
        if self.client.refreshes_lenses {
            self.outbox.ask::<lsp::CodeLensRefreshRequest>(());
        }
    }
}
