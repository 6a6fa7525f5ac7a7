//! Values written as a table in Arrow's IPC format.
//!
//! | value | table |
//! | --- | --- |
//! | an array of records | a column for each field |
//! | a record of arrays of one length | the arrays as columns |
//! | a record of scalars and texts | one row |
//! | any other array | the column `value`, along its first axis |
//! | a scalar, a text | one row of that column |
//!
//! A further axis is a list of a fixed size, a box a list, characters along an axis a string. All rows are in one record
//! batch, which is not compressed.

use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, GenericListArray, GenericStringArray, OffsetSizeTrait,
    PrimitiveArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, OffsetBuffer, ScalarBuffer};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, Field, Fields, Schema};
use remc_base::value::{BoxValue, Data};
use remc_base::{ArrTy, AtomTy, Value};
use std::io::{self, Write};
use std::sync::Arc;

/// What the column of a value is called that has no names.
const NAME: &str = "value";

/// What the format cannot hold of a value, as the end of a sentence: "cannot hold …".
pub fn refusal(value: &Value) -> Option<String> {
    if value.data.base().is_some() {
        return None;
    }
    match table(value) {
        Ok(_) => None,
        Err(Refused::Lengths) => {
            Some("a record of arrays of several lengths: the columns of a table have one".to_owned())
        }
        Err(Refused::Type) => Some(value.atom.to_string()),
    }
}

/// Writes a file.
///
/// # Errors
/// `InvalidInput` where [`refusal`] says something, and what writing gives.
pub fn file(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let batch = table(value).map_err(|_| io::ErrorKind::InvalidInput)?;
    let write = || {
        let mut writer = FileWriter::try_new(out, &batch.schema())?;
        writer.write(&batch)?;
        writer.finish()
    };
    write().map_err(of_arrow)
}

/// Writes a stream.
///
/// # Errors
/// As [`file`].
pub fn stream(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let batch = table(value).map_err(|_| io::ErrorKind::InvalidInput)?;
    let write = || {
        let mut writer = StreamWriter::try_new(out, &batch.schema())?;
        writer.write(&batch)?;
        writer.finish()
    };
    write().map_err(of_arrow)
}

fn of_arrow(e: ArrowError) -> io::Error {
    match e {
        ArrowError::IoError(_, e) => e,
        e => io::Error::other(e.to_string()),
    }
}

/// Why a value is no table.
enum Refused {
    Type,
    /// A record of arrays of several lengths.
    Lengths,
}

impl From<ArrowError> for Refused {
    /// Arrays that do not fit together are no value's.
    fn from(_: ArrowError) -> Refused {
        Refused::Type
    }
}

/// The names of fields, or their numbers.
fn name(label: Option<&str>, number: usize) -> String {
    label.map_or_else(|| format!("column_{number}"), str::to_owned)
}

fn table(value: &Value) -> Result<RecordBatch, Refused> {
    let (columns, rows): (Vec<(String, ArrayRef)>, usize) = match (&value.atom, &value.data, &value.shape[..])
    {
        (AtomTy::Tuple(ty), Data::Tuple(records), [rows]) if !ty.fields.is_empty() => {
            let all = parts(&ty.fields, records)?;
            (all, *rows)
        }
        (AtomTy::Tuple(ty), Data::Tuple(records), []) if !ty.fields.is_empty() => {
            let [record] = records.as_slice() else { return Err(Refused::Type) };
            let scalar = |v: &Value| v.shape.is_empty() || v.atom == AtomTy::CHAR && v.shape.len() == 1;
            if record.iter().all(scalar) {
                (parts(&ty.fields, records)?, 1)
            } else {
                let rows = record.iter().find_map(|v| v.shape.first().copied()).unwrap_or(0);
                let mut all = Vec::new();
                for (k, ((label, _), part)) in ty.fields.iter().zip(record.iter()).enumerate() {
                    let Some((first, item)) = part.shape.split_first() else { return Err(Refused::Lengths) };
                    if *first != rows {
                        return Err(Refused::Lengths);
                    }
                    all.push((
                        name(label.as_ref().map(|l| l.as_str()), k),
                        array(&part.atom, rows, item, &part.data)?,
                    ));
                }
                (all, rows)
            }
        }
        (AtomTy::Tuple(_), _, []) => return Err(Refused::Type),
        (atom, data, []) => (vec![(NAME.into(), array(atom, 1, &[], data)?)], 1),
        (atom, data, [size]) if *atom == AtomTy::CHAR => {
            (vec![(NAME.into(), array(atom, 1, &[*size], data)?)], 1)
        }
        (atom, data, [rows, item @ ..]) => (vec![(NAME.into(), array(atom, *rows, item, data)?)], *rows),
    };
    let fields: Vec<Field> =
        columns.iter().map(|(name, a)| Field::new(name, a.data_type().clone(), false)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let arrays = columns.into_iter().map(|(_, a)| a).collect();
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?)
}

/// The fields of records, an array each.
fn parts(
    fields: &[(Option<remc_base::Name>, ArrTy)],
    records: &[Arc<[Value]>],
) -> Result<Vec<(String, ArrayRef)>, Refused> {
    let mut all = Vec::new();
    for (k, (label, ty)) in fields.iter().enumerate() {
        let values = records.iter().map(|r| r.get(k).ok_or(Refused::Type)).collect::<Result<Vec<_>, _>>()?;
        let (item, data) = joined(ty, &values, 0)?;
        let array = array(&ty.atom, records.len(), &item, &data)?;
        all.push((name(label.as_ref().map(|l| l.as_str()), k), array));
    }
    Ok(all)
}

