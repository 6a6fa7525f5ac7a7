//! Arrow's messages, one after the other: a schema, dictionaries, and record batches.
//!
//! ```text
//! ff ff ff ff  length  metadata, a flatbuffer  body
//! ```
//!
//! What the metadata claims is looked at before the arrow crates see it: a body must be there, and its buffers as
//! [`super::buffers`] says. What the arrays hold they check themselves.

use super::super::DataError;
use super::super::elements::reason;
use super::buffers::{Claims, checked, damaged, dictionaries};
use super::{CONTINUATION, MAGIC, zstd};
use crate::budget::{Budget, Room};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc as ipc;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{self, Read};
use std::sync::Arc;

/// No metadata is longer: a table of a million columns takes less.
const LONGEST_METADATA: u64 = 1 << 28;
/// No metadata is shorter.
const LEAST_METADATA: u32 = 8;
/// How much is read at a time where nobody knows how much will come.
const AT_ONCE: usize = 1 << 22;
/// How many bytes of zeros may stand behind the first mark of a file: as many as buffers are aligned to.
const PADDING: u64 = 512;

/// Where one has come in a file or stream, from which bytes are read.
pub struct Frames {
    schema: SchemaRef,
    version: ipc::MetadataVersion,
    /// The columns that are read, by their numbers.
    only: Vec<usize>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The dictionaries that the columns have which are read.
    wanted: BTreeSet<i64>,
    /// What each of those takes.
    sizes: HashMap<i64, u64>,
    /// What they take in all, and what waits.
    held: u64,
    is_file: bool,
    /// How many bytes have been read, and how many there are, if that is known.
    at: u64,
    len: Option<u64>,
    /// Where the batches began.
    batches: Vec<u64>,
    rows: u64,
    over: bool,
    /// The first bytes of a message, which have been read.
    begun: Option<[u8; 4]>,
    /// Rows of a file whose dictionaries have not come.
    waiting: VecDeque<Waiting>,
}

/// A message of rows.
struct Waiting {
    metadata: Vec<u8>,
    body: Vec<u8>,
    /// What it will take beside.
    more: u64,
}

impl Waiting {
    fn bytes(&self) -> u64 {
        (self.metadata.len() + self.body.len()) as u64
    }
}

/// Some rows of a table, and the memory that they take.
pub struct Batch<'m> {
    pub rows: RecordBatch,
    _room: Room<'m>,
}

/// What the arrow crates say, as one clause.
fn of_arrow(e: ArrowError) -> DataError {
    let said = e.to_string();
    let first = said.lines().next().unwrap_or_default();
    let short: String = first.chars().take(200).collect();
    DataError::Unreadable(format!("it is damaged: {short}"))
}

