//! What the prompt asks of its worker: a line of JSON, answered by one byte, the exit code that a command would have.

use crate::report::Places;
use remc_base::ModuleId;
use serde_json::{Value as Json, json};

/// What is computed, of the program that the prompt has.
pub struct Request {
    pub text: String,
    /// Where it was written; `None` if it cannot be told.
    pub places: Json,
    pub what: What,
    /// The options of `remc run`, `remc compile` or `remc explain-perf`.
    pub options: Vec<String>,
    pub screen: Screen,
}

/// The part of a terminal that values and pictures may fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Screen {
    pub width: usize,
    pub height: usize,
    /// How many bits a colour has; none without colours.
    pub colours: u8,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// The value of an expression, by its place among those of the program.
    Value { nth: usize },
    /// What an entry gives for inputs, which are among the options.
    Run,
    /// The shape that it has when it runs.
    Shape { nth: usize },
    /// How long it takes.
    Time { nth: usize },
    /// Its picture, in a file or on the terminal.
    Plot { nth: usize, kind: Option<String>, to: Option<String>, title: String },
    /// The values of definitions, by their names, which are kept.
    Define { names: Vec<String> },
    /// What one stage makes of the last expression, or of an entry.
    Ir,
    /// What that costs.
    Perf,
}

impl Request {
    pub fn to_line(&self) -> String {
        let (what, nth, more) = match &self.what {
            What::Value { nth } => ("value", *nth, json!(null)),
            What::Shape { nth } => ("shape", *nth, json!(null)),
            What::Time { nth } => ("time", *nth, json!(null)),
            What::Plot { nth, kind, to, title } => ("plot", *nth, json!([kind, to, title])),
            What::Define { names } => ("define", 0, json!(names)),
            What::Run => ("run", 0, json!(null)),
            What::Ir => ("ir", 0, json!(null)),
            What::Perf => ("perf", 0, json!(null)),
        };
        let screen = json!([self.screen.width, self.screen.height, self.screen.colours]);
        let (text, places, options) = (&self.text, &self.places, &self.options);
        json!({"what": what, "nth": nth, "more": more, "text": text, "places": places, "options": options, "screen": screen})
            .to_string()
    }

    pub fn of_line(line: &str) -> Option<Request> {
        let json: Json = serde_json::from_str(line).ok()?;
        let number = |j: &Json| usize::try_from(j.as_u64()?).ok();
        let text = |j: &Json| j.as_str().map(str::to_owned);
        let nth = number(&json["nth"])?;
        let what = match json["what"].as_str()? {
            "value" => What::Value { nth },
            "shape" => What::Shape { nth },
            "time" => What::Time { nth },
            "plot" => {
                let more = &json["more"];
                What::Plot { nth, kind: text(&more[0]), to: text(&more[1]), title: text(&more[2])? }
            }
            "define" => {
                let names = json["more"].as_array()?.iter().map(text).collect::<Option<_>>()?;
                What::Define { names }
            }
            "run" => What::Run,
            "ir" => What::Ir,
            "perf" => What::Perf,
            _ => return None,
        };
        let screen = &json["screen"];
        let colours = u8::try_from(number(&screen[2])?).ok()?;
        Some(Request {
            text: text(&json["text"])?,
            places: json["places"].clone(),
            what,
            options: json["options"].as_array()?.iter().map(text).collect::<Option<_>>()?,
            screen: Screen { width: number(&screen[0])?, height: number(&screen[1])?, colours },
        })
    }

    /// Where the text was written, as a module of another session.
    pub fn places(&self, module: ModuleId) -> Places {
        Places::from_json(module, &self.places).unwrap_or_else(|| Places::new(module))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back() {
        let plot = What::Plot { nth: 2, kind: Some("line".into()), to: None, title: "(f \"x\")\n".into() };
        let define = What::Define { names: vec!["x".into(), "y".into()] };
        for what in [What::Value { nth: 0 }, What::Run, What::Ir, define, plot] {
            let screen = Screen { width: 80, height: 24, colours: 8 };
            let options = vec!["--threads=2".to_owned()];
            let places = json!({"parts": [], "origins": []});
            let request = Request { text: "(+ 1\n2)".into(), places, what: what.clone(), options, screen };
            let line = request.to_line();
            assert!(!line.contains('\n'));
            let read = Request::of_line(&line).unwrap();
            assert_eq!((read.text, read.what, read.screen), (request.text, what, screen));
            assert_eq!(read.options, request.options);
        }
        assert!(Request::of_line("{}").is_none() && Request::of_line("(").is_none());
    }
}
