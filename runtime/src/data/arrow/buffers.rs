//! What the metadata of a message say of its buffers: that they lie in its body, that those of numbers hold whole ones, and
//! how much is in them when it is not compressed any more.
//!
//! The buffers of a message stand in the order of the columns, those of a column before those of what is in it. The arrow
//! crates rely on what is seen here, and check what the numbers are.

use super::super::DataError;
use arrow_ipc as ipc;
use arrow_schema::{DataType, Field, Fields, IntervalUnit, UnionMode};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// LZ4 makes of a byte at most so many, and zstd.
const MOST_OF_LZ4: i64 = 255;
const MOST_OF_ZSTD: i64 = 1 << 15;

/// What a batch claims.
pub struct Claims {
    /// How many bytes the compressed buffers are in truth that are read.
    pub more: u64,
    pub zstd: bool,
    /// The buffers that are read, by their numbers, and how long they are in truth.
    pub read: BTreeMap<usize, u64>,
}

pub fn damaged<T>(what: impl Into<String>) -> Result<T, DataError> {
    Err(DataError::Unreadable(format!("it is damaged: {}", what.into())))
}

/// What a batch of such columns claims, of which those of these numbers are read.
///
/// # Errors
/// What is wrong with it.
pub fn checked(
    batch: &ipc::RecordBatch<'_>,
    body: &[u8],
    fields: &Fields,
    only: &[usize],
    version: ipc::MetadataVersion,
) -> Result<Claims, DataError> {
    if batch.length() < 0 {
        return damaged(format!("a record batch of {} rows", batch.length()));
    }
    for node in batch.nodes().into_iter().flatten() {
        if node.length() < 0 || node.null_count() < 0 || node.null_count() > node.length() {
            return damaged(format!("{} nulls of {} values", node.null_count(), node.length()));
        }
    }
    let most = match batch.compression().map(|c| c.codec()) {
        None => None,
        Some(ipc::CompressionType::LZ4_FRAME) => Some(MOST_OF_LZ4),
        Some(ipc::CompressionType::ZSTD) => Some(MOST_OF_ZSTD),
        Some(_) => return damaged("it is compressed in an unknown way"),
    };
    let mut sizes = VecDeque::new();
    for buffer in batch.buffers().into_iter().flatten() {
        let bytes = bytes(buffer, body)?;
        sizes.push_back(match most {
            Some(most) if !bytes.is_empty() => unpacked(bytes, most)?,
            _ => bytes.len() as u64,
        });
    }
    let variadic = batch.variadicBufferCounts().into_iter().flatten().collect();
    let mut buffers = Buffers { sizes: sizes.clone(), variadic, version };
    let zstd = most == Some(MOST_OF_ZSTD);
    let mut claims = Claims { more: 0, zstd, read: BTreeMap::new() };
    for (column, field) in fields.iter().enumerate() {
        let from = sizes.len() - buffers.sizes.len();
        buffers.field(field)?;
        if only.contains(&column) {
            let own = from..sizes.len() - buffers.sizes.len();
            claims.read.extend(own.filter_map(|k| Some((k, *sizes.get(k)?))));
        }
    }
    if most.is_some() {
        claims.more = claims.read.values().fold(0, |n, size| n.saturating_add(*size));
    }
    Ok(claims)
}

/// Finds the dictionaries of a column, and of what is in it.
pub fn dictionaries(field: &Field, all: &mut BTreeSet<i64>) {
    if matches!(field.data_type(), DataType::Dictionary(..)) {
        #[expect(deprecated, reason = "there is no other way yet to ask which dictionary it has")]
        all.extend(field.dict_id());
    }
    let mut ty = field.data_type();
    while let DataType::Dictionary(_, values) = ty {
        ty = values;
    }
    match ty {
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) | DataType::Map(f, _) => {
            dictionaries(f, all);
        }
        DataType::Struct(fields) => fields.iter().for_each(|f| dictionaries(f, all)),
        _ => {}
    }
}

