//! ZIP archives, as far as `.npz` files need them: members stored or deflated, read and written.
//!
//! ```text
//! local header, name, bytes      for each member
//! central directory              one record for each member: name, sizes, checksum, where it begins
//! end of central directory       how many records there are, and where
//! ```
//!
//! Reading goes by the central directory, so that local headers without sizes (of archives that were written
//! as a stream) do no harm. Numbers that do not fit their 32 bits are 0xffffffff there and stand in the ZIP64
//! records. Written archives are stored, not compressed, as `numpy.savez` writes them; their bytes depend
//! on the members alone. The format is PKWARE's APPNOTE; its sections are named below.

use super::elements::reason;
use super::source::Source;
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// How an archive begins, one without members included.
pub const MAGICS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;
const END_SIZE: usize = 22;
const LOCATOR64_SIZE: usize = 20;
/// The longest list of members that is read, in bytes: of a million arrays.
const LONGEST_LIST: u64 = 64 << 20;
/// No byte of deflated data stands for more bytes.
const MOST_DEFLATED: u64 = 1032;
/// The tag of the extra field with 64-bit sizes (4.5.3).
const EXTRA64: u16 = 1;
/// The flag of encrypted members, and that of names in UTF-8 (4.4.4).
const ENCRYPTED: u16 = 1;
const UTF8: u16 = 1 << 11;
/// 1980-01-01, the first day that the format knows.
const DATE: u16 = 0x21;

/// What is wrong with an archive, as a clause that begins with "it" or "its".
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZipError(pub String);

impl fmt::Display for ZipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn wrong<T>(what: impl Into<String>) -> Result<T, ZipError> {
    Err(ZipError(what.into()))
}

impl From<io::Error> for ZipError {
    fn from(e: io::Error) -> ZipError {
        match e.kind() {
            io::ErrorKind::UnexpectedEof => ZipError("it is truncated".into()),
            _ => ZipError(reason(&e)),
        }
    }
}

/// What the central directory says of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    pub name: String,
    pub size: u64,
    compressed: u64,
    method: u16,
    flags: u16,
    crc: u32,
    header: u64,
}

/// The members of an archive.
pub fn members(from: &mut Source<'_>) -> Result<Vec<Member>, ZipError> {
    let (count, start, size) = end(from)?;
    if start.checked_add(size).is_none_or(|end| end > length(from)) {
        return wrong("its list of members lies outside of it");
    }
    if size > (from.budget().left() / 4).min(LONGEST_LIST) {
        return wrong(format!("its list of members, {size} bytes, is too long"));
    }
    let mut bytes = Vec::new();
    from.seek(SeekFrom::Start(start))?;
    from.take(size).read_to_end(&mut bytes)?;
    let mut fields = Fields(&bytes);
    let mut found = Vec::new();
    for _ in 0..count {
        found.push(member(&mut fields).ok_or_else(|| ZipError("its list of members is damaged".into()))?);
    }
    Ok(found)
}

/// The size of an archive, which has one: pipes are taken into memory first.
fn length(from: &Source<'_>) -> u64 {
    from.len().unwrap_or(0)
}

/// How many members there are, where their list begins, and its size.
fn end(from: &mut Source<'_>) -> Result<(u64, u64, u64), ZipError> {
    // The record is the last of the file; its comment has at most 2¹⁶ - 1 bytes.
    let len = length(from);
    let tail = len.min((END_SIZE + LOCATOR64_SIZE + 0xffff) as u64);
    let mut bytes = Vec::new();
    from.seek(SeekFrom::Start(len - tail))?;
    from.take(tail).read_to_end(&mut bytes)?;
    let mark = END.to_le_bytes();
    let ends_here = |at: usize| {
        let mut fields = Fields(bytes.get(at + END_SIZE - 2..)?);
        (fields.u16()? as usize == fields.0.len()).then_some(at)
    };
    let at = (0..bytes.len().saturating_sub(END_SIZE - 1))
        .rev()
        .filter(|at| bytes[*at..].starts_with(&mark))
        .find_map(ends_here);
    let Some(at) = at else {
        return wrong(
            "it is truncated or damaged: a zip archive ends in a list of its members, and it does not",
        );
    };
    let mut f = Fields(&bytes[at + 8..]);
    let found = (|| Some((f.u16()?, f.u16()?, f.u32()?, f.u32()?)))();
    let Some((here, count, size, start)) = found else { return wrong("it is truncated") };
    if count == u16::MAX || size == u32::MAX || start == u32::MAX {
        let locator = at.checked_sub(LOCATOR64_SIZE).map(|at| &bytes[at..]);
        if let Some(at) = locator.and_then(locator64) {
            return end64(from, at);
        }
    }
    if here != count {
        return wrong("it is one part of an archive of several");
    }
    Ok((count.into(), start.into(), size.into()))
}

