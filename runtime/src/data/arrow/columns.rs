//! Which columns of a table make which part of what is wanted.
//!
//! | wanted | is |
//! | --- | --- |
//! | an array of records, or of tuples | the rows, each field from the column of its name |
//! | a record of arrays | the columns |
//! | a record of scalars and texts | the only row |
//! | any other array | one column, along its first axis; of numbers also all of them, as the second axis |
//! | a scalar, a text `[char n]` | the only row of one column |
//! | a box | what is in it |
//!
//! Names are matched as those of any other table are ([`find`]).

use super::super::DataError;
use super::super::csv::{find, listed};
use super::cells::{Cells, Stop, What, base, cells, is_text, known, unreadable};
use crate::budget::Room;
use crate::literal::{boxed_value, fits};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, Fields, Schema};
use remc_base::value::Data;
use remc_base::{ArrTy, AtomTy, BaseTy, Shape, ShapeItem, TupleTy, Value};
use std::sync::Arc;

/// What is read of a table, batch by batch.
pub struct Table {
    form: Form,
    /// What the form is of; of a box, what is in it.
    wanted: ArrTy,
    /// The types of the boxes around it, the outermost first.
    boxes: Vec<AtomTy>,
    /// The columns that are read, by their numbers, and their names.
    columns: Vec<usize>,
    names: Vec<String>,
    parts: Vec<Part>,
    /// How many rows have been taken since the last value, and before that.
    rows: usize,
    before: usize,
}

/// What columns become.
enum Form {
    /// One part along the first axis.
    Rows,
    /// Its only row.
    Row,
    /// The rows of all columns, which have one type.
    Matrix,
    /// A record of whole columns.
    Columns(Arc<TupleTy>),
}

/// What is read of a column, or of all of them as structs.
struct Part {
    whole: bool,
    ty: ArrTy,
    /// The axes of an item.
    dims: Option<Vec<usize>>,
    /// Whether only one row is wanted, of the columns of a record.
    single: bool,
    read: Option<Cells>,
}

impl Part {
    fn new(whole: bool, ty: &ArrTy, items: &[ShapeItem]) -> Part {
        let open = ty.shape.items().iter().any(|i| !matches!(i, ShapeItem::Dim(_)));
        let dims = if open { None } else { known(&Shape(items.to_vec())) };
        Part { whole, ty: ty.clone(), dims, single: false, read: None }
    }

    /// … along the first axis of its type, if it has one.
    fn along(whole: bool, ty: &ArrTy) -> Part {
        Part::new(whole, ty, ty.shape.items().get(1..).unwrap_or_default())
    }

    /// No rows, or those that were read.
    fn taken(&mut self) -> Cells {
        let none = || Cells {
            count: 0,
            shape: self.dims.clone().unwrap_or_default(),
            data: Data::of_atom(&self.ty.atom),
        };
        self.read.take().unwrap_or_else(none)
    }
}

fn mismatch<T>(found: String, help: Option<String>) -> Result<T, DataError> {
    Err(DataError::Mismatch { found, help })
}

fn names(fields: &Fields) -> Vec<String> {
    fields.iter().map(|f| f.name().clone()).collect()
}

/// Whether the fields of a record are all to be had from one row: scalars, and texts.
fn of_one_row(tuple: &TupleTy) -> bool {
    tuple.fields.iter().all(|(_, ty)| match ty.shape.items() {
        [] => true,
        [ShapeItem::Dim(_)] => ty.atom == AtomTy::CHAR,
        _ => false,
    })
}

