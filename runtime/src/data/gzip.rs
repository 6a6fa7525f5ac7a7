//! Compressed files, as gzip writes them (RFC 1952): of any format, read as their bytes come, and written where a name ends
//! in `.gz`.
//!
//! A file is known by its first bytes, `1f 8b`; one of raw numbers, which may begin as they like, by the ending `.gz` of its
//! name. How much is in it turns out at its end. There is a way back by beginning again, of a file that is no pipe.

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

pub const MAGIC: &[u8] = &[0x1f, 0x8b];

type Packed = BufReader<Chain<Cursor<Vec<u8>>, File>>;

/// What is in a compressed file.
pub struct Gzip {
    /// `None` where it could not be gone back in.
    from: Option<MultiGzDecoder<Packed>>,
    at: u64,
    is_file: bool,
}

impl Gzip {
    /// A file, of which these first bytes have been read if it is a pipe.
    pub fn new(start: Vec<u8>, file: File, is_file: bool) -> Gzip {
        let packed = BufReader::new(Cursor::new(start).chain(file));
        Gzip { from: Some(MultiGzDecoder::new(packed)), at: 0, is_file }
    }
}

impl Read for Gzip {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let Some(from) = &mut self.from else { return Err(io::ErrorKind::NotSeekable.into()) };
        let n = from.read(to).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("its compressed data ends too early"),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                io::Error::other("its compressed data is damaged")
            }
            _ => e,
        })?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Gzip {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(to) => to,
            SeekFrom::Current(0) if self.is_file => return Ok(self.at),
            _ => return Err(io::ErrorKind::NotSeekable.into()),
        };
        let Some(from) = self.from.take().filter(|_| self.is_file) else {
            return Err(io::ErrorKind::NotSeekable.into());
        };
        let (_, mut file) = from.into_inner().into_inner().into_inner();
        file.rewind()?;
        *self = Gzip::new(Vec::new(), file, true);
        io::copy(&mut self.take(to), &mut io::sink())
    }
}

/// A name without the ending of a compressed file.
pub fn unzipped(path: &Path) -> Option<&Path> {
    let zipped = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    zipped.then(|| Path::new(path.file_stem().unwrap_or(OsStr::new(""))))
}

/// What is written to a file of this name: compressed, if it ends in `.gz`.
///
/// # Errors
/// What writing gives.
pub fn packed(
    path: &Path,
    out: &mut dyn Write,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if unzipped(path).is_none() {
        return content(out);
    }
    let mut packed = GzEncoder::new(out, Compression::default());
    content(&mut packed)?;
    packed.finish().map(drop)
}

/// The first bytes of a file, as long as `more` may say what it is.
pub fn first_bytes(from: &mut dyn Read, more: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    while more(&start) && (&mut *from).take(1).read_to_end(&mut start)? > 0 {}
    Ok(start)
}

/// Whether a file that begins so may be a compressed one.
pub fn may_start(start: &[u8]) -> bool {
    start.len() < MAGIC.len() && MAGIC.starts_with(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::data::source::Meter;
    use crate::data::stream::{Opened, open};
    use crate::data::{DataError, Place, read};
    use crate::stream::Piece;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use remc_base::value::Data;
    use remc_base::{ArrTy, AtomTy, BaseTy, Dim, IVar, Shape, Value};
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut to = GzEncoder::new(Vec::new(), Compression::default());
        to.write_all(bytes).unwrap();
        to.finish().unwrap()
    }

    /// The sum of an array, and that of the items of a stream, gone through twice.
    fn sums(name: &str, bytes: &[u8], selector: Option<&str>) -> Result<[f64; 3], String> {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { path: folder.path().join(name), selector: selector.map(str::to_owned) };
        std::fs::write(&place.path, bytes).unwrap();
        let (meter, budget) = (Meter::default(), Budget::new(1 << 30));
        let wanted = ArrTy::new(AtomTy::Base(BaseTy::F64), Shape::of_dims([Dim::rigid(IVar::dim(0, "n"))]));
        let of = |v: &Value| match &v.data {
            Data::F64(all) => all.iter().sum::<f64>(),
            other => panic!("{other:?}"),
        };
        let all = read(&place, "xs", &wanted, &meter, &budget).map_err(|e: DataError| e.to_string())?;
        let mut out = [of(&all), 0.0, 0.0];
        let Opened::Items(mut items, _) =
            open(&place, "xs", &wanted, &meter, &budget).map_err(|e| e.to_string())?
        else {
            return Err("no stream".into());
        };
        for sum in &mut out[1..] {
            loop {
                let piece = items.read(1000, Piece::default())?;
                if piece.count == 0 {
                    break;
                }
                let words = piece.arrays[0].as_chunks::<8>().0.iter();
                *sum += words.map(|b| f64::from_le_bytes(*b)).sum::<f64>();
            }
            items.rewind()?;
        }
        Ok(out)
    }

    #[test]
    fn compressed_files_are_what_is_in_them() {
        let lines: String = (0..20_000).map(|n| format!("{n}\n")).collect();
        let raw: Vec<u8> = (0..20_000).flat_map(|n| f64::from(n).to_le_bytes()).collect();
        let all = Ok([199_990_000.0; 3]);
        assert_eq!(sums("x.csv.gz", &packed(lines.as_bytes()), None), all);
        assert_eq!(sums("x.dat", &packed(lines.as_bytes()), Some("csv")), all);
        assert_eq!(sums("x.raw.gz", &packed(&raw), Some("f64[_]")), all);
        assert_eq!(sums("x.gz", &packed(&raw), Some("f64[20000]")), all);
        // Several parts, one after the other, are one file; and one that is not compressed may have the ending.
        assert_eq!(sums("x.csv.gz", &[packed(b"1\n"), packed(b"2\n")].concat(), None), Ok([3.0; 3]));
        assert_eq!(sums("x.csv.gz", b"1\n2\n", None), Ok([3.0; 3]));
        // Raw numbers may begin as they like.
        let mut number = MAGIC.to_vec();
        number.extend([0, 0, 0, 0, 0, 0x40]);
        let value = f64::from_le_bytes(number.clone().try_into().unwrap());
        assert_eq!(sums("x.raw", &number, Some("f64[_]")), Ok([value; 3]));
    }

    #[test]
    fn what_is_damaged_is_told() {
        let lines: String = (0..20_000).map(|n| format!("{n}\n")).collect();
        let whole = packed(lines.as_bytes());
        let cut = sums("x.csv.gz", &whole[..whole.len() / 2], None).unwrap_err();
        assert!(cut.contains("its compressed data ends too early"), "{cut}");
        let mut other = whole.clone();
        let last = other.len() - 6;
        other[last] ^= 1;
        let damaged = sums("x.csv.gz", &other, None).unwrap_err();
        assert!(damaged.contains("its compressed data is damaged"), "{damaged}");
    }
}
