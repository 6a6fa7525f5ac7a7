use super::ahead::Ahead;
use super::chunk::Chunk;
use super::items::{InFile, InMemory, InText, Items, Layout, append, part};
use super::*;
use remc_base::AtomTy;
use remc_base::value::Data;
use std::io::Cursor;

fn ints(data: &[i64]) -> Value {
    Value { atom: AtomTy::INT, shape: vec![data.len()], data: Data::I64(data.to_vec()) }
}

/// Rows of 2, 0, 3 and 1 elements: their lengths, where they begin, and the elements.
fn rows() -> InMemory {
    let arrays = vec![ints(&[2, 0, 3, 1]), ints(&[0, 2, 2, 5]), ints(&[10, 11, 12, 13, 14, 15])];
    InMemory::new(arrays, vec![None, None, Some(1)]).unwrap()
}

fn numbers(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect()
}

#[test]
fn a_piece_of_rows_counts_from_its_own_first_element() {
    let mut all = rows();
    let first = all.read(2, Piece::default()).unwrap();
    assert_eq!(
        (first.count, numbers(&first.arrays[1]), numbers(&first.arrays[2])),
        (2, vec![0, 2], vec![10, 11])
    );
    let rest = all.read(9, Piece::default()).unwrap();
    let read: Vec<Vec<i64>> = rest.arrays.iter().map(|a| numbers(a)).collect();
    assert_eq!(read, [vec![3, 1], vec![0, 3], vec![12, 13, 14, 15]]);
    assert_eq!(all.read(9, Piece::default()).unwrap().count, 0);
}

#[test]
fn pieces_put_together_are_the_whole_wherever_they_were_cut() {
    let layout = rows().layout().to_vec();
    let whole = rows().read(4, Piece::default()).unwrap();
    let arrays: Vec<&[u8]> = whole.arrays.iter().map(Vec::as_slice).collect();
    for a in 0..=4 {
        for b in a..=4 {
            let mut made = part(&layout, &arrays, 4, (0, a));
            append(&layout, &mut made, part(&layout, &arrays, 4, (a, b)));
            append(&layout, &mut made, part(&layout, &arrays, 4, (b, 4)));
            assert_eq!((made.count, &made.arrays), (4, &whole.arrays), "cut at {a} and {b}");
        }
    }
}

#[test]
fn what_is_read_ahead_comes_in_order_whatever_is_pulled_at_a_time() {
    let all: Vec<i64> = (0..1000).collect();
    let mut ahead = Ahead::new(Box::new(InMemory::new(vec![ints(&all)], vec![None]).unwrap()));
    for round in 0..2 {
        let (mut got, mut n) = (Vec::new(), 1);
        loop {
            let piece = ahead.pull(got.len() as u64, n, None).unwrap();
            if piece.count == 0 {
                break;
            }
            assert!(piece.count as u64 <= n);
            got.extend(numbers(&piece.arrays[0]));
            piece.arrays.into_iter().for_each(|a| ahead.take_back(a));
            n = n * 3 % 101 + 1;
        }
        assert_eq!(got, all, "round {round}");
    }
    assert!(ahead.pull(5, 1, None).unwrap_err().contains("item 5"));
}

#[test]
fn a_file_that_is_cut_off_says_where() {
    let bytes: Vec<u8> = (0..20u8).collect();
    let file = |length| {
        let layout = Layout::items(BaseTy::I64, Vec::new());
        InFile::new(Cursor::new(bytes.clone()), "f".into(), layout, length, false)
    };
    let mut open = file(None);
    assert_eq!(open.read(2, Piece::default()).unwrap().count, 2);
    assert_eq!(
        open.read(2, Piece::default()).unwrap_err(),
        "`f` ends within item 2: it has 4 of its 8 bytes"
    );
    let mut known = InFile::new(
        Cursor::new(bytes[..16].to_vec()),
        "f".into(),
        Layout::items(BaseTy::I64, Vec::new()),
        Some((5, "its header")),
        false,
    );
    let said = known.read(9, Piece::default()).unwrap_err();
    assert_eq!(said, "`f` is cut off: its header says 5 items, and there are 2");
}

#[test]
fn a_character_is_never_cut() {
    let text = "aé→𝄞 ".repeat(50);
    let mut from = InText::new(Cursor::new(text.clone().into_bytes()), "t".into());
    let mut read = String::new();
    loop {
        let piece = from.read(1, Piece::default()).unwrap();
        if piece.count == 0 {
            break;
        }
        let codes = piece.arrays[0].as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b));
        read.extend(codes.filter_map(char::from_u32));
    }
    assert_eq!(read, text);
    let mut broken = InText::new(Cursor::new(b"ab\xff".to_vec()), "t".into());
    let said = broken.read(9, Piece::default()).unwrap_err();
    assert_eq!(said, "`t` is no text in UTF-8, after its first 2 characters");
}

#[test]
fn what_is_kept_can_be_pulled() {
    let kept = Begin::Kept(vec![(BaseTy::I64, 0)]);
    let mut all = Channels::new(vec![kept], Chunk::new(None, 1 << 20));
    for part in [[1i64, 2], [3, 4]] {
        let bytes: Vec<u8> = part.iter().flat_map(|n| n.to_le_bytes()).collect();
        all.push(0, &[Pushed { base: BaseTy::I64, dims: &[2], bytes: &bytes }]).unwrap();
    }
    let piece = all.pull(0, 0, Take::All).unwrap();
    assert_eq!((piece.count, numbers(&piece.arrays[0])), (4, vec![1, 2, 3, 4]));
    assert_eq!(numbers(&all.pull(0, 1, Take::Exactly(2)).unwrap().arrays[0]), [2, 3]);
    assert_eq!(all.kept(0), Some(ints(&[1, 2, 3, 4])));
    all.restart();
    assert_eq!(all.pull(0, 0, Take::All).unwrap().count, 0);
}

/// Items that come two at a time, from a pipe or from a file.
struct Slow {
    layout: [Layout; 1],
    left: usize,
    pipe: bool,
}

impl Items for Slow {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize, _: Piece) -> Result<Piece, String> {
        let count = most.min(2).min(self.left);
        self.left -= count;
        Ok(Piece { count, arrays: vec![vec![0; 8 * count]] })
    }

    fn rewind(&mut self) -> Result<(), String> {
        Err("no way back".into())
    }

    fn rewinds(&self) -> bool {
        !self.pipe
    }
}

#[test]
fn a_piece_ends_where_a_pipe_waits_or_it_is_large() {
    let layout = [Layout::items(BaseTy::I64, Vec::new())];
    let pull = |pipe: bool, enough: Option<(u64, usize)>| {
        let mut from = Ahead::new(Box::new(Slow { layout: layout.clone(), left: 100, pipe }));
        from.pull(0, 50, enough).unwrap().count
    };
    assert_eq!(pull(true, Some((1, 1 << 20))), 2);
    assert_eq!(pull(true, Some((3, 1 << 20))), 3);
    assert_eq!(pull(false, Some((1, 1 << 20))), 50);
    assert_eq!(pull(false, Some((1, 64))), 8);
    assert_eq!(pull(false, Some((5, 64))), 5);
    assert_eq!(pull(true, None), 50);
}
