//! A result written as its items come: in constant memory, however many there are.
//!
//! | format | written piece by piece |
//! | --- | --- |
//! | raw | the bytes |
//! | `.csv`, `.tsv` | a line an item, of numbers or rows of numbers |
//! | `.npy`, to a file | the bytes, behind a header that says at the end how many there are |
//! | Remora text | the elements, in one pair of brackets |
//! | plain text | the characters |
//!
//! Of any other the items are kept, and written when all are there. A file has its name when it is whole
//! ([`crate::files::Growing`]); what goes to a pipe or a terminal goes there as it comes.

use super::{Pushed, Sink, value};
use crate::data::{Format, csv, plain};
use crate::files::Growing;
use crate::npy;
use crate::text::{self, Style};
use remc_base::value::Atom;
use remc_base::{BaseTy, Scalar};
use std::cell::RefCell;
use std::io::{self, Seek, SeekFrom, Write};
use std::rc::Rc;

/// Where bytes go.
pub enum To {
    File(Growing),
    Out(Box<dyn Write>),
}

impl Write for To {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            To::File(f) => f.write(bytes),
            To::Out(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            To::File(f) => f.flush(),
            To::Out(out) => out.flush(),
        }
    }
}

/// A result on its way.
pub struct Written {
    to: To,
    format: Format,
    style: Style,
    /// The type of an element and the dims of an item, from the first piece on.
    begun: Option<(BaseTy, Vec<usize>)>,
    items: usize,
    /// Of plain text: the last character is no line end.
    line_is_open: bool,
    /// Nobody reads on: the rest is not written, and that is no failure.
    closed: bool,
    /// Why nothing more can be written.
    failed: Option<io::Error>,
}

/// Whether a result of these elements, whose items have `rank` axes, can be written so. `seeks` says that the place is a
/// file, of which the beginning may be written last.
pub fn can_write(format: Format, base: BaseTy, rank: usize, seeks: bool) -> bool {
    match format {
        Format::Raw => base != BaseTy::Char,
        Format::Csv | Format::Tsv => rank <= 1 && base != BaseTy::Char,
        Format::Npy => seeks && npy::numpy_name(base).is_some(),
        Format::Remora => base != BaseTy::Char,
        Format::Text => rank == 0 && base == BaseTy::Char,
        _ => false,
    }
}

impl Written {
    pub fn new(to: To, format: Format, style: Style) -> Written {
        Written { to, format, style, begun: None, items: 0, line_is_open: false, closed: false, failed: None }
    }

    /// The items as bytes of the format.
    fn items(&mut self, items: &Pushed<'_>) -> io::Result<()> {
        let count = items.dims.first().copied().unwrap_or(0);
        if self.begun.is_none() {
            let item = items.dims.get(1..).unwrap_or_default().to_vec();
            if self.format == Format::Npy {
                npy::write_header(items.base, &shape(0, &item), true, &mut self.to)?;
            }
            self.begun = Some((items.base, item));
        }
        if count == 0 {
            return Ok(());
        }
        match self.format {
            Format::Raw | Format::Npy => self.to.write_all(items.bytes)?,
            format => {
                let Some(value) = value(items.base, items.dims, items.bytes) else {
                    return Err(io::ErrorKind::InvalidInput.into());
                };
                match format {
                    Format::Csv => csv::write(&value, ',', self.style.precision, &mut self.to)?,
                    Format::Tsv => csv::write(&value, '\t', self.style.precision, &mut self.to)?,
                    Format::Text => {
                        plain::characters(value.atoms(), &mut self.to)?;
                        let end = Some(Atom::Scalar(Scalar::Char('\n')));
                        self.line_is_open = value.atoms().last() != end;
                    }
                    // Items of no elements are told by their number.
                    _ if items.bytes.is_empty() => {}
                    _ => {
                        let mut all = String::new();
                        if text::write_value(&value, self.style, &mut all).is_err() {
                            return Err(io::ErrorKind::InvalidInput.into());
                        }
                        let inside = all.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(&all);
                        let between = if self.items == 0 { "[" } else { " " };
                        self.to.write_all(between.as_bytes())?;
                        self.to.write_all(inside.as_bytes())?;
                    }
                }
            }
        }
        self.items += count;
        // Who waits for a piece gets it.
        match &mut self.to {
            To::Out(out) => out.flush(),
            To::File(_) => Ok(()),
        }
    }

    /// Ends what is written; a file has its name from then on.
    ///
    /// # Errors
    /// Why it could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        if let Some(e) = self.failed {
            return Err(e);
        }
        match (self.format, &self.begun) {
            (Format::Npy, Some((base, item))) => {
                let (base, whole) = (*base, shape(self.items, item));
                if let To::File(file) = &mut self.to {
                    file.flush()?;
                    file.seek(SeekFrom::Start(0))?;
                }
                npy::write_header(base, &whole, true, &mut self.to)?;
            }
            (Format::Remora, Some((_, item))) if self.items > 0 && !item.contains(&0) => {
                self.to.write_all(b"]\n")?;
            }
            (Format::Remora, Some((base, item))) => {
                let dims: String = item.iter().map(|n| format!(" {n}")).collect();
                writeln!(self.to, "(array [{}{dims}] {base})", self.items)?;
            }
            (Format::Text, _) if self.line_is_open => writeln!(self.to)?,
            _ => {}
        }
        self.to.flush()?;
        match self.to {
            To::File(file) => file.finish(),
            To::Out(_) => Ok(()),
        }
    }
}

fn shape(count: usize, item: &[usize]) -> Vec<usize> {
    std::iter::once(count).chain(item.iter().copied()).collect()
}

/// A result that a run writes to, and whoever has started it ends.
#[derive(Clone)]
pub struct Shared(Rc<RefCell<Option<Written>>>);

impl Shared {
    pub fn new(written: Written) -> Shared {
        Shared(Rc::new(RefCell::new(Some(written))))
    }

    /// Whether nothing more is written: nobody reads it, or it has failed, which [`Written::finish`] tells.
    pub fn is_over(&self) -> bool {
        self.0.borrow().as_ref().is_some_and(|w| w.closed || w.failed.is_some())
    }

    /// Takes it back.
    pub fn take(&self) -> Option<Written> {
        self.0.borrow_mut().take()
    }
}

impl Sink for Shared {
    fn write(&mut self, items: &Pushed<'_>) -> Result<(), String> {
        let mut written = self.0.borrow_mut();
        let Some(w) = written.as_mut().filter(|w| !w.closed) else { return Ok(()) };
        match w.items(items) {
            // As with any program in a pipe: who has read enough goes away.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe && matches!(w.to, To::Out(_)) => {
                w.closed = true;
                Err("nobody reads the result any more".to_owned())
            }
            Err(e) => {
                let said = format!("the result cannot be written on, after {} items: {e}", w.items);
                w.failed = Some(e);
                Err(said)
            }
            Ok(()) => Ok(()),
        }
    }
}