/// Where the ZIP64 record of the end is (4.3.15).
fn locator64(bytes: &[u8]) -> Option<u64> {
    let mut f = Fields(bytes);
    (f.u32()? == LOCATOR64).then_some(())?;
    f.u32()?;
    f.u64()
}

/// The ZIP64 record of the end (4.3.14).
fn end64(from: &mut Source<'_>, at: u64) -> Result<(u64, u64, u64), ZipError> {
    let mut bytes = [0; 56];
    from.seek(SeekFrom::Start(at))?;
    from.read_exact(&mut bytes)?;
    let mut f = Fields(&bytes);
    let mut fields = || {
        (f.u32()? == END64).then_some(())?;
        f.skip(28)?;
        let (count, size, start) = (f.u64()?, f.u64()?, f.u64()?);
        Some((count, start, size))
    };
    fields().ok_or_else(|| ZipError("its list of members is damaged".into()))
}

/// A record of the central directory (4.3.12).
fn member(f: &mut Fields<'_>) -> Option<Member> {
    (f.u32()? == CENTRAL).then_some(())?;
    f.skip(4)?;
    let (flags, method) = (f.u16()?, f.u16()?);
    f.skip(4)?;
    let (crc, mut compressed, mut size) = (f.u32()?, f.u32()?.into(), f.u32()?.into());
    let (name, extra, comment) = (f.u16()?, f.u16()?, f.u16()?);
    f.skip(8)?;
    let mut header = f.u32()?.into();
    let name = String::from_utf8_lossy(f.take(name.into())?).into_owned();
    let mut extra = Fields(f.take(extra.into())?);
    f.skip(comment.into())?;
    while let (Some(tag), Some(length)) = (extra.u16(), extra.u16()) {
        let mut field = Fields(extra.take(length.into())?);
        if tag == EXTRA64 {
            for small in [&mut size, &mut compressed, &mut header] {
                if *small == u64::from(u32::MAX) {
                    *small = field.u64()?;
                }
            }
        }
    }
    Some(Member { name, size, compressed, method, flags, crc, header })
}

/// Little-endian numbers, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn skip(&mut self, n: usize) -> Option<()> {
        self.take(n).map(|_| ())
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

/// The bytes of a member, as they were before they were packed. They are checked when the last is read.
pub fn open<'a, 'm>(from: &'a mut Source<'m>, member: &Member) -> Result<Content<'a, 'm>, ZipError> {
    if member.flags & ENCRYPTED != 0 {
        return wrong(format!("its member `{}` is encrypted", member.name));
    }
    let mut bytes = [0; 30];
    from.seek(SeekFrom::Start(member.header))?;
    from.read_exact(&mut bytes)?;
    let mut f = Fields(&bytes);
    let mut after = || {
        (f.u32()? == LOCAL).then_some(())?;
        f.skip(22)?;
        Some(u64::from(f.u16()?) + u64::from(f.u16()?))
    };
    let damaged = || ZipError(format!("its member `{}` is not where its list of members says", member.name));
    let start = after().and_then(|n| member.header.checked_add(30 + n)).ok_or_else(damaged)?;
    if start.checked_add(member.compressed).is_none_or(|end| end > length(from)) {
        return wrong("it is truncated");
    }
    if member.size / MOST_DEFLATED > member.compressed {
        return wrong(format!(
            "its member `{}` is said to be {} bytes, more than its {} packed bytes can be",
            member.name, member.size, member.compressed
        ));
    }
    from.seek(SeekFrom::Start(start))?;
    let packed = from.take(member.compressed);
    let unpacked = match member.method {
        0 if member.size != member.compressed => return Err(damaged()),
        0 => Packed::Stored(packed),
        8 => Packed::Deflated(Box::new(DeflateDecoder::new(packed))),
        other => {
            return wrong(format!(
                "its member `{}` is compressed by method {other}; stored and deflated members are read",
                member.name
            ));
        }
    };
    Ok(Content { from: unpacked, crc: Crc::new(), wanted: member.crc, left: member.size })
}

