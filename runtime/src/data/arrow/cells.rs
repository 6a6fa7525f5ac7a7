//! The rows of a column as items of a type.
//!
//! ```text
//! a list of float64, [[1 2] [] [3]]        three boxes of (Σ (n) [float n])
//! a list of 2 int64, [[1 2] [3 4]]         two items of [int 2]
//! ```
//!
//! A list is a box where boxes are wanted, and an axis where all of its rows have one length; what is in all rows is read at
//! once, and parted afterwards. What is wrong is told with the row in which it is: on the way out of a list a place among
//! its elements becomes the row that holds it.

use super::super::csv::find;
use crate::budget::{Room, TooMuch};
use crate::literal::{boxed_value, fits};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StructArray, UInt8Array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use remc_base::value::{BoxValue, Data};
use remc_base::{ArrTy, AtomTy, BaseTy, DimVar, IndexValue, Shape, SigmaTy, TupleTy, Value};
use std::ops::Range;
use std::sync::Arc;

/// Items of one shape.
pub struct Cells {
    pub count: usize,
    /// Of no items, what the type says of it.
    pub shape: Vec<usize>,
    pub data: Data,
}

/// Why rows are no such items.
pub struct Stop {
    /// The row, if it is one of them.
    pub row: Option<usize>,
    /// The field of that row, as `.low`.
    pub within: String,
    pub what: What,
}

/// What is wrong.
pub enum What {
    Null,
    /// A type that is not the wanted one, and what is wanted.
    Type(DataType, AtomTy),
    /// Lists of several lengths, where all have to have one.
    Ragged(usize, usize),
    Other(String),
    TooMuch(TooMuch),
}

impl Stop {
    pub fn all(what: What) -> Stop {
        Stop { row: None, within: String::new(), what }
    }

    pub fn at(row: usize, what: What) -> Stop {
        Stop { row: Some(row), ..Stop::all(what) }
    }

    fn in_field(self, name: &str) -> Stop {
        Stop { within: format!(".{name}{}", self.within), ..self }
    }

    /// … of the rows whose elements end so.
    fn of_rows(self, ends: &[usize]) -> Stop {
        let row = self.row.map(|k| k + ends.first().copied().unwrap_or(0));
        Stop { row: row.map(|k| ends.partition_point(|end| *end <= k).saturating_sub(1)), ..self }
    }
}

impl From<TooMuch> for Stop {
    fn from(e: TooMuch) -> Stop {
        Stop::all(What::TooMuch(e))
    }
}

type Read = Result<Cells, Stop>;

/// The sizes of axes, 0 of those that only the data knows; `None` if nobody knows how many there are.
pub fn known(shape: &Shape) -> Option<Vec<usize>> {
    let size = |d: &remc_base::Dim| d.as_constant().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    shape.dims().map(|dims| dims.iter().map(size).collect())
}

/// The type whose atoms such values are.
pub fn base(ty: &DataType) -> Option<BaseTy> {
    Some(match ty {
        DataType::Boolean => BaseTy::Bool,
        DataType::Int8 => BaseTy::I8,
        DataType::Int16 => BaseTy::I16,
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) => BaseTy::I32,
        DataType::Int64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_) => BaseTy::I64,
        DataType::UInt8 => BaseTy::U8,
        DataType::UInt16 => BaseTy::U16,
        DataType::UInt32 => BaseTy::U32,
        DataType::UInt64 => BaseTy::U64,
        DataType::Float16 => BaseTy::F16,
        DataType::Float32 => BaseTy::F32,
        DataType::Float64 => BaseTy::F64,
        _ => return None,
    })
}

/// The type within another of which no value is, if there is one. Those are not even decoded.
pub fn unreadable(ty: &DataType) -> Option<&DataType> {
    match ty {
        DataType::FixedSizeList(_, size) | DataType::FixedSizeBinary(size) if *size < 0 => Some(ty),
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) | DataType::Map(f, _) => {
            unreadable(f.data_type())
        }
        DataType::Struct(fields) => fields.iter().find_map(|f| unreadable(f.data_type())),
        DataType::Dictionary(_, values) => unreadable(values),
        DataType::Null
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => None,
        ty => (!is_text(ty) && base(ty).is_none()).then_some(ty),
    }
}

