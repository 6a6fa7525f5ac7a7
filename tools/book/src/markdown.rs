//! A page: its blocks of programs, consoles and the prompt as HTML, its links to messages as links within the site.

use crate::colours::{Colours, escaped};

/// The page at `path` of the book.
pub fn page(colours: &Colours, path: &str, text: &str) -> String {
    let up = "../".repeat(path.matches('/').count());
    let mut out = String::with_capacity(text.len() * 2);
    let mut block: Option<(&str, String)> = None;
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("```"), block.take()) {
            (None, None) => out.push_str(&links(line, &up)),
            (Some(info), None) => block = Some((info.trim(), String::new())),
            (None, Some((info, mut content))) => {
                content.push_str(line);
                block = Some((info, content));
            }
            (Some(_), Some((info, content))) => out.push_str(&fenced(colours, info, &content)),
        }
    }
    // What is not closed ends with the page.
    if let Some((info, content)) = block {
        out.push_str(&fenced(colours, info, &content));
    }
    out
}

/// A fenced block. What is no program and no console stays Markdown.
fn fenced(colours: &Colours, info: &str, content: &str) -> String {
    let (language, name) = info.split_once(' ').unwrap_or((info, ""));
    match language {
        "remora" if matches!(name, "" | "more") => program(colours, "", content),
        "remora" => program(colours, name, content),
        // A count and a text, for a program that nobody writes by hand.
        "repeat" => match content.split_once('\n') {
            Some((count, part)) => program(colours, &format!("{} times", count.trim()), part),
            None => String::new(),
        },
        "console" => {
            let mut code = String::new();
            for line in content.split_inclusive('\n') {
                let text = escaped(line.trim_end_matches('\n'));
                code.push_str(&match text.strip_prefix("$ ") {
                    Some(command) => {
                        format!(
                            "<span class=\"r-prompt\">$ </span><span class=\"r-command\">{command}</span>\n"
                        )
                    }
                    None => format!("{text}\n"),
                });
            }
            format!("<pre><code class=\"nohighlight console hljs\">{code}</code></pre>\n")
        }
        "repl" => typed(colours, content),
        // What the site's own colours do not know, and would complain of.
        "elisp" => {
            format!(
                "{}<pre><code class=\"nohighlight hljs\">{}</code></pre>\n",
                caption(name),
                escaped(content)
            )
        }
        _ => format!("{}```{language}\n{content}```\n", caption(name)),
    }
}

/// What is typed at the prompt, lines `> …` and those that such a form goes on in, and what it shows.
fn typed(colours: &Colours, content: &str) -> String {
    let mut code = String::new();
    // The lines of a form, which has colours as a whole.
    let mut form: Vec<&str> = Vec::new();
    let mut open = 0i64;
    let end = |form: &mut Vec<&str>, code: &mut String| {
        let html = colours.html(&form.join("\n"));
        for (k, line) in html.lines().enumerate().take(form.len()) {
            let sign = if k == 0 { "&gt; " } else { "  " };
            code.push_str(&format!("<span class=\"r-prompt\">{sign}</span>{line}\n"));
        }
        form.clear();
    };
    for line in content.lines() {
        let part = match (open > 0, line.strip_prefix("> "), line.strip_prefix("  ")) {
            (false, Some(first), _) => first,
            (true, _, Some(more)) => more,
            _ => {
                end(&mut form, &mut code);
                open = 0;
                code.push_str(&format!("{}\n", escaped(line)));
                continue;
            }
        };
        let depth = |c: char| i64::from("([{".contains(c)) - i64::from(")]}".contains(c));
        open += part.chars().map(depth).sum::<i64>();
        form.push(part);
        if open <= 0 {
            end(&mut form, &mut code);
        }
    }
    end(&mut form, &mut code);
    format!("<pre><code class=\"nohighlight remora hljs\">{code}</code></pre>\n")
}

/// A program below a caption.
fn program(colours: &Colours, above: &str, content: &str) -> String {
    let code = colours.html(content);
    format!("{}<pre><code class=\"nohighlight remora hljs\">{code}</code></pre>\n", caption(above))
}

/// What stands above a block, if it is not empty. It ends with an empty line, as HTML in Markdown does; that of a `<pre>`
/// goes on to its end.
fn caption(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("<div class=\"file-name\">{}</div>\n\n", escaped(text)),
    }
}

/// A line with its links to messages' pages changed into those within the site.
fn links(line: &str, up: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        out.push_str(before);
        out.push_str("](");
        rest = after;
        if let Some((target, _)) = after.split_once(')')
            && let Some((_, file)) = target.split_once("testsuite/diagnostics/")
        {
            out.push_str(&format!("{up}messages/{file}"));
            rest = &after[target.len()..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(text: &str) -> String {
        page(&Colours::new(), "language/types.md", text)
    }

    #[test]
    fn links_to_messages_lead_to_their_pages() {
        assert_eq!(
            page_of("[E0101](../../../testsuite/diagnostics/E0101.md#x), [a](b.md) [c](d\n"),
            "[E0101](../messages/E0101.md#x), [a](b.md) [c](d\n"
        );
        assert_eq!(
            page(&Colours::new(), "a.md", "[E](../../testsuite/diagnostics/E.md)"),
            "[E](messages/E.md)"
        );
    }

    #[test]
    fn programs_are_html_and_other_blocks_are_not() {
        let html = page_of("a\n```remora x.remora\n(f <\n\n\n x)\n```\nb\n```text\n(f x)\n```\n");
        assert!(
            html.starts_with(
                "a\n<div class=\"file-name\">x.remora</div>\n\n<pre><code class=\"nohighlight remora"
            ),
            "{html}"
        );
        assert!(html.contains("<span class=\"r-call\">f</span>"), "{html}");
        assert!(html.contains("&lt;"), "{html}");
        assert!(html.ends_with("</code></pre>\nb\n```text\n(f x)\n```\n"), "{html}");
        let html = page_of("```toml a.toml\nx = 1\n```\n");
        assert_eq!(html, "<div class=\"file-name\">a.toml</div>\n\n```toml\nx = 1\n```\n");
    }

    #[test]
    fn what_is_repeated_says_how_often() {
        let html = page_of("```repeat\n1001\n(\n```\n");
        assert!(html.starts_with("<div class=\"file-name\">1001 times</div>\n\n<pre>"), "{html}");
        assert!(!html.contains("1001\n"), "{html}");
    }

    #[test]
    fn commands_of_a_console_stand_out() {
        let html = page_of("```console\n$ remc run -e '(< 1 2)'\n\n#t\n```\n");
        assert!(html.contains("<span class=\"r-command\">remc run -e '(&lt; 1 2)'</span>\n\n#t\n"), "{html}");
    }
    #[test]
    fn what_is_typed_is_coloured_and_what_is_shown_is_not() {
        let html = page_of("```repl\n> (f\n  2)\n[1 < 2]\n  (f)\n> :type x\n```\n");
        let typed = "<span class=\"r-prompt\">&gt; </span><span class=\"r-bracket\">(</span><span class=\"r-call\">f</span>\n\
                     <span class=\"r-prompt\">  </span>";
        assert!(html.contains(typed), "{html}");
        assert!(html.contains("\n[1 &lt; 2]\n  (f)\n<span class=\"r-prompt\">&gt; </span>"), "{html}");
    }
}
