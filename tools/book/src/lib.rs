//! The book as a site: what mdbook cannot do itself.
//!
//! - Programs get their colours from the grammar for editors (`tools/tree-sitter-remora`), when the site is built: names
//!   of types and of values are told apart as no list of keywords could, and a reader's browser has nothing to run.
//! - What stands behind `⇒` in a program, and the commands of a console, stand out.
//! - The pages of messages, `testsuite/diagnostics/`, are pages of the site below their index.

mod colours;
mod markdown;

pub use colours::{Colours, page};

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Where the pages of messages are, from the root of the repository.
const MESSAGES: &str = "testsuite/diagnostics";
/// The page that has all of them in a table.
const INDEX: &str = "language/errors.md";

/// The book with its pages ready to render, both as mdbook exchanges them: the context and the book in an array, and the
/// book.
pub fn preprocess(given: &str) -> Result<String, String> {
    let value: Value = serde_json::from_str(given).map_err(|e| format!("mdbook gave no JSON: {e}"))?;
    let [context, book] = value.as_array().map(Vec::as_slice).unwrap_or_default() else {
        return Err("mdbook gave no context and book".into());
    };
    let root = context["root"].as_str().ok_or("mdbook gave no folder of the book")?;
    let root = Path::new(root).parent().ok_or("the book is in no folder")?.to_owned();
    let mut book = book.clone();
    let items = book["items"].as_array_mut().ok_or("this is not the book of mdbook 0.5")?;
    Site { root, colours: Colours::new() }.chapters(items)?;
    serde_json::to_string(&book).map_err(|e| e.to_string())
}

struct Site {
    /// The repository's.
    root: PathBuf,
    colours: Colours,
}

impl Site {
    fn chapters(&self, items: &mut [Value]) -> Result<(), String> {
        for item in items {
            let Some(chapter) = item.get_mut("Chapter") else { continue };
            let Some(path) = chapter["path"].as_str().map(str::to_owned) else { continue };
            if path == INDEX {
                chapter["sub_items"] = Value::Array(self.messages(chapter)?);
            }
            if let Some(content) = chapter["content"].as_str() {
                chapter["content"] = Value::String(markdown::page(&self.colours, &path, content));
            }
            if let Some(below) = chapter["sub_items"].as_array_mut() {
                self.chapters(below)?;
            }
        }
        Ok(())
    }

    /// The pages of messages, as chapters below the index.
    fn messages(&self, index: &Value) -> Result<Vec<Value>, String> {
        let folder = self.root.join(MESSAGES);
        let wrong = |e: std::io::Error| format!("{}: {e}", folder.display());
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
            .map_err(wrong)?
            .map(|entry| Ok(entry.map_err(wrong)?.path()))
            .collect::<Result<_, String>>()?;
        files.retain(|f| f.extension().is_some_and(|e| e == "md"));
        files.sort();
        let mut parents = index["parent_names"].as_array().cloned().unwrap_or_default();
        parents.push(index["name"].clone());
        let above = index["number"].as_array().cloned().unwrap_or_default();
        let chapter = |(i, file): (usize, &PathBuf)| {
            let content = std::fs::read_to_string(file).map_err(wrong)?;
            let code = file.file_stem().unwrap_or_default().to_string_lossy();
            let title = content.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or(&code);
            let number: Vec<Value> = above.iter().cloned().chain([json!(i + 1)]).collect();
            Ok(json!({"Chapter": {
                "name": title.replace('`', ""),
                "content": content,
                "number": number,
                "sub_items": [],
                "path": format!("messages/{code}.md"),
                "source_path": null,
                "parent_names": parents,
            }}))
        };
        files.iter().enumerate().map(chapter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What mdbook gives, with two chapters: the index of messages has the pages below it, and programs have colours.
    #[test]
    fn the_book_gets_its_messages_and_colours() {
        let chapter = |name: &str, path: &str, number: u32, content: &str| {
            json!({"Chapter": {"name": name, "content": content, "number": [number], "sub_items": [], "path": path,
                "source_path": path, "parent_names": []}})
        };
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book");
        let given = json!([{"root": root}, {"items": [
            {"PartTitle": "The language"},
            chapter("Text", "language/text.md", 1, "```remora\n(f 1)\n```\n"),
            chapter("Messages", "language/errors.md", 2, "[E0101](../../../testsuite/diagnostics/E0101.md)\n"),
        ]}]);
        let book: Value =
            serde_json::from_str(&preprocess(&given.to_string()).expect("a book")).expect("JSON");
        let text = book["items"][1]["Chapter"]["content"].as_str().expect("a text");
        assert!(text.contains("<span class=\"r-call\">f</span>"), "{text}");
        let index = &book["items"][2]["Chapter"];
        assert_eq!(index["content"], "[E0101](../messages/E0101.md)\n");
        let below = index["sub_items"].as_array().expect("pages");
        assert!(below.len() > 100, "{}", below.len());
        let page =
            below.iter().map(|b| &b["Chapter"]).find(|c| c["path"] == "messages/E0301.md").expect("a page");
        assert_eq!(page["name"], "E0301: frames do not fit");
        assert_eq!(page["number"].as_array().map(Vec::len), Some(2));
        assert_eq!(page["parent_names"], json!(["Messages"]));
        assert!(page["content"].as_str().expect("a text").contains("nohighlight remora"));
    }

    #[test]
    fn what_is_no_book_is_said() {
        assert!(preprocess("{").is_err());
        assert!(preprocess("[]").is_err());
        assert!(preprocess("[{\"root\": \"/a/b\"}, {\"sections\": []}]").is_err());
    }
}
