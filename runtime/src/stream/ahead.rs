//! Items read ahead: while a program computes with one piece, a thread reads the next.

use super::Piece;
use super::items::{Items, Layout, append, part};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

enum Ask {
    /// So many items, into the memory of a piece.
    Read(usize, Piece),
    Rewind,
}

/// Items on a thread of their own.
pub struct Ahead {
    layout: Vec<Layout>,
    item_bytes: u64,
    asks: Option<SyncSender<Ask>>,
    given: Receiver<Result<Piece, String>>,
    thread: Option<JoinHandle<()>>,
    /// Whether a piece has been asked for that has not come, and of how many items the last one was.
    open: bool,
    asked: usize,
    /// What has come and has not been pulled; whether there is no more.
    have: Piece,
    ended: bool,
    /// The number of the first item of it.
    at: u64,
    /// Whether anything has been read.
    begun: bool,
    /// Whether more may have to be waited for: it is a pipe.
    waits: bool,
    /// Memory that can be used again.
    used: Vec<Vec<u8>>,
}

impl Ahead {
    pub fn new(mut items: Box<dyn Items>) -> Ahead {
        let layout = items.layout().to_vec();
        let waits = !items.rewinds();
        let item_bytes = layout.iter().map(|l| l.bytes() as u64).sum();
        let (asks, asked) = sync_channel::<Ask>(2);
        let (give, given) = sync_channel(2);
        let work = move || {
            while let Ok(ask) = asked.recv() {
                let answer = match ask {
                    Ask::Read(n, used) => items.read(n, used),
                    Ask::Rewind => items.rewind().map(|()| Piece::default()),
                };
                if give.send(answer).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("stream".into()).spawn(work).ok();
        let have = Piece { count: 0, arrays: vec![Vec::new(); layout.len()] };
        let (open, ended, at, begun) = (false, false, 0, false);
        Ahead {
            layout,
            item_bytes,
            asks: Some(asks),
            given,
            thread,
            open,
            asked: 0,
            have,
            ended,
            at,
            begun,
            waits,
            used: Vec::new(),
        }
    }

    pub fn layout(&self) -> &[Layout] {
        &self.layout
    }

    pub fn item_bytes(&self) -> u64 {
        self.item_bytes
    }

    fn ask(&mut self, ask: Ask) -> Result<(), String> {
        match &self.asks {
            Some(asks) if self.thread.is_some() && asks.send(ask).is_ok() => Ok(()),
            _ => Err("there is no thread to read a stream with".into()),
        }
    }

    fn answer(&mut self) -> Result<Piece, String> {
        self.given.recv().map_err(|_| "the thread that reads a stream has ended".to_owned())?
    }

    /// So many items from number `at` on, fewer where there are no more. `enough` says of which number a multiple is enough,
    /// where there are so many bytes, or more would have to be waited for.
    pub fn pull(&mut self, at: u64, wanted: u64, enough: Option<(u64, usize)>) -> Result<Piece, String> {
        if at != self.at {
            self.again(at)?;
        }
        let mut wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        while self.have.count < wanted && !self.ended {
            if !std::mem::take(&mut self.open) {
                self.asked = (wanted - self.have.count).min(MOST_ITEMS);
                let room = self.room();
                self.ask(Ask::Read(self.asked, room))?;
            }
            self.begun = true;
            let piece = self.answer()?;
            self.ended = piece.count == 0;
            let short = self.waits && piece.count < self.asked;
            append(&self.layout, &mut self.have, piece);
            if let Some((multiple, bytes)) = enough
                && (short || self.have.arrays.iter().map(Vec::len).sum::<usize>() >= bytes)
                && let whole @ 1.. = self.have.count as u64 / multiple * multiple
            {
                wanted = whole as usize;
            }
        }
        let piece = self.split(wanted);
        self.at += piece.count as u64;
        // The next one is likely to be as long.
        if !self.ended && self.have.count == 0 && piece.count > 0 && !self.open {
            let room = self.room();
            self.asked = piece.count;
            self.ask(Ask::Read(self.asked, room))?;
            self.open = true;
        }
        Ok(piece)
    }

    /// Takes back memory of a piece that nobody needs any more.
    pub fn take_back(&mut self, bytes: Vec<u8>) {
        if self.used.len() < 2 * self.layout.len() {
            self.used.push(bytes);
        }
    }

    /// Memory for another piece.
    fn room(&mut self) -> Piece {
        let some = self.used.len().saturating_sub(self.layout.len());
        Piece { count: 0, arrays: self.used.split_off(some) }
    }

    /// Goes back to the first item.
    fn again(&mut self, at: u64) -> Result<(), String> {
        if at != 0 {
            return Err(format!("a stream is at item {}, and item {at} is wanted", self.at));
        }
        if std::mem::take(&mut self.open) {
            // What had been asked for is of no use, nor is why it may have failed.
            let _ = self.answer();
        }
        if self.begun {
            self.ask(Ask::Rewind)?;
            self.answer()?;
        }
        self.have.count = 0;
        self.have.arrays.iter_mut().for_each(Vec::clear);
        (self.ended, self.at) = (false, 0);
        Ok(())
    }

    /// The first items of what has come.
    fn split(&mut self, wanted: usize) -> Piece {
        let n = wanted.min(self.have.count);
        let none = Piece { count: 0, arrays: vec![Vec::new(); self.layout.len()] };
        let all = std::mem::replace(&mut self.have, none);
        if n == all.count {
            return all;
        }
        let arrays: Vec<&[u8]> = all.arrays.iter().map(Vec::as_slice).collect();
        self.have = part(&self.layout, &arrays, all.count, (n, all.count));
        part(&self.layout, &arrays, all.count, (0, n))
    }
}

/// The most items that are asked for at once: of a stream as a whole, which is read on until it ends.
const MOST_ITEMS: usize = 1 << 20;

impl Drop for Ahead {
    fn drop(&mut self) {
        self.asks = None;
        // A thread that waits for a pipe is not waited for.
        if !self.open
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}