enum Packed<'a, 'm> {
    Stored(io::Take<&'a mut Source<'m>>),
    Deflated(Box<DeflateDecoder<io::Take<&'a mut Source<'m>>>>),
}

/// A member that is being read.
pub struct Content<'a, 'm> {
    from: Packed<'a, 'm>,
    crc: Crc,
    wanted: u32,
    left: u64,
}

impl Content<'_, '_> {
    fn unpack(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match &mut self.from {
            Packed::Stored(from) => from.read(to),
            Packed::Deflated(from) => from.read(to).map_err(|_| damaged("its compressed data is damaged")),
        }
    }

    /// Nothing follows, and all was as it was written.
    fn finish(&mut self) -> io::Result<()> {
        if self.unpack(&mut [0])? > 0 {
            return Err(damaged("it holds more than the archive says"));
        }
        if self.crc.sum() != self.wanted {
            return Err(damaged("its checksum is wrong, so its bytes are damaged"));
        }
        Ok(())
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Read for Content<'_, '_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            self.finish()?;
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(to.len());
        let n = self.unpack(&mut to[..most])?;
        if n == 0 {
            return Err(damaged("its compressed data ends too early"));
        }
        self.crc.update(&to[..n]);
        self.left -= n as u64;
        Ok(n)
    }
}

/// Writes a member's bytes; called twice, for the checksum and the bytes.
pub type Writes<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'a;