/// Values one after the other: the shape that all have but for the first axes, and all of their atoms. Of no values the
/// type says the shape.
fn joined(ty: &ArrTy, values: &[&Value], free: usize) -> Result<(Vec<usize>, Data), Refused> {
    let mut item = match values.first() {
        Some(first) => first.shape.clone(),
        None => super::cells::known(&ty.shape).ok_or(Refused::Type)?,
    };
    if item.len() < free {
        return Err(Refused::Type);
    }
    let item = item.split_off(free);
    let mut data = Data::of_atom(&ty.atom);
    for v in values {
        if v.shape.get(free..) != Some(&item) || !data.append(v.data.clone()) {
            return Err(Refused::Type);
        }
    }
    Ok((item, data))
}

fn primitive<T: ArrowPrimitiveType>(all: &[T::Native]) -> ArrayRef
where
    T::Native: arrow_buffer::ArrowNativeType,
{
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(Buffer::from_slice_ref(all)), None))
}

/// So many items of a shape, as an array.
fn array(atom: &AtomTy, count: usize, item: &[usize], data: &Data) -> Result<ArrayRef, Refused> {
    let text = *atom == AtomTy::CHAR && item.len() == 1;
    if let (Some((size, inner)), false) = (item.split_first(), text) {
        let elements = array(atom, count * size, inner, data)?;
        let field = Arc::new(Field::new_list_field(elements.data_type().clone(), false));
        let size = i32::try_from(*size).map_err(|_| Refused::Type)?;
        return Ok(Arc::new(FixedSizeListArray::try_new_with_length(field, size, elements, None, count)?));
    }
    Ok(match data {
        Data::Bool(v) => Arc::new(BooleanArray::new(BooleanBuffer::from(v.as_slice()), None)),
        Data::I8(v) => primitive::<Int8Type>(v),
        Data::I16(v) => primitive::<Int16Type>(v),
        Data::I32(v) => primitive::<Int32Type>(v),
        Data::I64(v) => primitive::<Int64Type>(v),
        Data::U8(v) => primitive::<UInt8Type>(v),
        Data::U16(v) => primitive::<UInt16Type>(v),
        Data::U32(v) => primitive::<UInt32Type>(v),
        Data::U64(v) => primitive::<UInt64Type>(v),
        Data::F16(v) => primitive::<Float16Type>(v),
        Data::F32(v) => primitive::<Float32Type>(v),
        Data::F64(v) => primitive::<Float64Type>(v),
        Data::Char(v) => {
            let size = item.first().copied().unwrap_or(1);
            strings((0..count).map(|k| v.get(k * size..(k + 1) * size).unwrap_or_default()))
        }
        Data::Box(boxes) => lists(atom, boxes)?,
        Data::Tuple(records) => {
            let AtomTy::Tuple(ty) = atom else { return Err(Refused::Type) };
            let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = parts(&ty.fields, records)?
                .into_iter()
                .map(|(name, a)| (Field::new(name, a.data_type().clone(), false), a))
                .unzip();
            Arc::new(StructArray::try_new_with_length(Fields::from(fields), columns, None, records.len())?)
        }
        Data::Function(_) => return Err(Refused::Type),
    })
}

/// What is in boxes, as a list each.
fn lists(atom: &AtomTy, boxes: &[Arc<BoxValue>]) -> Result<ArrayRef, Refused> {
    let AtomTy::Sigma(sigma) = atom else { return Err(Refused::Type) };
    let (body, values): (_, Vec<&Value>) = (&sigma.body, boxes.iter().map(|b| &b.value).collect());
    let rank = values.first().map(|v| v.shape.len()).or_else(|| Some(body.shape.dims()?.len()));
    if body.atom == AtomTy::CHAR && rank == Some(1) {
        let text = |v: &Value| match &v.data {
            Data::Char(text) if v.shape.len() == 1 => Ok(text.clone()),
            _ => Err(Refused::Type),
        };
        let all = values.into_iter().map(text).collect::<Result<Vec<_>, _>>()?;
        return Ok(strings(all.iter().map(Vec::as_slice)));
    }
    let (item, data) = joined(body, &values, 1)?;
    let lengths = || values.iter().map(|v| v.shape.first().copied().unwrap_or(0));
    let total: usize = lengths().sum();
    let elements = array(&body.atom, total, &item, &data)?;
    match i32::try_from(total) {
        Ok(_) => list::<i32>(elements, lengths()),
        Err(_) => list::<i64>(elements, lengths()),
    }
}

fn list<O: OffsetSizeTrait>(
    elements: ArrayRef,
    lengths: impl Iterator<Item = usize>,
) -> Result<ArrayRef, Refused> {
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), false));
    Ok(Arc::new(GenericListArray::<O>::try_new(field, OffsetBuffer::from_lengths(lengths), elements, None)?))
}

/// Texts as strings.
fn strings<'a>(texts: impl Iterator<Item = &'a [char]>) -> ArrayRef {
    let (mut all, mut ends) = (String::new(), vec![0usize]);
    for text in texts {
        all.extend(text);
        ends.push(all.len());
    }
    match i32::try_from(all.len()) {
        Ok(_) => utf8::<i32>(all, &ends),
        Err(_) => utf8::<i64>(all, &ends),
    }
}

fn utf8<O: OffsetSizeTrait>(all: String, ends: &[usize]) -> ArrayRef {
    let lengths = ends.windows(2).map(|w| w[1] - w[0]);
    let bytes = Buffer::from_vec(all.into_bytes());
    Arc::new(GenericStringArray::<O>::new(OffsetBuffer::from_lengths(lengths), bytes, None))
}
