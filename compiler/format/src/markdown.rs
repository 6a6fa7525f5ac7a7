//! Remora in Markdown: fenced blocks whose first word is `remora`.

use crate::format;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use remc_base::{Diagnostic, Span};
use std::ops::Range;

/// A page with its programs formatted.
#[derive(Clone, PartialEq, Debug)]
pub struct Markdown {
    pub text: String,
    /// The blocks that are left as they are, since something is wrong with them: pages show what is wrong, too.
    pub left: Vec<Block>,
}

/// A block that is no program.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// The line of the page on which its text begins, from 1.
    pub line: usize,
    /// What the reader says; places are those in the block.
    pub diagnostics: Vec<Diagnostic<Span>>,
}

/// Formats the programs of a page. All else stays as it is.
pub fn format_markdown(page: &str) -> Markdown {
    let mut out = Markdown { text: String::with_capacity(page.len()), left: vec![] };
    let mut at = 0;
    for (content, prefix) in blocks(page) {
        let Some(program) = without(&page[content.clone()], prefix) else { continue };
        let line = 1 + page[..content.start].bytes().filter(|b| *b == b'\n').count();
        match format(&program) {
            Ok(new) => {
                out.text.push_str(&page[at..content.start]);
                for line in new.split_inclusive('\n') {
                    let empty = line.trim_end_matches(['\r', '\n']).is_empty();
                    out.text.push_str(if empty { prefix.trim_end() } else { prefix });
                    out.text.push_str(line);
                }
                at = content.end;
            }
            Err(diagnostics) => out.left.push(Block { line, diagnostics }),
        }
    }
    out.text.push_str(&page[at..]);
    out
}

/// The whole lines of each block, and what each begins with: the page's own marks, such as the `> ` of a quotation.
fn blocks(page: &str) -> Vec<(Range<usize>, &str)> {
    let mut out = vec![];
    let mut block: Option<Option<Range<usize>>> = None;
    for (event, range) in Parser::new(page).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let remora = info.split_whitespace().next() == Some("remora");
                block = remora.then_some(None);
            }
            Event::Text(_) => {
                if let Some(text) = &mut block {
                    let start = text.as_ref().map_or(range.start, |t| t.start);
                    *text = Some(start..range.end);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some(Some(text)) = block.take() {
                    let start = page[..text.start].rfind('\n').map_or(0, |n| n + 1);
                    let end = match page[..text.end].ends_with('\n') {
                        true => text.end,
                        false => page[text.end..].find('\n').map_or(page.len(), |n| text.end + n + 1),
                    };
                    out.push((start..end, &page[start..text.start]));
                }
            }
            _ => {}
        }
    }
    out
}

/// The lines of a block without what each begins with; none if one begins otherwise.
fn without(lines: &str, prefix: &str) -> Option<String> {
    let mut out = String::with_capacity(lines.len());
    for line in lines.split_inclusive('\n') {
        match line.strip_prefix(prefix) {
            Some(rest) => out.push_str(rest),
            None if line.trim_end() == prefix.trim_end() => {
                out.push_str(if line.ends_with("\r\n") { "\r\n" } else { "\n" });
            }
            None => return None,
        }
    }
    Some(out)
}
