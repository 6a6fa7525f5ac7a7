//! Inputs, kept as `.npy` files so that all contenders read the same bytes.
//!
//! The generator is splitmix64 (Steele, Lea, Flood 2014): the i-th number depends on the seed and i alone, so
//! that the same row has the same data on every machine.

use crate::cases::{Array, Case, Dtype, Input, Source};
use crate::places;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Where an input is, or what it is.
#[derive(Clone, PartialEq, Debug)]
pub enum Given {
    File(PathBuf),
    Scalar(i64),
}

/// The inputs of a row with their names, generated if they are not there yet.
pub fn inputs(case: &Case, cache: &Path) -> io::Result<Vec<(&'static str, Given)>> {
    case.inputs
        .iter()
        .map(|input| match input {
            Input::Scalar { name, value } => Ok((*name, Given::Scalar(*value))),
            Input::Array { name, source: Source::Example(file), .. } => {
                Ok((*name, Given::File(places::example_data(file))))
            }
            Input::Array { name, array, source: Source::Random(seed) } => {
                Ok((*name, Given::File(random_file(array, *seed, &cache.join("data"))?)))
            }
            Input::Array { name, source: Source::Written, .. } => {
                Err(io::Error::other(format!("nothing says what `{name}` is")))
            }
        })
        .collect()
}

/// The file of numbers of this seed, generated if it is not there yet.
pub fn random_file(array: &Array, seed: u64, folder: &Path) -> io::Result<PathBuf> {
    let shape: Vec<String> = array.shape.iter().map(usize::to_string).collect();
    let path = folder.join(format!("{}-{}-seed{seed}.npy", array.dtype, shape.join("x")));
    if path.is_file() {
        return Ok(path);
    }
    fs::create_dir_all(folder)?;
    // Under another name until it is whole: an interrupted run must not leave a short file.
    let partial = path.with_extension(format!("partial-{}", std::process::id()));
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&partial)?);
    out.write_all(&header(array))?;
    for i in 0..array.len() as u64 {
        let bits = splitmix(seed, i);
        match array.dtype {
            // The upper bits as a fraction in [0, 1), exactly, and then in [-1, 1).
            Dtype::F32 => {
                out.write_all(&((bits >> 40) as f32 / (1u32 << 24) as f32 * 2.0 - 1.0).to_le_bytes())?
            }
            Dtype::F64 => {
                out.write_all(&((bits >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0).to_le_bytes())?
            }
            Dtype::I64 => out.write_all(&((bits >> 32) as i64 % 2000 - 1000).to_le_bytes())?,
            Dtype::U8 => out.write_all(&[(bits >> 56) as u8])?,
        }
    }
    out.into_inner().map_err(|e| e.into_error())?.sync_all()?;
    fs::rename(&partial, &path)?;
    Ok(path)
}

/// Number `i` of a sequence of random bits.
pub fn splitmix(seed: u64, i: u64) -> u64 {
    let mut z =
        seed.wrapping_mul(0xd1b5_4a32_d192_ed03).wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The header of version 1.0 of NumPy's format, for an array in row-major order.
fn header(array: &Array) -> Vec<u8> {
    let shape: String = array.shape.iter().map(|d| format!("{d},")).collect();
    let mut text =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({shape}), }}", array.dtype.descr());
    // Magic, version, length and text fill whole lines of 64 bytes, the last byte being a line feed.
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// Writes an array whose atoms are these bytes.
pub fn write(path: &Path, array: &Array, atoms: &[u8]) -> io::Result<()> {
    let mut out = File::create(path)?;
    out.write_all(&header(array))?;
    out.write_all(atoms)
}

