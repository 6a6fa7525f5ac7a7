//! The reader: tokens, then a parser by recursive descent.

use crate::syntax::*;

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Name(String),
    Int(i128, Option<String>),
    Float(f64, Option<String>),
    Sign(String),
    End,
}

struct Spelt {
    token: Token,
    line: usize,
    /// Whether it follows the token before it without a space.
    close: bool,
}

const KEYWORDS: [&str; 18] = [
    "case", "def", "do", "else", "entry", "for", "if", "import", "in", "let", "local", "loop", "match",
    "module", "then", "type", "while", "with",
];

const SIGNS: [&str; 33] = [
    "#[", "->", ":>", "**", "++", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "(", ")", "[", "]", ",",
    ":", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "!", "\\", "'",
];

fn tokens(text: &str) -> S<Vec<Spelt>> {
    let bytes: Vec<char> = text.chars().collect();
    let (mut k, mut line, mut all, mut end) = (0, 1, Vec::new(), usize::MAX);
    while k < bytes.len() {
        let c = bytes[k];
        if c == '\n' {
            line += 1;
        }
        if c.is_whitespace() {
            k += 1;
            continue;
        }
        if c == '-' && bytes.get(k + 1) == Some(&'-') {
            while k < bytes.len() && bytes[k] != '\n' {
                k += 1;
            }
            continue;
        }
        let (from, close) = (k, end == k);
        let token = if c.is_ascii_alphabetic() || c == '_' {
            let word = |k: &mut usize| {
                while *k < bytes.len() && (bytes[*k].is_ascii_alphanumeric() || "_'".contains(bytes[*k])) {
                    *k += 1;
                }
            };
            word(&mut k);
            let qualified =
                bytes.get(k) == Some(&'.') && bytes.get(k + 1).is_some_and(char::is_ascii_alphabetic);
            if qualified {
                k += 1;
                word(&mut k);
            }
            Token::Name(bytes[from..k].iter().collect())
        } else if c.is_ascii_digit() {
            number(&bytes, &mut k, line)?
        } else {
            let rest: String = bytes[k..bytes.len().min(k + 2)].iter().collect();
            let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) else {
                return wrong(line, format!("the character {c:?}"));
            };
            k += sign.len();
            Token::Sign((*sign).to_owned())
        };
        end = k;
        all.push(Spelt { token, line, close });
    }
    all.push(Spelt { token: Token::End, line, close: false });
    Ok(all)
}

fn number(bytes: &[char], k: &mut usize, line: usize) -> S<Token> {
    let from = *k;
    let digits = |k: &mut usize| {
        while bytes.get(*k).is_some_and(|c| c.is_ascii_digit()) {
            *k += 1;
        }
    };
    digits(k);
    let mut float = false;
    if bytes.get(*k) == Some(&'.') && bytes.get(*k + 1).is_some_and(char::is_ascii_digit) {
        float = true;
        *k += 1;
        digits(k);
    }
    let sign = usize::from(bytes.get(*k + 1).is_some_and(|c| *c == '-' || *c == '+'));
    if bytes.get(*k) == Some(&'e') && bytes.get(*k + 1 + sign).is_some_and(char::is_ascii_digit) {
        float = true;
        *k += 1 + sign;
        digits(k);
    }
    let text: String = bytes[from..*k].iter().collect();
    let at = *k;
    while bytes.get(*k).is_some_and(char::is_ascii_alphanumeric) {
        *k += 1;
    }
    let suffix: String = bytes[at..*k].iter().collect();
    let known = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"];
    if !suffix.is_empty() && !known.contains(&suffix.as_str()) {
        return wrong(line, format!("the number {text}{suffix}"));
    }
    let suffix = Some(suffix).filter(|s| !s.is_empty());
    if float && suffix.as_ref().is_some_and(|s| !s.starts_with('f')) {
        return wrong(line, format!("{text} is no integer"));
    }
    if float || suffix.as_ref().is_some_and(|s| s.starts_with('f')) {
        return text.parse().map(|x| Token::Float(x, suffix)).or_else(|_| wrong(line, "a number"));
    }
    text.parse().map(|n| Token::Int(n, suffix)).or_else(|_| wrong(line, "a number"))
}