/// The bytes of a buffer, which lie in the body.
pub fn bytes<'b>(buffer: &ipc::Buffer, body: &'b [u8]) -> Result<&'b [u8], DataError> {
    let range = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
    let bytes = range.and_then(|(at, n)| body.get(at..at.checked_add(n)?));
    match bytes {
        Some(bytes) => Ok(bytes),
        None => damaged(format!(
            "a buffer of {} bytes at {}, in a message of {}",
            buffer.length(),
            buffer.offset(),
            body.len()
        )),
    }
}

/// How many bytes a compressed buffer is in truth; it says so first, or -1 where it is as it was.
fn unpacked(bytes: &[u8], most: i64) -> Result<u64, DataError> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return damaged("a compressed buffer does not say how long it is");
    };
    match i64::from_le_bytes(*length) {
        -1 => Ok(rest.len() as u64),
        length if (0..=most.saturating_mul(rest.len() as i64)).contains(&length) => Ok(length as u64),
        length => damaged(format!("{} compressed bytes that would be {length}", rest.len())),
    }
}

/// The buffers that are still to come.
struct Buffers {
    sizes: VecDeque<u64>,
    /// How many buffers of texts the columns of views have.
    variadic: VecDeque<i64>,
    version: ipc::MetadataVersion,
}

impl Buffers {
    /// A buffer of elements of so many bytes.
    fn of(&mut self, width: u64) -> Result<(), DataError> {
        match self.sizes.pop_front() {
            Some(size) if size.is_multiple_of(width) => Ok(()),
            Some(size) => damaged(format!("a buffer of {size} bytes holds elements of {width}")),
            None => damaged("a message has fewer buffers than its columns need"),
        }
    }

    /// Those of bits and bytes, of which any number is one.
    fn any(&mut self, count: usize) -> Result<(), DataError> {
        (0..count).try_for_each(|_| self.of(1))
    }

    fn field(&mut self, field: &Field) -> Result<(), DataError> {
        let ty = field.data_type();
        match ty {
            DataType::Null => Ok(()),
            DataType::Union(fields, mode) => {
                self.any(usize::from(self.version < ipc::MetadataVersion::V5) + 1)?;
                if *mode == UnionMode::Dense {
                    self.of(4)?;
                }
                fields.iter().try_for_each(|(_, f)| self.field(f))
            }
            DataType::RunEndEncoded(ends, values) => {
                self.field(ends)?;
                self.field(values)
            }
            _ => {
                // Which rows are not missing.
                self.any(1)?;
                self.content(ty)
            }
        }
    }

    fn content(&mut self, ty: &DataType) -> Result<(), DataError> {
        match ty {
            DataType::Utf8 | DataType::Binary => self.of(4).and_then(|()| self.any(1)),
            DataType::LargeUtf8 | DataType::LargeBinary => self.of(8).and_then(|()| self.any(1)),
            DataType::Utf8View | DataType::BinaryView => {
                self.of(16)?;
                match self.variadic.pop_front().and_then(|n| usize::try_from(n).ok()) {
                    Some(n) if n <= self.sizes.len() => self.any(n),
                    _ => damaged("a column of views does not say how many buffers it has"),
                }
            }
            DataType::List(f) | DataType::Map(f, _) => self.of(4).and_then(|()| self.field(f)),
            DataType::LargeList(f) => self.of(8).and_then(|()| self.field(f)),
            DataType::ListView(f) => self.of(4).and_then(|()| self.of(4)).and_then(|()| self.field(f)),
            DataType::LargeListView(f) => self.of(8).and_then(|()| self.of(8)).and_then(|()| self.field(f)),
            DataType::FixedSizeList(f, _) => self.field(f),
            DataType::Struct(fields) => fields.iter().try_for_each(|f| self.field(f)),
            DataType::Dictionary(keys, _) => self.content(keys),
            DataType::Interval(IntervalUnit::MonthDayNano) => self.of(16),
            ty => self.of(ty.primitive_width().unwrap_or(1) as u64),
        }
    }
}