impl Table {
    /// What a table of such columns gives: the column `asked`, or what can only be meant for the parameter `name`.
    ///
    /// # Errors
    /// That it does not say which column, or has not the columns that are wanted.
    pub fn new(schema: &Schema, asked: Option<&str>, name: &str, wanted: &ArrTy) -> Result<Table, DataError> {
        let (mut wanted, mut boxes) = (wanted.clone(), Vec::new());
        while let (AtomTy::Sigma(sigma), []) = (&wanted.atom, wanted.shape.items()) {
            boxes.push(wanted.atom.clone());
            wanted = sigma.body.clone();
        }
        let (fields, axes) = (schema.fields(), wanted.shape.items());
        let all = names(fields);
        let open = axes.iter().any(|i| !matches!(i, ShapeItem::Dim(_)));
        let table = |form, columns: Vec<usize>, parts| {
            for k in &columns {
                if let Some(ty) = unreadable(fields[*k].data_type()) {
                    let stop = Stop::all(What::Type(ty.clone(), wanted.atom.clone()));
                    return Err(told(stop, Some(&all[*k]), 0, ty));
                }
            }
            let names = columns.iter().map(|k| all[*k].clone()).collect();
            Ok(Table {
                form,
                wanted: wanted.clone(),
                boxes: boxes.clone(),
                columns,
                names,
                parts,
                rows: 0,
                before: 0,
            })
        };
        if let (AtomTy::Tuple(tuple), None, true) = (&wanted.atom, asked, open || axes.len() <= 1) {
            match of_record(tuple, &all) {
                Ok(columns) if open || axes.len() == 1 => {
                    return table(Form::Rows, columns, vec![Part::along(true, &wanted)]);
                }
                Ok(columns) if of_one_row(tuple) => {
                    return table(Form::Row, columns, vec![Part::new(true, &wanted, &[])]);
                }
                Ok(columns) => {
                    let part = |(_, ty): &(_, ArrTy)| Part {
                        single: ty.shape.items().is_empty(),
                        ..Part::along(false, ty)
                    };
                    let parts = tuple.fields.iter().map(part).collect();
                    return table(Form::Columns(tuple.clone()), columns, parts);
                }
                // The fields may be those of the structs in a column.
                Err(_) if fields.iter().any(|f| matches!(f.data_type(), DataType::Struct(_))) => {}
                Err(found) => return mismatch(found, None),
            }
        }
        let chosen = match asked {
            None if all.len() == 1 => Some(0),
            asked => find(asked.unwrap_or(name), &all),
        };
        let Some(column) = chosen else {
            if let (AtomTy::Base(ty), None, 2, false) = (&wanted.atom, asked, axes.len(), open)
                && all.len() > 1
                && fields.iter().all(|f| base(f.data_type()) == Some(*ty))
            {
                let part = || Part::new(false, &ArrTy::scalar(wanted.atom.clone()), &[]);
                let parts = fields.iter().map(|_| part()).collect();
                return table(Form::Matrix, (0..all.len()).collect(), parts);
            }
            return Err(DataError::Choose { kind: "column", there: all, asked: asked.map(str::to_owned) });
        };
        let text = wanted.atom == AtomTy::CHAR && axes.len() == 1 && !open;
        let single = axes.is_empty() || text && is_text(fields[column].data_type());
        let (form, part) = match single {
            true => (Form::Row, Part::new(false, &wanted, axes)),
            false => (Form::Rows, Part::along(false, &wanted)),
        };
        table(form, vec![column], vec![part])
    }

    /// The columns that are read, in the order in which [`Table::take`] wants them.
    pub fn columns(&self) -> Vec<usize> {
        self.columns.clone()
    }

    /// Whether the first axis is that of the rows, so that some of them are a value, too.
    pub fn is_of_rows(&self) -> bool {
        matches!(self.form, Form::Rows | Form::Matrix) && self.boxes.is_empty()
    }