struct Parser {
    tokens: Vec<Spelt>,
    at: usize,
    next: usize,
}

/// Reads a program.
///
/// # Errors
/// The first place that is not in the grammar.
pub fn parse(text: &str) -> S<Vec<Def>> {
    let mut p = Parser { tokens: tokens(text)?, at: 0, next: 0 };
    let mut defs = Vec::new();
    while *p.peek() != Token::End {
        defs.push(p.def()?);
    }
    Ok(defs)
}

/// A signature of the prelude: sizes and types, then the type itself.
pub fn signature(text: &str) -> S<(Vec<String>, Vec<String>, Type)> {
    let mut p = Parser { tokens: tokens(text)?, at: 0, next: 1 << 40 };
    let (sizes, types) = p.binders()?;
    p.sign(":")?;
    Ok((sizes, types, p.ty()?))
}

fn level(op: &str) -> Option<u8> {
    Some(match op {
        "||" => 1,
        "&&" => 2,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => 3,
        "&" | "|" | "^" => 4,
        "<<" | ">>" => 5,
        "+" | "-" | "++" => 6,
        "*" | "/" | "%" => 7,
        "**" => 8,
        _ => return None,
    })
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    fn line(&self) -> usize {
        self.tokens[self.at].line
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if s == sign)
    }

    fn word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(s) if s == word)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn sign(&mut self, sign: &str) -> S<()> {
        if self.is(sign) {
            self.take();
            return Ok(());
        }
        wrong(self.line(), format!("`{sign}` was expected, not {:?}", self.peek()))
    }

    fn keyword(&mut self, word: &str) -> S<()> {
        if self.word(word) {
            self.take();
            return Ok(());
        }
        wrong(self.line(), format!("`{word}` was expected, not {:?}", self.peek()))
    }

    fn name(&mut self) -> S<String> {
        match self.take() {
            Token::Name(n) if !KEYWORDS.contains(&n.as_str()) && !n.contains('.') => Ok(n),
            other => wrong(self.line(), format!("a name was expected, not {other:?}")),
        }
    }

    fn exp(&mut self, line: usize, kind: Kind) -> Exp {
        self.next += 1;
        Exp { id: self.next, line, kind }
    }

    fn binders(&mut self) -> S<(Vec<String>, Vec<String>)> {
        let (mut sizes, mut types) = (Vec::new(), Vec::new());
        loop {
            if self.is("[") {
                self.take();
                sizes.push(self.name()?);
                self.sign("]")?;
            } else if self.is("'") {
                self.take();
                types.push(self.name()?);
            } else {
                return Ok((sizes, types));
            }
        }
    }

    fn def(&mut self) -> S<Def> {
        let line = self.line();
        let entry = self.word("entry");
        self.keyword(if entry { "entry" } else { "def" })?;
        let name = self.name()?;
        let (sizes, types) = self.binders()?;
        let (params, result) = self.params("=")?;
        let body = self.expression()?;
        Ok(Def { entry, name, sizes, types, params, result, body, line })
    }

    /// Parameters, perhaps the type of the result, and a sign behind.
    fn params(&mut self, behind: &str) -> S<(Vec<Pat>, Option<Type>)> {
        let mut params = Vec::new();
        while !self.is(":") && !self.is(behind) {
            params.push(self.pattern()?);
        }
        let result = if self.is(":") {
            self.take();
            Some(self.ty()?)
        } else {
            None
        };
        self.sign(behind)?;
        Ok((params, result))
    }

    fn pattern(&mut self) -> S<Pat> {
        if self.word("_") {
            self.take();
            return Ok(Pat::Wild);
        }
        if !self.is("(") {
            return Ok(Pat::Name(self.name()?));
        }
        self.take();
        let mut parts = vec![self.part_of_pattern()?];
        let mut tuple = false;
        while self.is(",") {
            self.take();
            tuple = true;
            parts.push(self.part_of_pattern()?);
        }
        self.sign(")")?;
        Ok(if tuple { Pat::Tuple(parts) } else { parts.remove(0) })
    }

    fn part_of_pattern(&mut self) -> S<Pat> {
        let p = self.pattern()?;
        if !self.is(":") {
            return Ok(p);
        }
        self.take();
        Ok(Pat::Typed(Box::new(p), self.ty()?))
    }

    fn ty(&mut self) -> S<Type> {
        let (name, t) = self.argument_type()?;
        if self.is("->") {
            self.take();
            return Ok(Type::Fun(name, Box::new(t), Box::new(self.ty()?)));
        }
        Ok(t)
    }

    /// A type, which in front of an arrow may have a name: `(n: i64)`.
    fn argument_type(&mut self) -> S<(Option<String>, Type)> {
        if self.is("*") {
            self.take();
            return Ok((None, Type::Unique(Box::new(self.argument_type()?.1))));
        }
        if self.is("[") {
            self.take();
            let size = if self.is("]") { None } else { Some(Box::new(self.infix(1)?)) };
            self.sign("]")?;
            return Ok((None, Type::Array(size, Box::new(self.argument_type()?.1))));
        }
        if !self.is("(") {
            return Ok((None, Type::Name(self.name()?)));
        }
        self.take();
        if let (Token::Name(n), Some(Token::Sign(s))) =
            (self.peek().clone(), self.tokens.get(self.at + 1).map(|t| t.token.clone()))
            && s == ":"
        {
            self.at += 2;
            let t = self.ty()?;
            self.sign(")")?;
            return Ok((Some(n), t));
        }
        let mut parts = vec![self.ty()?];
        while self.is(",") {
            self.take();
            parts.push(self.ty()?);
        }
        self.sign(")")?;
        Ok((None, if parts.len() == 1 { parts.remove(0) } else { Type::Tuple(parts) }))
    }

    fn sizes(&mut self) -> S<Vec<String>> {
        let mut sizes = Vec::new();
        while self.is("[") {
            self.take();
            sizes.push(self.name()?);
            self.sign("]")?;
        }
        Ok(sizes)
    }

    fn expression(&mut self) -> S<Exp> {
        let line = self.line();
        if self.is("#[") {
            // What an attribute says is for the optimiser alone.
            self.take();
            self.keyword("opaque")?;
            self.sign("]")?;
            return self.expression();
        }
        if self.word("let") {
            return self.binding();
        }
        if self.word("if") {
            self.take();
            let c = Box::new(self.expression()?);
            self.keyword("then")?;
            let a = Box::new(self.expression()?);
            self.keyword("else")?;
            let b = Box::new(self.expression()?);
            return Ok(self.exp(line, Kind::If(c, a, b)));
        }
        if self.word("loop") {
            self.take();
            let pat = self.pattern()?;
            self.sign("=")?;
            let start = Box::new(self.expression()?);
            let form = if self.word("for") {
                self.take();
                let i = self.name()?;
                self.sign("<")?;
                Form::For(i, Box::new(self.expression()?))
            } else {
                self.keyword("while")?;
                Form::While(Box::new(self.expression()?))
            };
            self.keyword("do")?;
            let body = Box::new(self.expression()?);
            return Ok(self.exp(line, Kind::Loop { pat, start, form, body }));
        }
        if self.is("\\") {
            self.take();
            let mut params = Vec::new();
            while !self.is("->") {
                params.push(self.pattern()?);
            }
            self.take();
            let body = Box::new(self.expression()?);
            return Ok(self.exp(line, Kind::Lambda(params, body)));
        }
        let mut e = self.infix(1)?;
        loop {
            if self.is(":>") || self.is(":") {
                let coerce = self.is(":>");
                self.take();
                let t = self.ty()?;
                let kind = match coerce {
                    true => Kind::Coerce(Box::new(e), t),
                    false => Kind::Ascribe(Box::new(e), t),
                };
                e = self.exp(line, kind);
            } else if self.word("with") {
                self.take();
                self.sign("[")?;
                let places = self.places()?;
                self.sign("=")?;
                let value = Box::new(self.infix(1)?);
                e = self.exp(line, Kind::With(Box::new(e), places, value));
            } else {
                return Ok(e);
            }
        }
    }

    fn binding(&mut self) -> S<Exp> {
        let line = self.line();
        self.take();
        let sizes = self.sizes()?;
        let pat = self.pattern()?;
        let function = !self.is("=");
        let kind = if let (true, Pat::Name(name)) = (function, &pat) {
            let (params, result) = self.params("=")?;
            let value = Box::new(self.expression()?);
            Kind::LetFun { name: name.clone(), params, result, value, body: Box::new(self.behind_let()?) }
        } else {
            self.sign("=")?;
            let value = Box::new(self.expression()?);
            Kind::Let { sizes, pat, value, body: Box::new(self.behind_let()?) }
        };
        Ok(self.exp(line, kind))
    }

    /// Before another `let` the word `in` may be left out.
    fn behind_let(&mut self) -> S<Exp> {
        if !self.word("let") {
            self.keyword("in")?;
        }
        self.expression()
    }

    fn infix(&mut self, least: u8) -> S<Exp> {
        let line = self.line();
        let mut a = if self.is("-") || self.is("!") {
            let op = if self.is("-") { '-' } else { '!' };
            self.take();
            let x = Box::new(self.infix(9)?);
            self.exp(line, Kind::Unary(op, x))
        } else {
            self.application()?
        };
        loop {
            let Token::Sign(op) = self.peek().clone() else { return Ok(a) };
            let Some(own) = level(&op).filter(|l| *l >= least) else { return Ok(a) };
            self.take();
            let b = self.infix(own + 1)?;
            a = self.exp(line, Kind::Binary(op, Box::new(a), Box::new(b)));
        }
    }

    fn starts_atom(&self) -> bool {
        match self.peek() {
            Token::Name(n) => !KEYWORDS.contains(&n.as_str()),
            Token::Int(..) | Token::Float(..) => true,
            Token::Sign(s) => s == "(" || s == "[",
            Token::End => false,
        }
    }

    fn application(&mut self) -> S<Exp> {
        let line = self.line();
        let f = self.atom()?;
        let mut args = Vec::new();
        while self.starts_atom() {
            args.push(self.atom()?);
        }
        Ok(if args.is_empty() { f } else { self.exp(line, Kind::Apply(Box::new(f), args)) })
    }

    fn places(&mut self) -> S<Vec<Place>> {
        let mut places = Vec::new();
        loop {
            let from = self.infix(1)?;
            places.push(if self.is(":") {
                self.take();
                Place::Slice(from, self.infix(1)?)
            } else {
                Place::At(from)
            });
            if !self.is(",") {
                self.sign("]")?;
                return Ok(places);
            }
            self.take();
        }
    }

    fn atom(&mut self) -> S<Exp> {
        let line = self.line();
        let kind = match self.take() {
            Token::Name(n) if KEYWORDS.contains(&n.as_str()) => {
                return wrong(line, format!("`{n}` where a value was expected"));
            }
            Token::Name(n) => Kind::Name(n),
            Token::Int(n, t) => Kind::Int(n, t),
            Token::Float(x, t) => Kind::Float(x, t),
            Token::Sign(s) if s == "[" => {
                let mut parts = Vec::new();
                while !self.is("]") {
                    parts.push(self.expression()?);
                    if !self.is("]") {
                        self.sign(",")?;
                    }
                }
                self.take();
                Kind::Array(parts)
            }
            Token::Sign(s) if s == "(" => {
                if let Token::Sign(op) = self.peek().clone()
                    && level(&op).is_some()
                    && matches!(&self.tokens[self.at + 1].token, Token::Sign(s) if s == ")")
                {
                    self.at += 2;
                    return Ok(self.exp(line, Kind::Section(op)));
                }
                let mut parts = Vec::new();
                while !self.is(")") {
                    parts.push(self.expression()?);
                    if !self.is(")") {
                        self.sign(",")?;
                    }
                }
                self.take();
                match parts.len() {
                    1 => return self.indexed(parts.remove(0)),
                    _ => Kind::Tuple(parts),
                }
            }
            other => return wrong(line, format!("{other:?} where a value was expected")),
        };
        let e = self.exp(line, kind);
        self.indexed(e)
    }

    fn indexed(&mut self, mut e: Exp) -> S<Exp> {
        while self.is("[") && self.tokens[self.at].close {
            let line = self.line();
            self.take();
            let places = self.places()?;
            e = self.exp(line, Kind::Index(Box::new(e), places));
        }
        Ok(e)
    }
}
