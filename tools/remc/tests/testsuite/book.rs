//! `book/src/` and the first page of all, `README.md`: one test a page. Fenced blocks:
//!
//! - `remora`: a program; what stands behind `; ⇒` is the value of the form before it, or `error` and a
//!   code, and nothing else in it is wrong;
//! - `remora more`: goes on with the program of the block before;
//! - `remora NAME.remora`: a file, for imports and for the commands below; when it comes once more, it is what the fix of
//!   its message makes of it;
//! - `console`: lines `$ remc …`, run in a folder with those files and `examples/`, and their output;
//! - `repl`: lines `> …`, typed at the prompt, and what it shows.
//!
//! Pictures that the commands and the prompt of a page of the book draw there are those of the book.
//!
//! Each page about the language has programs. The pages that are written from other sources are compared with these.

use crate::pages::{Folder, blocks, console, file_name, prompt};
use crate::{differs, expect_file, files, remc, root, stderr, stdout, stem, updating};
use libtest_mimic::{Failed, Trial};
use remc_driver::Session;
use std::path::{Path, PathBuf};

#[path = "../support/examples.rs"]
mod examples;

pub fn trials() -> Vec<Trial> {
    let source = root().join("book/src");
    let mut trials = vec![
        Trial::test("book::every_page_is_in_the_summary", summary),
        Trial::test("book::every_page_of_the_language_has_programs", programs),
        Trial::test("book::the_prelude_is_up_to_date", prelude),
        Trial::test("book::the_errors_are_up_to_date", errors),
    ];
    trials.push(Trial::test("book::README", || page(&root().join("README.md")).map(drop)));
    for path in pages_of(&source) {
        let name = path.strip_prefix(&source).unwrap_or(&path).with_extension("").display().to_string();
        trials.push(Trial::test(format!("book::{name}"), move || pictures(&page(&path)?)));
    }
    trials
}