impl Frames {
    /// Reads as far as the schema. `len` is the size of the file, if it is known.
    ///
    /// # Errors
    /// What is wrong with the first bytes.
    pub fn open(from: &mut dyn Read, len: Option<u64>, budget: &Budget) -> Result<Frames, DataError> {
        let mut frames = Frames {
            schema: Arc::new(Schema::empty()),
            version: ipc::MetadataVersion::V5,
            only: Vec::new(),
            dictionaries: HashMap::new(),
            wanted: BTreeSet::new(),
            sizes: HashMap::new(),
            held: 0,
            is_file: false,
            at: 0,
            len,
            batches: Vec::new(),
            rows: 0,
            over: false,
            begun: None,
            waiting: VecDeque::new(),
        };
        let mut start = [0; 4];
        frames.exactly(from, &mut start)?;
        match &start {
            b"FEA1" => {
                return Err(DataError::Unreadable(
                    "it is of Feather's version 1: `pyarrow.feather.write_feather` writes version 2".into(),
                ));
            }
            b"PAR1" => return Err(DataError::Unreadable("it is Parquet, which is not read".into())),
            mark if MAGIC.starts_with(mark) => {
                frames.exactly(from, &mut start)?;
                if start[..2] != MAGIC[4..] {
                    return Err(not_arrow());
                }
                frames.is_file = true;
                frames.exactly(from, &mut start)?;
                while start == [0; 4] && frames.at < PADDING {
                    frames.exactly(from, &mut start)?;
                }
            }
            mark if mark == CONTINUATION => {}
            // Before version 0.15 a message began with its length.
            _ => return Err(not_arrow()),
        }
        let mut room = budget.room();
        frames.begun = Some(start);
        let bare = frames.is_file && u32::from_le_bytes(start) < LEAST_METADATA;
        let metadata = match bare {
            true => Some(frames.bare_schema(from, &mut room)?),
            false => frames.metadata(from, &mut room)?,
        };
        let Some(metadata) = metadata else { return damaged("it ends before its schema") };
        let message = message(&metadata)?;
        let Some(schema) = message.header_as_schema() else {
            return damaged("it does not begin with a schema");
        };
        if schema.endianness() != ipc::Endianness::Little {
            return Err(DataError::Unreadable(
                "its numbers are big-endian: Arrow's files are little-endian".into(),
            ));
        }
        frames.version = message.version();
        frames.schema = Arc::new(ipc::convert::try_fb_to_schema(schema).map_err(of_arrow)?);
        let body = frames.body_length(&message, &room)?;
        frames.body(from, body, &mut room)?;
        Ok(frames)
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Reads these columns from now on, in this order; none before.
    pub fn only(&mut self, columns: Vec<usize>) {
        self.wanted.clear();
        for field in columns.iter().filter_map(|k| self.schema.fields().get(*k)) {
            dictionaries(field, &mut self.wanted);
        }
        self.only = columns;
    }

    /// The next rows; none at the end.
    ///
    /// # Errors
    /// What is wrong there, or that there is no memory for them.
    pub fn next<'m>(
        &mut self,
        from: &mut dyn Read,
        budget: &'m Budget,
    ) -> Result<Option<Batch<'m>>, DataError> {
        loop {
            if (self.over || self.has_all())
                && let Some(waiting) = self.waiting.pop_front()
            {
                let mut room = budget.room();
                room.take(self.held + waiting.more).map_err(DataError::TooMuch)?;
                self.held -= waiting.bytes();
                return self.batch(&waiting.metadata, waiting.body, room).map(Some);
            }
            if self.over {
                return Ok(None);
            }
            let start = self.at - self.begun.map_or(0, |word| word.len() as u64);
            let mut room = budget.room();
            room.take(self.held).map_err(DataError::TooMuch)?;
            let Some(mut metadata) = self.metadata(from, &mut room)? else {
                self.over = true;
                self.end(from, &mut room)?;
                continue;
            };
            let length = self.body_length(&message(&metadata)?, &room)?;
            let mut body = self.body(from, length, &mut room)?;
            let of = message(&metadata)?.header_as_dictionary_batch().map(|d| d.id());
            if of.is_some_and(|id| !self.wanted.contains(&id)) {
                continue;
            }
            let (claims, unpacked) = self.looked_at(&metadata, &body, &mut room)?;
            if let Some(unpacked) = unpacked {
                (metadata, body) = unpacked;
            }
            let Some(dictionary) = message(&metadata)?.header_as_dictionary_batch() else {
                if self.is_file {
                    room.grow(&mut self.batches, 1).map_err(DataError::TooMuch)?;
                    self.batches.push(start);
                }
                // In a file, a dictionary may stand behind its rows.
                if self.is_file && !(self.waiting.is_empty() && self.has_all()) {
                    let waiting = Waiting { metadata, body, more: claims.more };
                    self.held += waiting.bytes();
                    self.waiting.push_back(waiting);
                    continue;
                }
                return self.batch(&metadata, body, room).map(Some);
            };
            let body = Buffer::from_vec(body);
            // A dictionary takes the place of the one before, or goes behind it, which is there twice while that is done.
            let (id, own) = (dictionary.id(), claims.more + body.len() as u64);
            let before = self.sizes.get(&id).copied().unwrap_or(0);
            let kept = if dictionary.isDelta() { before } else { 0 };
            room.could(kept).map_err(DataError::TooMuch)?;
            read_dictionary(&body, dictionary, &self.schema, &mut self.dictionaries, &self.version)
                .map_err(of_arrow)?;
            self.sizes.insert(id, kept + own);
            self.held = self.held - before + kept + own;
        }
    }

    /// Whether the dictionaries have come that are wanted.
    fn has_all(&self) -> bool {
        self.wanted.iter().all(|id| self.dictionaries.contains_key(id))
    }

    /// The rows of a message.
    fn batch<'m>(&mut self, metadata: &[u8], body: Vec<u8>, room: Room<'m>) -> Result<Batch<'m>, DataError> {
        let message = message(metadata)?;
        let Some(batch) = message.header_as_record_batch() else { return damaged("a message has no rows") };
        let (only, schema, body) = (Some(self.only.as_slice()), self.schema.clone(), Buffer::from_vec(body));
        let rows = read_record_batch(&body, batch, schema, &self.dictionaries, only, &self.version);
        let rows = rows.map_err(of_arrow)?;
        self.rows += rows.num_rows() as u64;
        Ok(Batch { rows, _room: room })
    }

    /// Looks at what a message claims, and takes room for it. What zstd has compressed is another message then, in which
    /// it is not.
    #[expect(clippy::type_complexity, reason = "metadata and a body")]
    fn looked_at(
        &self,
        metadata: &[u8],
        body: &[u8],
        room: &mut Room<'_>,
    ) -> Result<(Claims, Option<(Vec<u8>, Vec<u8>)>), DataError> {
        let message = message(metadata)?;
        let (batch, claims) = if let Some(batch) = message.header_as_record_batch() {
            (batch, checked(&batch, body, self.schema.fields(), &self.only, self.version)?)
        } else if let Some(dictionary) = message.header_as_dictionary_batch() {
            #[expect(deprecated, reason = "there is no other way yet to ask whose dictionary it is")]
            let whose = self.schema.fields_with_dict_id(dictionary.id());
            let values = match whose.first().map(|f| f.data_type()) {
                Some(DataType::Dictionary(_, values)) => Field::new("", (**values).clone(), true),
                _ => return damaged("a dictionary is of no column"),
            };
            let Some(batch) = dictionary.data() else { return damaged("a dictionary has no data") };
            (batch, checked(&batch, body, &Fields::from(vec![values]), &[0], self.version)?)
        } else {
            return damaged("a message is neither a record batch nor a dictionary");
        };
        room.take(claims.more).map_err(DataError::TooMuch)?;
        let unpacked = match claims.zstd {
            true => Some(zstd::unpack(&batch, metadata, body, &claims, room)?),
            false => None,
        };
        Ok((claims, unpacked))
    }

    /// The metadata of the next message; none at the end.
    fn metadata(&mut self, from: &mut dyn Read, room: &mut Room<'_>) -> Result<Option<Vec<u8>>, DataError> {
        let mut word = [0; 4];
        match self.begun.take() {
            Some(begun) => word = begun,
            None => self.exactly(from, &mut word)?,
        }
        if word == CONTINUATION {
            self.exactly(from, &mut word)?;
        }
        match i32::from_le_bytes(word) {
            0 => Ok(None),
            length => match u64::try_from(length).ok().filter(|n| *n <= LONGEST_METADATA) {
                Some(length) => self.body(from, length, room).map(Some),
                None => damaged(format!("a message of {length} bytes of metadata")),
            },
        }
    }

    /// The metadata of a schema that nothing stands before, as Polars writes it at the beginning of a file: it goes as far
    /// as the next message.
    fn bare_schema(&mut self, from: &mut dyn Read, room: &mut Room<'_>) -> Result<Vec<u8>, DataError> {
        let mut bytes = self.begun.take().unwrap_or_default().to_vec();
        while (bytes.len() as u64) < LONGEST_METADATA {
            let mut word = [0; 4];
            let aligned = self.at.is_multiple_of(8);
            self.exactly(from, &mut word)?;
            if aligned && word == CONTINUATION && message(&bytes).is_ok() {
                self.begun = Some(word);
                return Ok(bytes);
            }
            room.grow(&mut bytes, word.len()).map_err(DataError::TooMuch)?;
            bytes.extend_from_slice(&word);
        }
        damaged("its schema has no end")
    }

    /// How long the body of a message is, which must be there and for which there must be room.
    fn body_length(&self, message: &ipc::Message<'_>, room: &Room<'_>) -> Result<u64, DataError> {
        let Ok(length) = u64::try_from(message.bodyLength()) else {
            return damaged(format!("a message of {} bytes", message.bodyLength()));
        };
        match self.len {
            Some(len) if length > len.saturating_sub(self.at) => Err(DataError::Unreadable(format!(
                "it is truncated: a message needs {length} bytes and there are {}",
                len.saturating_sub(self.at)
            ))),
            _ => room.could(length).map(|()| length).map_err(DataError::TooMuch),
        }
    }

    /// So many bytes, in memory that grows with what is there.
    fn body(&mut self, from: &mut dyn Read, length: u64, room: &mut Room<'_>) -> Result<Vec<u8>, DataError> {
        let length = usize::try_from(length).map_err(|_| DataError::TooMuch(room.never(length)))?;
        let mut bytes = Vec::new();
        if self.len.is_some_and(|len| length as u64 <= len.saturating_sub(self.at)) {
            room.grow(&mut bytes, length).map_err(DataError::TooMuch)?;
        }
        while bytes.len() < length {
            let part = AT_ONCE.min(length - bytes.len());
            room.grow(&mut bytes, part).map_err(DataError::TooMuch)?;
            let before = bytes.len();
            from.take(part as u64).read_to_end(&mut bytes).map_err(unreadable)?;
            self.at += (bytes.len() - before) as u64;
            if bytes.len() - before < part {
                return Err(self.cut());
            }
        }
        Ok(bytes)
    }

    fn exactly(&mut self, from: &mut dyn Read, bytes: &mut [u8]) -> Result<(), DataError> {
        from.read_exact(bytes).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => self.cut(),
            _ => unreadable(e),
        })?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn cut(&self) -> DataError {
        let rows = match self.rows {
            0 => String::new(),
            n => format!(" after {n} rows"),
        };
        DataError::Unreadable(format!("it is truncated: the end of its data is missing{rows}"))
    }

    /// What stands behind the last batch: nothing, or a footer that lists the batches.
    fn end(&mut self, from: &mut dyn Read, room: &mut Room<'_>) -> Result<(), DataError> {
        let mut rest = Vec::new();
        let most = if self.is_file { LONGEST_METADATA } else { 1 };
        let mut part = vec![0; 1 << 12];
        while (rest.len() as u64) < most {
            match from.read(&mut part) {
                Ok(0) => break,
                Ok(n) => {
                    room.grow(&mut rest, n).map_err(DataError::TooMuch)?;
                    rest.extend_from_slice(&part[..n]);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(unreadable(e)),
            }
        }
        if !self.is_file {
            return match rest.is_empty() {
                true => Ok(()),
                false => damaged("it goes on behind the end of its data"),
            };
        }
        let Some((rest, length)) = rest.strip_suffix(MAGIC).and_then(<[u8]>::split_last_chunk::<4>) else {
            return Err(self.cut());
        };
        if usize::try_from(i32::from_le_bytes(*length)) != Ok(rest.len()) {
            return damaged("its footer has another length than it says");
        }
        let Ok(footer) = ipc::root_as_footer(rest) else { return damaged("its footer does not read") };
        let listed = footer.recordBatches().into_iter().flatten().map(|b| u64::try_from(b.offset()).ok());
        match listed.eq(self.batches.iter().copied().map(Some)) {
            true => Ok(()),
            false => damaged("its footer lists other record batches than it has"),
        }
    }
}

pub fn not_arrow() -> DataError {
    DataError::Unreadable(
        "it is not in Arrow's IPC format (its first bytes are neither ARROW1 nor those of a stream)".into(),
    )
}

fn unreadable(e: io::Error) -> DataError {
    DataError::Unreadable(reason(&e))
}

fn message(metadata: &[u8]) -> Result<ipc::Message<'_>, DataError> {
    ipc::root_as_message(metadata)
        .map_err(|_| DataError::Unreadable("it is damaged: the metadata of a message do not read".into()))
}