/// The atoms of an array of this type that are these numbers, as far as it has them.
pub fn atoms(dtype: Dtype, numbers: impl Iterator<Item = f64>) -> Vec<u8> {
    match dtype {
        Dtype::F32 => numbers.flat_map(|x| (x as f32).to_le_bytes()).collect(),
        Dtype::F64 => numbers.flat_map(f64::to_le_bytes).collect(),
        Dtype::I64 => numbers.flat_map(|x| (x as i64).to_le_bytes()).collect(),
        Dtype::U8 => numbers.map(|x| x as u8).collect(),
    }
}

/// The numbers that atoms of this type are.
pub fn numbers(dtype: Dtype, atoms: &[u8]) -> impl Iterator<Item = f64> {
    let number = move |b: &[u8]| match dtype {
        Dtype::F32 => b.try_into().map_or(f64::NAN, |b| f64::from(f32::from_le_bytes(b))),
        Dtype::F64 => b.try_into().map_or(f64::NAN, f64::from_le_bytes),
        Dtype::I64 => b.try_into().map_or(f64::NAN, |b| i64::from_le_bytes(b) as f64),
        Dtype::U8 => b.first().copied().map_or(f64::NAN, f64::from),
    };
    atoms.chunks_exact(dtype.bytes()).map(number)
}

/// Reads the atoms of an `.npy` file that must hold just such an array.
pub fn read_into(path: &Path, array: &Array, atoms: &mut [u8]) -> io::Result<()> {
    let mut file = File::open(path)?;
    let wrong =
        |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()));
    let mut start = [0u8; 10];
    file.read_exact(&mut start)?;
    if &start[..8] != b"\x93NUMPY\x01\x00" {
        return Err(wrong("not an .npy file of version 1.0"));
    }
    let mut text = vec![0u8; u16::from_le_bytes([start[8], start[9]]).into()];
    file.read_exact(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    if !text.contains(array.dtype.descr()) || !text.contains("'fortran_order': False") {
        return Err(wrong(&format!("not of {} in row-major order: {}", array.dtype, text.trim())));
    }
    if atoms.len() != array.bytes() {
        return Err(wrong("the memory for it is of another size"));
    }
    file.read_exact(atoms)?;
    if file.read(&mut [0u8])? != 0 {
        return Err(wrong(&format!("more than {:?}", array.shape)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_the_same_each_time_and_reads_back() {
        let folder = std::env::temp_dir().join(format!("remc-bench-data-{}", std::process::id()));
        let array = Array::new(Dtype::F32, &[3, 5]);
        let first = fs::read(random_file(&array, 1, &folder).unwrap()).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let path = random_file(&array, 1, &folder).unwrap();
        assert_eq!(first, fs::read(&path).unwrap());
        assert_eq!(first.len() % 64, array.bytes() % 64);

        let mut atoms = vec![0u8; array.bytes()];
        read_into(&path, &array, &mut atoms).unwrap();
        let floats: Vec<f32> =
            atoms.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        assert!(floats.iter().all(|x| (-1.0..1.0).contains(x)), "{floats:?}");
        let other = fs::read(random_file(&array, 2, &folder).unwrap()).unwrap();
        assert_ne!(first, other);
        assert!(read_into(&path, &Array::new(Dtype::F64, &[3, 5]), &mut atoms).is_err());
        assert!(read_into(&path, &Array::new(Dtype::F32, &[2, 5]), &mut atoms[..40]).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn numbers_become_atoms_and_atoms_numbers() {
        for dtype in [Dtype::F32, Dtype::F64, Dtype::I64, Dtype::U8] {
            let bytes = atoms(dtype, [0.0, 3.0, 250.0].into_iter());
            assert_eq!(bytes.len(), 3 * dtype.bytes());
            assert_eq!(numbers(dtype, &bytes).collect::<Vec<_>>(), [0.0, 3.0, 250.0]);
        }
    }

    #[test]
    fn a_scalar_has_an_empty_shape() {
        let text = header(&Array::new(Dtype::I64, &[]));
        assert!(String::from_utf8_lossy(&text).contains("'shape': ()"));
    }
}