/// Writes an archive of stored members.
pub fn write(members: &[(String, Box<Writes<'_>>)], out: &mut dyn Write) -> io::Result<()> {
    write_with(members, u32::MAX.into(), out)
}

/// … with the ZIP64 forms of numbers from `limit` on.
fn write_with(members: &[(String, Box<Writes<'_>>)], limit: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut directory = Vec::new();
    let mut at = 0;
    for (name, content) in members {
        let mut sum = Summed { crc: Crc::new(), size: 0 };
        content(&mut sum)?;
        let (size, crc) = (sum.size, sum.crc.sum());
        let name_size = u16::try_from(name.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let small = |n: u64| if n < limit { n as u32 } else { u32::MAX };
        // A local header has both sizes in 64 bits or neither (4.5.3).
        let local_extra = if size < limit { vec![] } else { extra64(&[size, size]) };
        let mut central_extra = local_extra.clone();
        if at >= limit {
            let sizes: &[u64] = if size < limit { &[] } else { &[size, size] };
            central_extra = extra64(&[sizes, &[at]].concat());
        }
        let common = |extra: &[u8]| {
            let mut b = Vec::new();
            let version: u16 = if extra.is_empty() { 20 } else { 45 };
            b.extend(version.to_le_bytes());
            b.extend(UTF8.to_le_bytes());
            // Stored, at midnight.
            b.extend([0; 4]);
            b.extend(DATE.to_le_bytes());
            b.extend(crc.to_le_bytes());
            b.extend(small(size).to_le_bytes());
            b.extend(small(size).to_le_bytes());
            b.extend(name_size.to_le_bytes());
            b.extend((extra.len() as u16).to_le_bytes());
            b
        };
        let local = [&LOCAL.to_le_bytes()[..], &common(&local_extra), name.as_bytes(), &local_extra].concat();
        out.write_all(&local)?;
        content(out)?;
        directory.extend(CENTRAL.to_le_bytes());
        directory.extend(45u16.to_le_bytes());
        directory.extend(common(&central_extra));
        // No comment, the first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(small(at).to_le_bytes());
        directory.extend(name.as_bytes());
        directory.extend(central_extra);
        at += local.len() as u64 + size;
    }
    out.write_all(&directory)?;
    let (count, size) = (members.len() as u64, directory.len() as u64);
    if count >= limit.min(u16::MAX.into()) || at >= limit || size >= limit {
        let mut b = END64.to_le_bytes().to_vec();
        b.extend(44u64.to_le_bytes());
        b.extend([45u16, 45].map(u16::to_le_bytes).concat());
        b.extend([0; 8]);
        b.extend([count, count, size, at].map(u64::to_le_bytes).concat());
        b.extend(LOCATOR64.to_le_bytes());
        b.extend([0; 4]);
        b.extend((at + size).to_le_bytes());
        b.extend(1u32.to_le_bytes());
        out.write_all(&b)?;
    }
    let small = |n: u64| if n < limit { n as u32 } else { u32::MAX };
    let count = if count < limit.min(u16::MAX.into()) { count as u16 } else { u16::MAX };
    let mut b = END.to_le_bytes().to_vec();
    b.extend([0; 4]);
    b.extend([count, count].map(u16::to_le_bytes).concat());
    b.extend([small(size), small(at)].map(u32::to_le_bytes).concat());
    b.extend([0; 2]);
    out.write_all(&b)
}

fn extra64(numbers: &[u64]) -> Vec<u8> {
    let mut b = EXTRA64.to_le_bytes().to_vec();
    b.extend((8 * numbers.len() as u16).to_le_bytes());
    b.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
    b
}

/// Counts and sums bytes that go nowhere.
struct Summed {
    crc: Crc,
    size: u64,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.crc.update(bytes);
        self.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::Meter;
    use super::*;

    fn archive(limit: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let write = |text: &'static str| -> Box<Writes<'static>> {
            Box::new(move |w: &mut dyn Write| w.write_all(text.as_bytes()))
        };
        write_with(&[("a.npy".into(), write("first")), ("λ".into(), write(""))], limit, &mut out).unwrap();
        out
    }

    fn contents(bytes: Vec<u8>) -> Result<Vec<(String, String)>, ZipError> {
        let meter = Meter::default();
        let budget = crate::budget::Budget::new(1 << 30);
        let mut source = Source::of_bytes(bytes, &meter, &budget);
        let all = members(&mut source)?;
        all.iter()
            .map(|m| {
                let mut text = String::new();
                open(&mut source, m)?.read_to_string(&mut text)?;
                Ok((m.name.clone(), text))
            })
            .collect()
    }

    #[test]
    fn small_and_large_forms_read_back() {
        let expected = vec![("a.npy".to_owned(), "first".to_owned()), ("λ".to_owned(), String::new())];
        // From 2³² bytes on; and as if every number were that large.
        for limit in [u64::from(u32::MAX), 3, 0] {
            assert_eq!(contents(archive(limit)), Ok(expected.clone()), "{limit}");
        }
        assert!(archive(0).len() > archive(3).len());
    }

    #[test]
    fn damage_is_found() {
        let good = archive(u32::MAX.into());
        let say = |bytes: &[u8]| contents(bytes.to_vec()).unwrap_err().0;
        assert!(say(&good[..good.len() - 1]).contains("truncated"));
        let mut flipped = good.clone();
        // The first byte of the first member: after its header and its name.
        flipped[30 + 5] ^= 1;
        assert_eq!(say(&flipped), "its checksum is wrong, so its bytes are damaged");
        let mut encrypted = good.clone();
        let at = good.windows(4).position(|w| w == CENTRAL.to_le_bytes()).unwrap();
        encrypted[at + 8] |= 1;
        assert_eq!(say(&encrypted), "its member `a.npy` is encrypted");
        let mut method = good;
        method[at + 10] = 93;
        assert!(say(&method).contains("by method 93"));
    }
}
