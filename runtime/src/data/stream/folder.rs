//! The files of a folder as one stream: the items of the first by its name, then those of the next.
//!
//! What is said after the folder's name is said of each file (`--input xs=days:f32[_,3]`). Files whose names begin with a
//! point are left out, and so are those of no bytes and folders within.

use super::super::{DataError, Place};
use super::{Opened, open};
use crate::budget::Budget;
use crate::data::elements::reason;
use crate::data::source::Meter;
use crate::stream::Piece;
use crate::stream::items::{InMemory, Items, Layout};
use remc_base::{ArrTy, Value};
use std::path::{Path, PathBuf};

/// The items of several files.
pub struct InFolder {
    places: Vec<Place>,
    /// The file that is read, and its number.
    now: Box<dyn Items>,
    number: usize,
    layout: Vec<Layout>,
    name: String,
    wanted: ArrTy,
    /// What a file may take that is read as a whole.
    room: u64,
}

impl InFolder {
    /// Opens the first file; a value of no items is beside.
    ///
    /// # Errors
    /// A folder without files, or what is wrong with the first, which is named.
    pub fn open(folder: &Place, name: &str, wanted: &ArrTy, budget: &Budget) -> Result<Opened, DataError> {
        let places: Vec<Place> = files(&folder.path)?
            .into_iter()
            .map(|path| Place { path, selector: folder.selector.clone() })
            .collect();
        let Some(first) = places.first() else {
            return Err(DataError::Unreadable("it is a folder without files".into()));
        };
        let within = |e: DataError| DataError::Unreadable(format!("its file `{}`: {e}", shown(first)));
        let room = budget.left();
        let (now, none) = items(first, name, wanted, &Budget::new(room)).map_err(within)?;
        let layout = now.layout().to_vec();
        let (name, wanted) = (name.to_owned(), wanted.clone());
        let all = InFolder { places, now, number: 0, layout, name, wanted, room };
        Ok(Opened::Items(Box::new(all), none))
    }

    fn go_to(&mut self, number: usize) -> Result<(), String> {
        let place = &self.places[number];
        let (mut next, _) = items(place, &self.name, &self.wanted, &Budget::new(self.room))
            .map_err(|e| format!("`{}`: {e}", shown(place)))?;
        // Of what has no items nobody knows what they would be.
        if next.layout() != self.layout && next.read(1, Piece::default())?.count > 0 {
            return Err(format!(
                "`{}` has items of another shape than `{}`",
                shown(place),
                shown(&self.places[0])
            ));
        }
        (self.now, self.number) = (next, number);
        Ok(())
    }
}

impl Items for InFolder {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize, mut used: Piece) -> Result<Piece, String> {
        loop {
            let piece = self.now.read(most, std::mem::take(&mut used))?;
            if piece.count > 0 || self.number + 1 == self.places.len() {
                return Ok(piece);
            }
            self.go_to(self.number + 1)?;
        }
    }

    fn rewind(&mut self) -> Result<(), String> {
        self.go_to(0)
    }
}

/// The files of a folder in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let unreadable = |e: std::io::Error| DataError::Unreadable(reason(&e));
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // Where a link leads to is what counts.
        let there = std::fs::metadata(entry.path()).map_err(unreadable)?;
        if there.is_file() && there.len() > 0 {
            all.push(entry.path());
        }
    }
    all.sort();
    Ok(all)
}

/// The items of one file, and a value of none of them.
fn items(
    place: &Place,
    name: &str,
    wanted: &ArrTy,
    budget: &Budget,
) -> Result<(Box<dyn Items>, Value), DataError> {
    match open(place, name, wanted, &Meter::default(), budget)? {
        Opened::Items(items, none) => Ok((items, none)),
        Opened::Value(value) => {
            let mut none = value.clone();
            none.data = none.data.gather(0..0);
            none.shape.first_mut().into_iter().for_each(|n| *n = 0);
            let all = InMemory::new(vec![value], vec![None]);
            let all =
                all.ok_or_else(|| DataError::Unreadable("it holds no numbers, texts or lines".into()))?;
            Ok((Box::new(all), none))
        }
    }
}

fn shown(place: &Place) -> String {
    place.path.display().to_string()
}
