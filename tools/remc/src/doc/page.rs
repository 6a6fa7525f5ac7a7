//! Documentation as Markdown: the prelude's page of the book, and pages of users' files.

use super::{GROUPS, grouped, listed_as, other_uses};
use remc_driver::doc::{Entry, Example};

/// The prelude, by group.
pub fn prelude(all: &[Entry]) -> String {
    let intro = "Every program sees these names; a definition of its own with such a name hides the prelude's. \
                 `remc doc NAME` shows what is said here. Under each name is how it is applied, and its type: \
                 `t` is the type of elements, `(t num)` one of numbers, and what `Π` and `∀` bind fits any \
                 sizes and element types ([types](types.md)). A function is applied to cells and lifts over \
                 all other axes ([frames](frames.md)); `(Val n)` is an `int` whose value the checker has to \
                 know, or opens as a size of its own ([known numbers](../inference.md)).";
    let mut out = String::from(
        "# The prelude\n\n\
         <!-- `remc doc --format markdown` writes this page from the comments in `prelude/`. -->\n\n",
    );
    super::wrapped(intro, 110).iter().for_each(|l| out.push_str(&format!("{l}\n")));
    out.push_str("\n| group | names |\n| --- | --- |\n");
    for group in GROUPS {
        let names: Vec<String> = grouped(all, group).iter().map(|n| code(n)).collect();
        out.push_str(&format!("| {group} | {} |\n", names.join(" ")));
    }
    for group in GROUPS {
        out.push_str(&format!("\n## {group}\n"));
        let of_group: Vec<&Entry> = all.iter().filter(|e| e.heading.group == group).collect();
        sections(&of_group, &mut out);
    }
    out
}

/// A user's file.
pub fn file(title: &str, all: &[Entry]) -> String {
    let mut out = format!("# {title}\n");
    let mut group = "";
    let mut rest: &[Entry] = all;
    while let Some(first) = rest.first() {
        let n = rest.iter().take_while(|e| e.heading.group == first.heading.group).count();
        if first.heading.group != group {
            group = &first.heading.group;
            out.push_str(&format!("\n## {group}\n"));
        }
        sections(&rest[..n].iter().collect::<Vec<_>>(), &mut out);
        rest = &rest[n..];
    }
    out
}

/// Some definitions, without a page around them.
pub fn listed(all: &[Entry]) -> String {
    let mut out = String::new();
    sections(&all.iter().collect::<Vec<_>>(), &mut out);
    out.trim_start().to_owned()
}

/// A section for each name, with all its uses.
fn sections(all: &[&Entry], out: &mut String) {
    let mut remark = "";
    for e in all {
        let base = listed_as(&e.name);
        if base != e.name && all.iter().any(|other| other.name == base) {
            continue;
        }
        if e.heading.remark != remark {
            remark = &e.heading.remark;
            if !remark.is_empty() {
                out.push_str(&format!("\n*{}.*\n", capitalised(remark)));
            }
        }
        out.push_str(&format!("\n### {}\n", code(&e.name)));
        section(e, out);
        for other in other_uses(&e.name) {
            if let Some(other) = all.iter().find(|o| o.name == *other) {
                section(other, out);
            }
        }
    }
}

fn section(e: &Entry, out: &mut String) {
    let (usage, ty) = (&e.usage, &e.ty);
    out.push_str(&format!("\n```text\n{usage}\n  : {}\n```\n", ty.replace('\n', "\n    ")));
    for paragraph in &e.paragraphs {
        out.push('\n');
        super::wrapped(paragraph, 110).iter().for_each(|l| out.push_str(&format!("{l}\n")));
    }
    if !e.examples.is_empty() {
        out.push_str(&format!("\n```remora\n{}```\n", examples(&e.examples)));
    }
}

/// Examples as a program whose values stand behind it, as a table where they fit.
fn examples(all: &[Example]) -> String {
    let width = |s: &str| s.chars().count();
    let widest = all.iter().map(|e| width(&e.source)).filter(|w| *w <= 60).max().unwrap_or(0);
    let mut out = String::new();
    for e in all {
        let (n, value) = (width(&e.source), &e.value);
        if n <= widest && widest + width(value) <= 100 {
            out.push_str(&format!("{}{:pad$}  ; ⇒ {value}\n", e.source, "", pad = widest - n));
        } else {
            out.push_str(&format!("{}\n; ⇒ {value}\n", e.source));
        }
    }
    out
}

/// A name as code, in a table too.
fn code(name: &str) -> String {
    format!("`{}`", name.replace('|', "\\|"))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