    /// Takes more rows.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn take(&mut self, batch: &RecordBatch, room: &mut Room<'_>) -> Result<(), DataError> {
        let rows = self.rows + batch.num_rows();
        if matches!(self.form, Form::Row) && rows > 1 {
            return not_one(&self.wanted, &listed(&self.names), rows);
        }
        for (k, part) in self.parts.iter_mut().enumerate() {
            let column: ArrayRef = match part.whole {
                true => Arc::new(StructArray::from(batch.clone())),
                false => batch.column(k).clone(),
            };
            let name = if part.whole { None } else { Some(self.names[k].as_str()) };
            let read = cells(&column, part.dims.as_deref(), &part.ty.atom, room);
            let read = read.map_err(|e| told(e, name, self.before + self.rows, column.data_type()))?;
            match &mut part.read {
                Some(all) if all.count > 0 && read.count > 0 => {
                    if all.shape != read.shape {
                        let (first, here) = (all.shape.first().copied(), read.shape.first().copied());
                        let what = What::Ragged(here.unwrap_or(0), first.unwrap_or(0));
                        return Err(told(
                            Stop::at(0, what),
                            name,
                            self.before + self.rows,
                            column.data_type(),
                        ));
                    }
                    let (count, bytes) = (read.data.len(), read.data.len() * read.data.atom_size());
                    room.grow_data(&mut all.data, count).map_err(DataError::TooMuch)?;
                    all.count += read.count;
                    if !all.data.append(read.data) {
                        return Err(DataError::Unreadable("its record batches have several types".into()));
                    }
                    room.give_back(bytes as u64);
                }
                Some(_) if read.count == 0 => {}
                place => *place = Some(read),
            }
        }
        self.rows = rows;
        Ok(())
    }

    /// The value of all rows that were taken.
    ///
    /// # Errors
    /// That its shape is not the wanted one.
    pub fn finish(&mut self) -> Result<Value, DataError> {
        let value = self.value()?;
        let value = fits(&value.shape, &self.wanted.shape).map(|()| value);
        let mut value = value.map_err(|found| DataError::Mismatch { found, help: None })?;
        for atom in self.boxes.iter().rev().cloned() {
            let AtomTy::Sigma(sigma) = &atom else { continue };
            let made = boxed_value(value, sigma);
            let made = made.map_err(|found| DataError::Mismatch { found, help: None })?;
            value = Value { atom, shape: Vec::new(), data: Data::Box(vec![Arc::new(made)]) };
        }
        Ok(value)
    }

    /// The value of the rows since the last; of none, a value without items.
    ///
    /// # Errors
    /// That there are several rows where one is wanted.
    pub fn value(&mut self) -> Result<Value, DataError> {
        let rows = std::mem::take(&mut self.rows);
        self.before += rows;
        let array = |part: &mut Part, single: bool| {
            let (read, atom) = (part.taken(), part.ty.atom.clone());
            let frame = if single { None } else { Some(rows) };
            Value { atom, shape: frame.into_iter().chain(read.shape).collect(), data: read.data }
        };
        let one = |name: &str| match rows {
            1 => Ok(()),
            _ => not_one(&self.wanted, name, rows),
        };
        match &self.form {
            Form::Row => {
                one(&listed(&self.names))?;
                Ok(array(&mut self.parts[0], true))
            }
            Form::Rows => Ok(array(&mut self.parts[0], false)),
            Form::Columns(tuple) => {
                let mut all = Vec::with_capacity(self.parts.len());
                for (part, name) in self.parts.iter_mut().zip(&self.names) {
                    if part.single {
                        one(&format!("`{name}`"))?;
                    }
                    let value = array(part, part.single);
                    fits(&value.shape, &part.ty.shape)
                        .or_else(|found| mismatch(format!("{found} in its column `{name}`"), None))?;
                    all.push(value);
                }
                let data = Data::Tuple(vec![all.into()]);
                Ok(Value { atom: AtomTy::Tuple(tuple.clone()), shape: Vec::new(), data })
            }
            Form::Matrix => {
                let columns: Vec<Value> = self.parts.iter_mut().map(|p| array(p, false)).collect();
                let mut all = Data::of_atom(&self.wanted.atom);
                let there = columns.iter().all(|c| all.append(c.data.clone()));
                debug_assert!(there, "all columns have the type that is wanted");
                let places = (0..rows).flat_map(|row| (0..columns.len()).map(move |k| k * rows + row));
                let shape = vec![rows, columns.len()];
                Ok(Value { atom: self.wanted.atom.clone(), shape, data: all.gather(places) })
            }
        }
    }
}

/// That there are other rows than the one that is wanted.
fn not_one<T>(wanted: &ArrTy, columns: &str, rows: usize) -> Result<T, DataError> {
    let many = if rows == 0 { "no row" } else { "more than one row" };
    let help = "texts of several rows are boxes of characters: (Σ (k) [char k])".to_owned();
    let help = Some(help).filter(|_| rows > 0 && wanted.atom == AtomTy::CHAR);
    mismatch(format!("{many} of {columns}, where one is wanted"), help)
}

/// The columns of a record's fields, or a tuple's; what was found where they are not there.
fn of_record(tuple: &TupleTy, all: &[String]) -> Result<Vec<usize>, String> {
    let labels: Option<Vec<&str>> =
        tuple.fields.iter().map(|(l, _)| l.as_ref().map(|l| l.as_str())).collect();
    match labels {
        Some(labels) => labels
            .into_iter()
            .map(|l| {
                find(l, all)
                    .ok_or_else(|| format!("a table without a column `{l}`; its columns are {}", listed(all)))
            })
            .collect(),
        None if all.len() == tuple.fields.len() => Ok((0..all.len()).collect()),
        None => Err(format!("a table of {} columns, where {} are wanted", all.len(), tuple.fields.len())),
    }
}