/// Whether values are texts.
pub fn is_text(ty: &DataType) -> bool {
    match ty {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// The rows of an array as items of these axes and atoms. Without `dims` its lists of a fixed size are axes.
pub fn cells(array: &dyn Array, dims: Option<&[usize]>, atom: &AtomTy, room: &mut Room<'_>) -> Read {
    if let DataType::Dictionary(keys, _) = array.data_type() {
        return of_dictionary(array, keys, dims, atom, room);
    }
    // What is of another type is not looked at.
    if let (AtomTy::Base(ty), Some(found)) = (atom, base(array.data_type()))
        && *ty != found
    {
        return Err(Stop::all(What::Type(array.data_type().clone(), atom.clone())));
    }
    no_nulls(array)?;
    let boxes = dims.is_none_or(<[usize]>::is_empty);
    match (atom, array.data_type()) {
        // Where nobody says how many axes there are, lists of a fixed size are some.
        (AtomTy::Sigma(sigma), ty)
            if boxes && !(dims.is_none() && matches!(ty, DataType::FixedSizeList(..))) =>
        {
            boxed(array, sigma, room)
        }
        (AtomTy::Base(BaseTy::Char), ty) if is_text(ty) && dims.is_none_or(|d| d.len() <= 1) => {
            texts(array, dims, room)
        }
        // Axes that are not there are missed where shapes are compared.
        (AtomTy::Base(ty), found) if base(found) == Some(*ty) => numbers(array, *ty, room),
        (AtomTy::Tuple(tuple), DataType::Struct(_)) if boxes => records(array.as_struct(), tuple, atom, room),
        (_, found) => match (dims, lists(array, room)?) {
            (Some([size, inner @ ..]), Some(rows)) => axis(&rows, Some(*size), Some(inner), atom, room),
            (None, Some(rows)) => axis(&rows, None, None, atom, room),
            _ => Err(Stop::all(What::Type(found.clone(), atom.clone()))),
        },
    }
}

/// That no row is missing.
fn no_nulls(array: &dyn Array) -> Result<(), Stop> {
    let null = match (array.data_type(), array.nulls()) {
        (DataType::Null, _) => (!array.is_empty()).then_some(0),
        (_, Some(nulls)) if nulls.null_count() > 0 => (0..array.len()).find(|k| nulls.is_null(*k)),
        _ => None,
    };
    null.map_or(Ok(()), |row| Err(Stop::at(row, What::Null)))
}

fn numbers(array: &dyn Array, ty: BaseTy, room: &mut Room<'_>) -> Read {
    let mut data = Data::of_base(ty, 0);
    room.grow_data(&mut data, array.len())?;
    let all = array.to_data();
    macro_rules! numbers {
        ($($v:ident($t:ty)),*) => {
            match (&mut data, all.buffers()) {
                (Data::Bool(v), _) => v.extend(array.as_boolean().values().iter()),
                $((Data::$v(v), [bytes, ..]) => {
                    v.extend_from_slice(&ScalarBuffer::<$t>::new(bytes.clone(), all.offset(), all.len()));
                })*
                _ => return Err(Stop::all(What::Type(array.data_type().clone(), AtomTy::Base(ty)))),
            }
        };
    }
    numbers!(
        I8(i8),
        I16(i16),
        I32(i32),
        I64(i64),
        U8(u8),
        U16(u16),
        U32(u32),
        U64(u64),
        F16(half::f16),
        F32(f32),
        F64(f64)
    );
    Ok(Cells { count: array.len(), shape: Vec::new(), data })
}

/// The text of each row.
fn text(array: &dyn Array, row: usize) -> &str {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        DataType::Utf8View => array.as_string_view().value(row),
        _ => "",
    }
}

/// Texts of one length, or of one character each.
fn texts(array: &dyn Array, dims: Option<&[usize]>, room: &mut Room<'_>) -> Read {
    let mut chars = Vec::new();
    let single = dims.is_some_and(<[usize]>::is_empty);
    let mut length = None;
    for row in 0..array.len() {
        let text = text(array, row);
        let count = text.chars().count();
        let first = *length.get_or_insert(if single { 1 } else { count });
        if count != first {
            return Err(Stop::at(row, What::Ragged(count, first)));
        }
        room.grow(&mut chars, count)?;
        chars.extend(text.chars());
    }
    let size = length.or_else(|| dims?.first().copied()).unwrap_or(0);
    let shape = if single { Vec::new() } else { vec![size] };
    Ok(Cells { count: array.len(), shape, data: Data::Char(chars) })
}

/// Lists: the elements of all, and where those of each row end, behind where the first begin.
struct Lists {
    elements: ArrayRef,
    ends: Vec<usize>,
    /// How long each is, where the type says so.
    size: Option<usize>,
}

/// The rows of an array as lists; `None` if they are none.
fn lists(array: &dyn Array, room: &mut Room<'_>) -> Result<Option<Lists>, Stop> {
    let mut ends = Vec::new();
    if matches!(
        array.data_type(),
        DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::Map(..)
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    ) {
        room.grow(&mut ends, array.len() + 1)?;
    }
    macro_rules! offsets {
        ($offsets:expr) => {
            ends.extend($offsets.iter().map(|n| *n as usize))
        };
    }
    let bytes = |bytes: &arrow_buffer::Buffer| -> ArrayRef {
        Arc::new(UInt8Array::new(ScalarBuffer::new(bytes.clone(), 0, bytes.len()), None))
    };
    let elements = match array.data_type() {
        DataType::List(_) => {
            offsets!(array.as_list::<i32>().value_offsets());
            array.as_list::<i32>().values().clone()
        }
        DataType::LargeList(_) => {
            offsets!(array.as_list::<i64>().value_offsets());
            array.as_list::<i64>().values().clone()
        }
        DataType::Map(..) => {
            offsets!(array.as_map().value_offsets());
            Arc::new(array.as_map().entries().clone())
        }
        DataType::FixedSizeList(_, size) => {
            let (all, size) = (array.as_fixed_size_list(), usize::try_from(*size).unwrap_or(0));
            let start = all.value_offset_at(0);
            ends.extend((0..=array.len()).map(|row| start + row * size));
            all.values().clone()
        }
        DataType::Binary => {
            offsets!(array.as_binary::<i32>().value_offsets());
            bytes(array.as_binary::<i32>().values())
        }
        DataType::LargeBinary => {
            offsets!(array.as_binary::<i64>().value_offsets());
            bytes(array.as_binary::<i64>().values())
        }
        DataType::FixedSizeBinary(size) => {
            let (all, size) = (array.as_fixed_size_binary(), usize::try_from(*size).unwrap_or(0));
            ends.extend((0..=array.len()).map(|row| row * size));
            let mut own = Vec::new();
            room.grow(&mut own, array.len() * size)?;
            all.iter().flatten().for_each(|v| own.extend_from_slice(v));
            Arc::new(UInt8Array::from(own))
        }
        DataType::BinaryView => {
            let mut own = Vec::new();
            ends.push(0);
            for v in array.as_binary_view().iter() {
                let v = v.unwrap_or_default();
                room.grow(&mut own, v.len())?;
                own.extend_from_slice(v);
                ends.push(own.len());
            }
            Arc::new(UInt8Array::from(own))
        }
        _ => return Ok(None),
    };
    let size = match array.data_type() {
        DataType::FixedSizeList(_, n) | DataType::FixedSizeBinary(n) => usize::try_from(*n).ok(),
        _ => None,
    };
    Ok(Some(Lists { elements, ends, size }))
}

impl Lists {
    fn count(&self) -> usize {
        self.ends.len().saturating_sub(1)
    }

    /// The elements of these rows.
    fn elements(&self, rows: Range<usize>) -> ArrayRef {
        let (from, to) = (self.ends[rows.start], self.ends[rows.end]);
        self.elements.slice(from, to - from)
    }
}

/// Lists of one length as an axis. `size` is what is known of it, which counts where there are no lists.
fn axis(
    rows: &Lists,
    size: Option<usize>,
    inner: Option<&[usize]>,
    atom: &AtomTy,
    room: &mut Room<'_>,
) -> Read {
    let mut length = None;
    for (row, w) in rows.ends.windows(2).enumerate() {
        let (here, first) = (w[1] - w[0], *length.get_or_insert(w[1] - w[0]));
        if here != first {
            return Err(Stop::at(row, What::Ragged(here, first)));
        }
    }
    let all = rows.elements(0..rows.count());
    let read = cells(&all, inner, atom, room).map_err(|e| e.of_rows(&rows.ends))?;
    let mut shape = vec![rows.size.or(length).or(size).unwrap_or(0)];
    shape.extend(read.shape);
    Ok(Cells { count: rows.count(), shape, data: read.data })
}

/// A box of each row.
fn boxed(array: &dyn Array, sigma: &SigmaTy, room: &mut Room<'_>) -> Read {
    let mut boxes = Boxes::new(sigma);
    let body = &sigma.body;
    let dims = known(&body.shape);
    if body.atom == AtomTy::CHAR && is_text(array.data_type()) && dims.as_ref().is_none_or(|d| d.len() == 1) {
        for row in 0..array.len() {
            let text = text(array, row);
            let count = text.chars().count();
            room.take(4 * count as u64)?;
            let data = Data::Char(text.chars().collect());
            boxes.push(Value { atom: AtomTy::CHAR, shape: vec![count], data }, row, room)?;
        }
        return Ok(boxes.cells());
    }
    let inner = dims.as_deref().and_then(|d| d.get(1..));
    let lists = match dims.as_deref() {
        Some([]) => None,
        _ => lists(array, room)?,
    };
    let Some(rows) = lists else {
        let read = cells(array, dims.as_deref(), &body.atom, room)?;
        let size: usize = read.shape.iter().product();
        for row in 0..read.count {
            let data = read.data.gather(row * size..(row + 1) * size);
            room.take((size * data.atom_size()) as u64)?;
            boxes.push(Value { atom: body.atom.clone(), shape: read.shape.clone(), data }, row, room)?;
        }
        return Ok(boxes.cells());
    };
    let whole = rows.elements(0..rows.count());
    match cells(&whole, inner, &body.atom, room) {
        Ok(read) => {
            let (size, start): (usize, usize) = (read.shape.iter().product(), rows.ends[0]);
            for (row, w) in rows.ends.windows(2).enumerate() {
                let data = read.data.gather((w[0] - start) * size..(w[1] - start) * size);
                room.take((data.len() * data.atom_size()) as u64)?;
                let shape = std::iter::once(w[1] - w[0]).chain(read.shape.iter().copied()).collect();
                boxes.push(Value { atom: body.atom.clone(), shape, data }, row, room)?;
            }
            room.give_back((read.data.len() * read.data.atom_size()) as u64);
        }
        // Lists within may have one length in each row, and different ones in different rows.
        Err(Stop { what: What::Ragged(..), .. }) if sigma.params.len() > 1 => {
            for row in 0..rows.count() {
                let read = cells(&rows.elements(row..row + 1), inner, &body.atom, room)
                    .map_err(|e| Stop { row: Some(row), ..e })?;
                let shape = std::iter::once(read.count).chain(read.shape).collect();
                boxes.push(Value { atom: body.atom.clone(), shape, data: read.data }, row, room)?;
            }
        }
        Err(e) => return Err(e.of_rows(&rows.ends)),
    }
    Ok(boxes.cells())
}

/// Boxes of one type.
struct Boxes<'a> {
    sigma: &'a SigmaTy,
    /// Whether the only index is the size of the first axis.
    plain: bool,
    all: Vec<Arc<BoxValue>>,
}