/// All pages under a folder, sorted.
fn pages_of(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(std::fs::read_dir(&path).into_iter().flatten().filter_map(|f| Some(f.ok()?.path())));
        } else if path.extension().is_some_and(|e| e == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Each page is in the table of contents, which has no others; and each link between pages leads to one.
fn summary() -> Result<(), Failed> {
    let source = root().join("book/src");
    let summary = std::fs::read_to_string(source.join("SUMMARY.md"))?;
    let listed = links(&summary);
    let mut wrong = vec![];
    for page in pages_of(&source) {
        let name = page.strip_prefix(&source)?.to_string_lossy().replace('\\', "/");
        if name != "SUMMARY.md" && !listed.contains(&name) {
            wrong.push(format!("{name} is not in SUMMARY.md"));
        }
        let folder = page.parent().unwrap_or(&source);
        for link in links(&std::fs::read_to_string(&page)?) {
            if !folder.join(&link).exists() {
                wrong.push(format!("{name}: the link to {link} leads nowhere"));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Whoever reads about the language sees it: each page of that part has programs, which `page` runs.
fn programs() -> Result<(), Failed> {
    let source = root().join("book/src");
    let summary = std::fs::read_to_string(source.join("SUMMARY.md"))?;
    let part = summary.split("\n# ").find(|part| part.starts_with("The language\n")).ok_or("no such part")?;
    let mut without = vec![];
    for name in links(part) {
        let text = std::fs::read_to_string(source.join(&name))?;
        let runs = |info: &str| matches!(info.split(' ').next(), Some("remora" | "repl"));
        if !blocks(&text)?.iter().any(|b| runs(&b.info)) {
            without.push(name);
        }
    }
    if without.is_empty() { Ok(()) } else { Err(format!("no programs in {}", without.join(", ")).into()) }
}

/// The files that a page links to.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|part| part.split_once(')'));
    targets
        .map(|(target, _)| target.split('#').next().unwrap_or_default().to_owned())
        .filter(|t| !t.is_empty() && !t.contains("://"))
        .collect()
}

/// The prelude's page is what `remc doc` writes, and `remc doc` knows each name of it.
fn prelude() -> Result<(), Failed> {
    let entries = remc::doc::prelude(&Session::default());
    let names: Vec<&str> = entries.iter().map(|e| e.name.as_str()).collect();
    let said = stdout(&remc().args(["doc", "--"]).args(&names).output()?);
    let unsaid: Vec<_> = entries.iter().filter(|e| !said.lines().any(|l| l == e.usage)).collect();
    if !unsaid.is_empty() {
        return Err(format!("`remc doc` does not say: {unsaid:?}").into());
    }
    let output = remc().args(["doc", "--format", "markdown"]).output()?;
    expect_file(&root().join("book/src/language/prelude.md"), &stdout(&output))
}

/// The index of messages has each page of `testsuite/diagnostics/`, with its first line.
fn errors() -> Result<(), Failed> {
    let mut out = String::from(
        "# Messages and their codes\n\n\
         <!-- A test writes this page from the first lines of `testsuite/diagnostics/`. -->\n\n\
         Every message has a code. `remc explain CODE` shows its page: what it means, what helps, programs that\n\
         cause it and what is then said.\n\n\
         ```remora\n\
         (+ [1 2] [1 2 3])        ; ⇒ error E0301\n\
         (+ one 2)                ; ⇒ error E0501\n\
         (index-item [1 2 3] 3)   ; ⇒ error R0001\n\
         ```\n",
    );
    let kinds = [
        ("E", "Errors of a program", "The program is wrong; `remc` ends with exit code 1."),
        ("W", "Warnings", "The program is run all the same."),
        ("R", "Stops of a running program", "The program was right, and stopped; exit code 3."),
        ("L", "Limitations", "The program is right, but not compiled yet; the interpreter runs it."),
        ("U", "Wrong usage", "What `remc` was asked cannot be done; exit code 2."),
    ];
    let pages = files("diagnostics", "md");
    for (letter, title, what) in kinds {
        out.push_str(&format!("\n## {title}\n\n{what}\n\n| code | what it says |\n| --- | --- |\n"));
        for path in pages.iter().filter(|p| stem(p).starts_with(letter)) {
            let text = std::fs::read_to_string(path)?;
            let code = stem(path);
            let title = text.lines().next().and_then(|l| l.split_once(": ")).map_or("", |(_, t)| t);
            let link = format!("../../../testsuite/diagnostics/{code}.md");
            out.push_str(&format!("| [{code}]({link}) | {title} |\n"));
        }
    }
    let listed = out.matches("| [").count();
    if listed != pages.len() {
        return Err(format!("{listed} of {} codes are listed", pages.len()).into());
    }
    // `remc explain` knows the same.
    let explained = stdout(&remc().arg("explain").output()?);
    let explained: Vec<&str> = explained.lines().filter_map(|l| l.split_whitespace().next()).collect();
    let codes: Vec<String> = pages.iter().map(|p| stem(p)).collect();
    if explained != codes {
        return Err(differs("the list of `remc explain`", &codes.join(" "), &explained.join(" ")));
    }
    expect_file(&root().join("book/src/language/errors.md"), &out)
}

/// The folder that a page's commands were run in, after what they said was compared.
fn page(path: &Path) -> Result<Folder, Failed> {
    let text = std::fs::read_to_string(path)?;
    let folder = Folder::new(&format!("book-{}", path.file_stem().unwrap_or_default().to_string_lossy()))?;
    let mut programs: Vec<String> = vec![];
    let mut found = vec![];
    for block in blocks(&text)? {
        let content = &text[block.content.clone()];
        match block.info.as_str() {
            "remora" => programs.push(content.to_owned()),
            "remora more" => programs.last_mut().ok_or("`more` of no program")?.push_str(content),
            "console" => found.push((block.content.clone(), console(content, &folder)?)),
            "repl" => found.push((block.content.clone(), prompt(content, &folder)?)),
            info => {
                if let Some(name) = file_name(info) {
                    let file = folder.0.join(name);
                    if file.exists() {
                        mended(&file, content)?;
                    }
                    std::fs::write(file, content)?;
                }
            }
        }
    }
    let mut session = Session::default();
    let mut mistakes = vec![];
    for program in &programs {
        let forms = examples::run(&mut session, &folder.0, program);
        mistakes.extend(forms.iter().filter_map(examples::Form::mistake));
    }
    if !mistakes.is_empty() {
        return Err(mistakes.join("\n").into());
    }
    let mut updated = text.clone();
    for (range, said) in found.into_iter().rev() {
        if text[range.clone()] != said {
            if !updating() {
                return Err(differs("a command's output", &text[range], &said));
            }
            updated.replace_range(range, &said);
        }
    }
    if updated != text {
        std::fs::write(path, updated)?;
    }
    Ok(folder)
}

/// A file is mended as its message says: by the first fix, which editors and other programs get with it.
fn mended(file: &Path, content: &str) -> Result<(), Failed> {
    let output = remc().args(["check", "--diagnostics", "json"]).arg(file).output()?;
    let messages = stderr(&output);
    let message: serde_json::Value =
        serde_json::from_str(messages.lines().next().ok_or("nothing is wrong")?)?;
    let fix = &message["fixes"][0];
    let place = |end: &str| fix[end].as_u64().map(|at| at as usize).ok_or("the message has no fix");
    let mut text = std::fs::read_to_string(file)?;
    text.replace_range(place("start")?..place("end")?, fix["text"].as_str().unwrap_or_default());
    if text == content { Ok(()) } else { Err(differs("the mended file", content, &text)) }
}

/// What the commands of a page have drawn are the book's pictures of that name.
fn pictures(folder: &Folder) -> Result<(), Failed> {
    for entry in std::fs::read_dir(&folder.0)? {
        let drawn = entry?.path();
        if !drawn.extension().is_some_and(|e| e == "svg" || e == "png") {
            continue;
        }
        let name = drawn.file_name().unwrap_or_default();
        let (drawn, kept) = (std::fs::read(&drawn)?, root().join("book/src/pictures").join(name));
        if std::fs::read(&kept).ok().as_ref() != Some(&drawn) {
            if !updating() {
                return Err(format!("{} is not what is drawn", kept.display()).into());
            }
            std::fs::write(kept, drawn)?;
        }
    }
    Ok(())
}