/// What is wrong with a column; of structs, with one of their fields.
fn told(e: Stop, name: Option<&str>, before: usize, ty: &DataType) -> DataError {
    let path = match name {
        Some(name) => format!("{name}{}", e.within),
        None => e.within.trim_start_matches('.').to_owned(),
    };
    let row = e.row.map(|row| format!("row {} of ", before + row)).unwrap_or_default();
    // Of rows as records nobody says a name where the type of the whole is wrong.
    let (of, its) = match path.as_str() {
        "" => (String::new(), String::new()),
        path => (format!("{row}its column `{path}`"), format!(" in {row}its column `{path}`")),
    };
    let (found, help) = match e.what {
        What::TooMuch(e) => return DataError::TooMuch(e),
        What::Null => {
            let float = matches!(innermost(ty), DataType::Float16 | DataType::Float32 | DataType::Float64);
            let fill = if float { "float(\"nan\")" } else { "0" };
            let help = format!(
                "no value is none: leave such rows out, or fill them before, with `fill_null({fill})` in pyarrow or Polars"
            );
            let first = if e.row.is_some() { " (the first is row 0)" } else { "" };
            (format!("null{its}{first}"), help)
        }
        What::Ragged(here, first) if of.is_empty() => {
            (format!("lists of the lengths {first} and {here}"), RAGGED.to_owned())
        }
        What::Ragged(here, first) => {
            (format!("{here} elements in {of}, and {first} before it"), RAGGED.to_owned())
        }
        What::Type(found, wanted) => {
            let help = match (&wanted, base(&found)) {
                (AtomTy::Base(BaseTy::Char), _) => "it holds texts where its type is string".to_owned(),
                (AtomTy::Base(ty), Some(_)) if crate::npy::numpy_name(*ty).is_some() => {
                    let to = crate::npy::numpy_name(*ty).unwrap_or_default();
                    format!("convert it before: `.astype(\"{to}\")` in pandas, `.cast(\"{to}\")` in pyarrow")
                }
                _ if unreadable(&found).is_some() => {
                    "numbers, booleans, dates, times, strings, lists, structs and dictionaries have types here".into()
                }
                (AtomTy::Sigma(_), _) => "boxes are lists and strings in Arrow's tables".to_owned(),
                (AtomTy::Tuple(_), _) => "records are structs in Arrow's tables, or their rows".to_owned(),
                _ => "a list is a further axis, [float n k], or a box, [(Σ (k) [float k]) n]; a string is one of characters".into(),
            };
            (format!("{}{its}", type_name(&found)), help)
        }
        What::Other(what) => return DataError::Mismatch { found: format!("{what}{its}"), help: None },
    };
    DataError::Mismatch { found, help: Some(help) }
}

const RAGGED: &str = "lists and texts of their own lengths are boxes: (Σ (k) [float k]), (Σ (k) [char k])";

/// What lists are of in the end.
fn innermost(ty: &DataType) -> &DataType {
    match ty {
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) => {
            innermost(f.data_type())
        }
        ty => ty,
    }
}

/// A type as Arrow's and NumPy's users call it.
fn type_name(ty: &DataType) -> String {
    match ty {
        DataType::Boolean => "bool".into(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "string".into(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "binary".into()
        }
        DataType::Date32 | DataType::Date64 => "date".into(),
        DataType::Time32(_) | DataType::Time64(_) => "time".into(),
        DataType::Timestamp(..) => "timestamp".into(),
        DataType::Duration(_) => "duration".into(),
        DataType::List(f) | DataType::LargeList(f) => format!("list of {}", type_name(f.data_type())),
        DataType::FixedSizeList(f, n) => format!("list of {n} {}", type_name(f.data_type())),
        DataType::Struct(fields) => format!("struct of {}", listed(&names(fields))),
        DataType::Map(..) => "map".into(),
        DataType::Dictionary(_, values) => type_name(values),
        ty => match base(ty).and_then(crate::npy::numpy_name) {
            Some(name) => name.to_owned(),
            None => {
                let name: String = ty.to_string().chars().take(60).collect();
                format!("{}, which no type of Remora is,", name.to_lowercase())
            }
        },
    }
}