impl<'a> Boxes<'a> {
    fn new(sigma: &'a SigmaTy) -> Boxes<'a> {
        let plain = match (sigma.params.as_slice(), sigma.body.shape.dims()) {
            ([hidden], Some(dims)) => dims.split_first().is_some_and(|(first, rest)| {
                let is_hidden = |v: &DimVar| *v == DimVar::Rigid(hidden.clone());
                first.as_var().is_some_and(is_hidden) && !rest.iter().any(|d| d.vars().any(is_hidden))
            }),
            _ => false,
        };
        Boxes { sigma, plain, all: Vec::new() }
    }

    fn push(&mut self, value: Value, row: usize, room: &mut Room<'_>) -> Result<(), Stop> {
        let wrong = |what| Stop::at(row, What::Other(what));
        fits(&value.shape, &self.sigma.body.shape).map_err(wrong)?;
        let made = match self.plain {
            true => BoxValue { indices: vec![IndexValue::Dim(value.shape[0] as i64)], value },
            false => boxed_value(value, self.sigma).map_err(wrong)?,
        };
        room.take(size_of::<BoxValue>() as u64 + 48)?;
        room.grow(&mut self.all, 1)?;
        self.all.push(Arc::new(made));
        Ok(())
    }

    fn cells(self) -> Cells {
        Cells { count: self.all.len(), shape: Vec::new(), data: Data::Box(self.all) }
    }
}

/// A record of each row, or a tuple, whose parts have the order of the fields.
fn records(array: &StructArray, tuple: &Arc<TupleTy>, atom: &AtomTy, room: &mut Room<'_>) -> Read {
    let names: Vec<String> = array.fields().iter().map(|f| f.name().clone()).collect();
    let mut columns: Vec<(Cells, usize, &ArrTy)> = Vec::new();
    let labelled = tuple.fields.iter().all(|(label, _)| label.is_some());
    if !labelled && names.len() != tuple.fields.len() {
        return Err(Stop::all(What::Type(array.data_type().clone(), atom.clone())));
    }
    for (k, (label, ty)) in tuple.fields.iter().enumerate() {
        let found = label.as_ref().filter(|_| labelled).map_or(Some(k), |l| find(l.as_str(), &names));
        let Some(found) = found else {
            let label = label.as_ref().map(|l| l.as_str()).unwrap_or_default();
            return Err(Stop::all(What::Other(format!("structs without a field `{label}`"))));
        };
        let of = |e: Stop| e.in_field(&names[found]);
        let read = cells(array.column(found), known(&ty.shape).as_deref(), &ty.atom, room).map_err(of)?;
        if read.count > 0 {
            fits(&read.shape, &ty.shape).map_err(|what| of(Stop::all(What::Other(what))))?;
        }
        let size = read.shape.iter().product();
        columns.push((read, size, ty));
    }
    let mut all: Vec<Arc<[Value]>> = Vec::new();
    room.grow(&mut all, array.len())?;
    for row in 0..array.len() {
        let part = |(read, size, ty): &(Cells, usize, &ArrTy)| {
            let data = read.data.gather(row * size..(row + 1) * size);
            Value { atom: ty.atom.clone(), shape: read.shape.clone(), data }
        };
        let record: Arc<[Value]> = columns.iter().map(part).collect();
        let bytes: usize =
            record.iter().map(|v| size_of::<Value>() + v.data.len() * v.data.atom_size() + 32).sum();
        room.take(bytes as u64 + 16)?;
        all.push(record);
    }
    Ok(Cells { count: all.len(), shape: Vec::new(), data: Data::Tuple(all) })
}

/// What the keys of a dictionary stand for.
fn of_dictionary(
    array: &dyn Array,
    keys: &DataType,
    dims: Option<&[usize]>,
    atom: &AtomTy,
    room: &mut Room<'_>,
) -> Read {
    let mut places: Vec<usize> = Vec::new();
    room.grow(&mut places, array.len())?;
    macro_rules! keys {
        ($($v:ident: $t:ty),*) => {
            match keys {
                $(DataType::$v => {
                    let dictionary = array.as_dictionary::<$t>();
                    no_nulls(dictionary.keys())?;
                    places.extend(dictionary.keys().values().iter().map(|k| *k as usize));
                    dictionary.values().clone()
                })*
                _ => return Err(Stop::all(What::Type(array.data_type().clone(), atom.clone()))),
            }
        };
    }
    let values = keys!(
        Int8: Int8Type, Int16: Int16Type, Int32: Int32Type, Int64: Int64Type, UInt8: UInt8Type, UInt16: UInt16Type,
        UInt32: UInt32Type, UInt64: UInt64Type
    );
    let read = cells(&values, dims, atom, room).map_err(|e| match e.row {
        // The first row that stands for what is wrong.
        Some(value) => Stop { row: places.iter().position(|k| *k == value), ..e },
        None => e,
    })?;
    let size: usize = read.shape.iter().product();
    room.take((places.len() * size * read.data.atom_size()) as u64)?;
    let data = read.data.gather(places.iter().flat_map(|k| k * size..(k + 1) * size));
    Ok(Cells { count: places.len(), shape: read.shape, data })
}
