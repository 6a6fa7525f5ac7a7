//! Messages that zstd has compressed, made into others that are not.
//!
//! The arrow crates read zstd with a library in C. Here a decoder in Rust takes its place: each buffer is written anew, as
//! one of a compressed message that is not compressed itself, behind the length -1; and where it is now is put into a
//! copy of the metadata.

use super::super::DataError;
use super::buffers::{Claims, bytes, damaged};
use crate::budget::Room;
use arrow_ipc as ipc;
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;

/// What stands before a buffer that is as it was.
const AS_IT_WAS: [u8; 8] = (-1i64).to_le_bytes();
/// What is behind it lies so.
const ALIGNED: usize = 16;
/// How much a decoder may keep to look back to, of a buffer that is smaller.
const LEAST_WINDOW: u64 = 8 << 20;

/// The metadata and the body of a message, from which the batch was read, without what nobody reads of it.
///
/// # Errors
/// What is damaged, or that there is no memory for it beside what it claims.
pub fn unpack(
    batch: &ipc::RecordBatch<'_>,
    metadata: &[u8],
    body: &[u8],
    claims: &Claims,
    room: &mut Room<'_>,
) -> Result<(Vec<u8>, Vec<u8>), DataError> {
    let (mut written, mut all) = (metadata.to_vec(), Vec::new());
    let Some(buffers) = batch.buffers() else { return damaged("a message has no buffers") };
    let largest = claims.read.values().copied().max().unwrap_or(0);
    room.could(largest).map_err(DataError::TooMuch)?;
    room.take(claims.read.len() as u64 * 2 * ALIGNED as u64).map_err(DataError::TooMuch)?;
    let mut places = Vec::new();
    for (k, buffer) in buffers.iter().enumerate() {
        let packed = bytes(buffer, body)?;
        let size = match claims.read.get(&k) {
            Some(size) if !packed.is_empty() => *size,
            _ => {
                places.push((0, 0));
                continue;
            }
        };
        let at = (all.len() + AS_IT_WAS.len()).next_multiple_of(ALIGNED) - AS_IT_WAS.len();
        all.resize(at, 0);
        all.extend_from_slice(&AS_IT_WAS);
        let (said, packed) = packed.split_at(AS_IT_WAS.len());
        match said == AS_IT_WAS {
            true => all.extend_from_slice(packed),
            false => decode(packed, size, &mut all)?,
        }
        places.push((at as i64, (all.len() - at) as i64));
    }
    // The places are pairs of numbers, one after the other, somewhere in the metadata.
    let table = buffers.bytes();
    let start = (table.as_ptr() as usize).wrapping_sub(metadata.as_ptr() as usize);
    let Some(table) = written.get_mut(start..).and_then(|m| m.get_mut(..table.len())) else {
        return damaged("the buffers of a message are nowhere");
    };
    for (entry, (at, length)) in table.as_chunks_mut::<16>().0.iter_mut().zip(places) {
        entry[..8].copy_from_slice(&at.to_le_bytes());
        entry[8..].copy_from_slice(&length.to_le_bytes());
    }
    Ok((written, all))
}

/// Appends what was compressed, which has so many bytes.
fn decode(packed: &[u8], size: u64, all: &mut Vec<u8>) -> Result<(), DataError> {
    let mut packed = packed;
    let before = all.len();
    let window = size.max(LEAST_WINDOW);
    let decoder = StreamingDecoder::new_with_max_window_size(&mut packed, window);
    let read = decoder.map_err(|e| e.to_string()).and_then(|decoder| {
        // A byte more would be too many.
        decoder.take(size + 1).read_to_end(all).map_err(|e| e.to_string())
    });
    match read {
        Ok(_) if (all.len() - before) as u64 == size => Ok(()),
        _ => damaged("what zstd has compressed does not read"),
    }
}
