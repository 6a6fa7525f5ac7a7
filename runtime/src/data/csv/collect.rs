//! Fields to values, as they come.
//!
//! Where all columns are wanted as one array, each field goes straight to it. Else the fields of a line are held until
//! it ends, since they may be wanted in another order.

use super::super::{DataError, Help};
use super::At;
use super::field::{self, Around};
use super::options::Options;
use super::wanted::{Kind, Parts, Wanted};
use crate::budget::{Room, TooMuch};
use remc_base::value::{BoxValue, Data};
use remc_base::{Atom, AtomTy, BaseTy, IndexValue, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Why a field is refused.
#[derive(Debug)]
pub enum Refused {
    /// It is no such scalar.
    Scalar(String, BaseTy),
    /// It is no such text.
    Text(String),
    TooMuch(TooMuch),
}

impl Refused {
    /// … where it stands.
    pub fn into_error(self, at: At, field: &[u8], around: Around<'_>) -> DataError {
        match self {
            Refused::Scalar(what, ty) => super::wrong(at, what, field::help(field, ty, around)),
            Refused::Text(what) => super::wrong(at, what, vec![]),
            Refused::TooMuch(e) => DataError::TooMuch(e),
        }
    }
}

/// The atoms of one kind that fields become.
struct Column {
    kind: Kind,
    data: Data,
    /// How long texts are, where all are of one length.
    length: Option<usize>,
}

impl Column {
    fn new(kind: &Kind) -> Column {
        let data = match kind {
            Kind::Scalar(ty) => Data::of_base(*ty, 0),
            Kind::Char | Kind::Text => Data::of_base(BaseTy::Char, 0),
            Kind::Boxed(_) => Data::Box(Vec::new()),
        };
        Column { kind: kind.clone(), data, length: None }
    }

    fn push(&mut self, field: &[u8], options: &Options, room: &mut Room<'_>) -> Result<(), Refused> {
        if let Kind::Scalar(ty) = self.kind {
            let scalar = field::scalar(field, ty, options).map_err(|what| Refused::Scalar(what, ty))?;
            room.grow_data(&mut self.data, 1).map_err(Refused::TooMuch)?;
            return match self.data.push(Atom::Scalar(scalar)) {
                true => Ok(()),
                false => Err(Refused::Scalar(format!("it is not of type {ty}"), ty)),
            };
        }
        let text = std::str::from_utf8(field)
            .map_err(|_| Refused::Text(format!("`{}` is not UTF-8", field::shown(field))))?;
        let count = text.chars().count();
        let shown = || field::shown(field);
        match (&self.kind, &mut self.data) {
            (Kind::Boxed(_), data) => {
                let bytes = 4 * count + size_of::<BoxValue>() + BOX;
                room.take(bytes as u64).and_then(|()| room.grow_data(data, 1)).map_err(Refused::TooMuch)?;
                let value = Value {
                    atom: AtomTy::CHAR,
                    shape: vec![count],
                    data: Data::Char(text.chars().collect()),
                };
                let boxed = BoxValue { indices: vec![IndexValue::Dim(count as i64)], value };
                let _ = data.push(Atom::Box(Arc::new(boxed)));
            }
            (kind, Data::Char(chars)) => {
                if *kind == Kind::Char && count != 1 {
                    return Err(Refused::Text(format!("`{}` is no single character", shown())));
                }
                let length = *self.length.get_or_insert(count);
                if length != count {
                    return Err(Refused::Text(format!(
                        "`{}` has {count} characters, and the text of the first line {length}: texts of their own \
                         lengths are boxes, (Σ (k) [char k])",
                        shown()
                    )));
                }
                room.grow(chars, count).map_err(Refused::TooMuch)?;
                chars.extend(text.chars());
            }
            _ => {}
        }
        Ok(())
    }

    /// The array, in a frame.
    fn value(self, mut frame: Vec<usize>) -> Value {
        let atom = match self.kind {
            Kind::Scalar(ty) => AtomTy::Base(ty),
            Kind::Char => AtomTy::CHAR,
            Kind::Text => {
                frame.push(self.length.unwrap_or(0));
                AtomTy::CHAR
            }
            Kind::Boxed(atom) => atom,
        };
        Value { atom, shape: frame, data: self.data }
    }
}

/// What a box takes beside its characters: its shape, its index, and what counts who has it.
const BOX: usize = 48;

/// Where the fields go.
pub struct Sink<'o, 'b> {
    options: &'o Options,
    room: &'o mut Room<'b>,
    /// One array; one for each part; or of records, whose parts are made anew for each line.
    columns: Vec<Column>,
    records: Option<(Parts, Vec<Arc<[Value]>>)>,
    /// Of each column of the table, where it is wanted; `None` where all are, one after the other.
    targets: Option<HashMap<usize, Vec<usize>>>,
    /// The fields of the line, at their places.
    line: Vec<(usize, Vec<u8>)>,
    /// The number of the highest column that is wanted.
    least: usize,
}

impl<'o, 'b> Sink<'o, 'b> {
    /// `chosen` are the columns that are wanted, or all; `length` is how long the texts of one length were in lines before.
    pub fn new(
        plan: &Wanted,
        chosen: Option<Vec<usize>>,
        options: &'o Options,
        length: Option<usize>,
        room: &'o mut Room<'b>,
    ) -> Self {
        let (columns, parts) = match plan {
            Wanted::Array(kind, _) => (vec![Column { length, ..Column::new(kind) }], None),
            Wanted::Lines(parts, _) => (vec![], Some(parts)),
            Wanted::Columns(parts) => {
                (parts.parts.iter().map(|(_, _, kind)| Column::new(kind)).collect(), None)
            }
        };
        let count = match plan {
            Wanted::Array(..) => None,
            Wanted::Lines(parts, _) | Wanted::Columns(parts) => Some(parts.parts.len()),
        };
        let chosen = chosen.or_else(|| count.map(|n| (0..n).collect()));
        let least = chosen.iter().flatten().map(|k| k + 1).max().unwrap_or(0);
        let mut line = Vec::new();
        let targets = chosen.map(|all| {
            let mut targets: HashMap<usize, Vec<usize>> = HashMap::new();
            for (place, k) in all.iter().enumerate() {
                targets.entry(*k).or_default().push(place);
                line.push((*k, Vec::new()));
            }
            targets
        });
        Sink { options, room, columns, records: parts.map(|p| (p.clone(), Vec::new())), targets, line, least }
    }

    /// How long texts are, where all are of one length.
    pub fn length(&self) -> Option<usize> {
        self.columns.first().and_then(|c| c.length)
    }

    /// How many columns of a table of so many are taken.
    pub fn columns(&self, all: usize) -> usize {
        if self.targets.is_some() { self.line.len() } else { all }
    }

    /// That lines of so many fields hold what is wanted.
    pub fn fits(&self, columns: usize) -> Result<(), DataError> {
        let parts = self
            .records
            .as_ref()
            .map(|(p, _)| p.parts.len())
            .or((self.columns.len() > 1).then_some(self.columns.len()));
        if columns < self.least {
            let s = if columns == 1 { "" } else { "s" };
            return Err(DataError::table(format!(
                "there is no column {}: its lines have {columns} field{s}",
                self.least
            )));
        }
        match parts {
            // Without names, all columns are wanted, or those that were said.
            Some(n) if self.options.columns.is_empty() && n != columns => Err(too_many(columns, n)),
            _ => Ok(()),
        }
    }

    /// Takes a field of column `k`, counted from 0.
    pub fn field(&mut self, k: usize, text: &[u8]) -> Result<(), Refused> {
        let Some(targets) = &self.targets else {
            return match self.columns.first_mut() {
                Some(only) => only.push(text, self.options, self.room),
                None => Ok(()),
            };
        };
        for place in targets.get(&k).into_iter().flatten() {
            let held = &mut self.line[*place].1;
            held.clear();
            self.room.grow(held, text.len()).map_err(Refused::TooMuch)?;
            held.extend_from_slice(text);
        }
        Ok(())
    }

    /// The line ends: its fields become values. What is refused, with its column.
    pub fn line(&mut self) -> Result<(), (usize, Vec<u8>, Refused)> {
        if self.targets.is_none() {
            return Ok(());
        }
        if let Some((parts, records)) = &mut self.records {
            let mut record = Vec::with_capacity(parts.parts.len());
            let bytes = parts.parts.len() * size_of::<Value>() + 16;
            let mut made = self
                .room
                .take(bytes as u64)
                .and_then(|()| self.room.grow(records, 1))
                .map_err(Refused::TooMuch);
            for ((_, ty, kind), (k, text)) in parts.parts.iter().zip(&self.line) {
                let mut column = Column::new(kind);
                made = made.and_then(|()| self.room.take(SMALL).map_err(Refused::TooMuch));
                made = made.and_then(|()| column.push(text, self.options, self.room));
                let value = column.value(vec![]);
                made = made.and_then(|()| {
                    crate::literal::fits(&value.shape, &ty.shape)
                        .map_err(|found| Refused::Text(format!("`{}` is {found}", field::shown(text))))
                });
                // Texts of one length are so in all lines.
                if let (Ok(()), Kind::Text, Some(first)) = (&made, kind, records.first()) {
                    let (first, now) = (&first[record.len()].shape, &value.shape);
                    if first != now {
                        made = Err(Refused::Text(format!(
                            "`{}` has {} characters, and the text of the first line {}: texts of their own lengths are \
                             boxes, (Σ (k) [char k])",
                            field::shown(text),
                            now[0],
                            first[0]
                        )));
                    }
                }
                if let Err(refused) = made {
                    return Err((*k, text.clone(), refused));
                }
                record.push(value);
            }
            records.push(record.into());
            return made.map_err(|refused| (0, Vec::new(), refused));
        }
        let several = self.columns.len() > 1;
        for (place, (k, text)) in self.line.iter().enumerate() {
            let column = &mut self.columns[if several { place } else { 0 }];
            column.push(text, self.options, self.room).map_err(|refused| (*k, text.clone(), refused))?;
        }
        Ok(())
    }

    /// The value, in a frame; `lines` is how long columns are.
    pub fn finish(self, plan: &Wanted, frame: Vec<usize>, lines: usize) -> Value {
        let mut columns = self.columns.into_iter();
        match (plan, self.records) {
            (_, Some((parts, records))) => {
                Value { atom: AtomTy::Tuple(parts.tuple), shape: frame, data: Data::Tuple(records) }
            }
            (Wanted::Columns(parts), None) => {
                let all: Vec<Value> = columns.map(|c| c.value(vec![lines])).collect();
                Value {
                    atom: AtomTy::Tuple(parts.tuple.clone()),
                    shape: frame,
                    data: Data::Tuple(vec![all.into()]),
                }
            }
            (_, None) => columns.next().unwrap_or(Column::new(&Kind::Char)).value(frame),
        }
    }
}

/// Lines of another number of fields than are wanted, where they have no names.
pub fn too_many(columns: usize, wanted: usize) -> DataError {
    let some = (1..=wanted).map(|k| k.to_string()).collect::<Vec<_>>().join(",");
    let help = Help::option(format!("columns={some}"), "to take some of them");
    DataError::Table {
        what: format!(
            "its lines have {columns} field{}, and {wanted} are wanted",
            if columns == 1 { "" } else { "s" }
        ),
        help: if columns > wanted { vec![help] } else { vec![] },
    }
}

/// What a scalar's array takes beside what is counted: its one atom.
const SMALL: u64 = 32;
