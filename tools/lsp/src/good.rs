//! The last good version of a text, form by form.
//!
//! While somebody types, the form at hand is wrong: it does not parse, or a name in it is not finished. What was known of
//! it is still the best answer. So of each document a second text is kept, in which every form that is right now is as it
//! is now, and every form that is wrong is as it was when it was last right:
//!
//! ```text
//! now     (define a 1) (define (f x) (+ x (g |) (define c 3)
//! good    (define a 1) (define (f x) (+ x b))   (define c 3)
//!         └─ the same ─┘└──── the same ────┘    └─ the same ─┘
//! ```
//!
//! Places of one are places of the other where the texts are the same; what has been edited since has no place.

use crate::text::Replaced;
use std::ops::Range;

/// A part that both texts have, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    good: u32,
    now: u32,
    length: u32,
}

impl Piece {
    fn good_end(self) -> u32 {
        self.good + self.length
    }

    fn now_end(self) -> u32 {
        self.now + self.length
    }

    /// Where in the good text a place of this part is.
    fn to_good(self, now: u32) -> u32 {
        self.good + (now - self.now)
    }
}

/// A form of the text as it is now, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Form {
    pub span: Range<u32>,
    pub wrong: bool,
}

/// The last good version of a document.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Good {
    text: String,
    /// In the order of both texts.
    pieces: Vec<Piece>,
    /// Where its forms are, in its own text.
    forms: Vec<Range<u32>>,
}

impl Good {
    /// Brings it up to date with the text as it is now, given its forms in the order of the text. A form that is wrong
    /// stays as the forms were that have something in common with it: one, or several where a bracket is missing that
    /// had parted them.
    pub fn renew(&mut self, now: &str, forms: &[Form]) {
        let was = std::mem::take(self);
        // Up to where the text is done, and which of the old forms are.
        let (mut done, mut used) = (0, (0, None));
        for form in forms {
            let (start, end) = (form.span.start.max(done), form.span.end);
            if start >= end {
                continue;
            }
            self.copy(now, done..start);
            if form.wrong {
                self.keep(&was, &mut used, start..end);
            } else {
                let copied = self.copy(now, start..end);
                self.forms.push(copied);
            }
            done = end;
        }
        self.copy(now, done..now.len() as u32);
    }

    /// Takes over a part of the text as it is now.
    fn copy(&mut self, now: &str, part: Range<u32>) -> Range<u32> {
        let inside = &now[part.start as usize..part.end as usize];
        let end = |all: &Good| all.text.len() as u32;
        if let Some(last) = self.pieces.last_mut()
            && (last.good_end(), last.now_end()) == (self.text.len() as u32, part.start)
        {
            last.length += part.end - part.start;
        } else if !inside.is_empty() {
            self.part_from(inside);
            self.pieces.push(Piece { good: end(self), now: part.start, length: part.end - part.start });
        }
        let good = end(self);
        self.text.push_str(inside);
        good..end(self)
    }

    /// Takes over the old forms that have something in common with a part of the text that is wrong now, once each. `used`
    /// is how many of them are done, and where the last that was taken over begins now.
    fn keep(&mut self, was: &Good, used: &mut (usize, Option<u32>), now: Range<u32>) {
        let first = was.pieces.partition_point(|p| p.now_end() <= now.start);
        for piece in was.pieces[first..].iter().take_while(|p| p.now < now.end) {
            let common = piece.to_good(piece.now.max(now.start))..piece.to_good(piece.now_end().min(now.end));
            // The last of those that are done may go on here.
            let behind = was.forms.partition_point(|f| f.end <= common.start);
            for k in behind.max(used.0.saturating_sub(1))..was.forms.len() {
                let form = &was.forms[k];
                if form.start >= common.end {
                    break;
                }
                if k >= used.0 {
                    let text = &was.text[form.start as usize..form.end as usize];
                    self.part_from(text);
                    let start = self.text.len() as u32;
                    self.text.push_str(text);
                    self.forms.push(start..self.text.len() as u32);
                    *used = (k + 1, Some(start));
                }
                let Some(start) = used.1 else { continue };
                let (from, to) = (common.start.max(form.start), common.end.min(form.end));
                let good = from - form.start + start;
                // Where a form is in two parts now that have another between them, the first part has what it was.
                if from < to && self.pieces.last().is_none_or(|last| last.good_end() <= good) {
                    self.pieces.push(Piece { good, now: piece.now + (from - piece.good), length: to - from });
                }
            }
        }
    }

    /// What comes next is no part of the word before it.
    fn part_from(&mut self, next: &str) {
        let touches = |c: char| !c.is_whitespace() && !"()[]{}".contains(c);
        if self.text.ends_with(touches) && next.starts_with(touches) {
            self.text.push('\n');
        }
    }

    /// The text has been edited.
    pub fn edited(&mut self, edit: Replaced) {
        let Replaced { start, end, length } = edit;
        let mut pieces = Vec::with_capacity(self.pieces.len() + 1);
        for piece in &self.pieces {
            if piece.now < start {
                pieces.push(Piece { length: piece.length.min(start - piece.now), ..*piece });
            }
            if piece.now_end() > end {
                let from = piece.now.max(end);
                let now = from - end + start + length;
                pieces.push(Piece { good: piece.to_good(from), now, length: piece.now_end() - from });
            }
        }
        self.pieces = pieces;
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a place of the text was.
    pub fn to_good(&self, now: u32) -> Option<u32> {
        let piece = self.pieces.iter().find(|p| p.now <= now && now <= p.now_end())?;
        Some(piece.to_good(now))
    }

    /// Where a place of the good text is.
    pub fn to_now(&self, good: u32) -> Option<u32> {
        let piece = self.pieces.iter().find(|p| p.good <= good && good <= p.good_end())?;
        Some(piece.now + (good - piece.good))
    }

    /// The forms that stand in the good text for a part of the text, if there are any.
    pub fn forms_of(&self, now: Range<u32>) -> Option<Range<u32>> {
        let first = self.pieces.iter().find(|p| p.now_end() > now.start)?;
        let last = self.pieces.iter().rev().find(|p| p.now < now.end)?;
        let start = first.to_good(first.now.max(now.start));
        let end = last.to_good(last.now_end().min(now.end));
        let before = self.forms.partition_point(|f| f.end <= start);
        let behind = self.forms.partition_point(|f| f.start < end);
        let forms = self.forms.get(before..behind)?;
        Some(forms.first()?.start..forms.last()?.end)
    }

    /// Where a part of the good text is that has not been edited.
    pub fn part_to_now(&self, good: Range<u32>) -> Option<Range<u32>> {
        let piece = self.pieces.iter().find(|p| p.good <= good.start && good.end <= p.good_end())?;
        let now = |at: u32| piece.now + (at - piece.good);
        Some(now(good.start)..now(good.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit(good: &mut Good, text: &mut String, at: usize, remove: usize, insert: &str) {
        text.replace_range(at..at + remove, insert);
        let edit = Replaced { start: at as u32, end: (at + remove) as u32, length: insert.len() as u32 };
        good.edited(edit);
    }

    /// The forms of a text that has no others in them, of which some are wrong.
    fn forms(spans: &[(u32, u32)], wrong: &[u32]) -> Vec<Form> {
        spans.iter().map(|&(start, end)| Form { span: start..end, wrong: wrong.contains(&start) }).collect()
    }

    fn check(good: &Good, now: &str) {
        for p in &good.pieces {
            let (a, b) = (p.good as usize..p.good_end() as usize, p.now as usize..p.now_end() as usize);
            assert_eq!(good.text.get(a), now.get(b), "{good:?} {now:?}");
        }
        for pair in good.pieces.windows(2) {
            assert!(pair[0].good_end() <= pair[1].good && pair[0].now_end() <= pair[1].now, "{good:?}");
        }
        for pair in good.forms.windows(2) {
            assert!(pair[0].end <= pair[1].start, "{good:?}");
        }
    }

    #[test]
    fn a_form_that_is_wrong_stays_as_it_was() {
        let mut now = "(a 1) (f x) (c 3)".to_owned();
        let all = forms(&[(0, 5), (6, 11), (12, 17)], &[]);
        let mut good = Good::default();
        good.renew(&now, &all);
        assert_eq!(good.text(), now);
        // `(f x)` becomes `(f x (g`, and what is before it changes meanwhile.
        edit(&mut good, &mut now, 10, 1, " (g");
        edit(&mut good, &mut now, 3, 1, "22");
        assert_eq!(now, "(a 22) (f x (g (c 3)");
        let wrong = forms(&[(0, 6), (7, 14), (15, 20)], &[7]);
        good.renew(&now, &wrong);
        assert_eq!(good.text(), "(a 22) (f x) (c 3)");
        check(&good, &now);
        assert_eq!(good.to_good(8), Some(8), "f");
        assert_eq!(good.to_good(13), None, "( of what is new");
        assert_eq!(good.to_good(16), Some(14), "c");
        assert_eq!(good.to_now(14), Some(16));
        assert_eq!(good.part_to_now(8..11), Some(8..11), "f x");
        assert_eq!(good.part_to_now(8..12), None, "its bracket is gone");
        assert_eq!(good.forms_of(7..14), Some(7..12));
        assert_eq!((good.forms_of(0..20), good.forms_of(6..7)), (Some(0..18), None));
        // However often it is looked at.
        good.renew(&now, &wrong);
        assert_eq!(good.text(), "(a 22) (f x) (c 3)");
        // Once it is right again it is as it is now.
        edit(&mut good, &mut now, 14, 0, "))");
        good.renew(&now, &forms(&[(0, 6), (7, 16), (17, 22)], &[]));
        assert_eq!(good.text(), now);
    }

    #[test]
    fn a_form_that_was_never_right_is_not_there() {
        let mut good = Good::default();
        good.renew("(a) (b (c)", &forms(&[(0, 3), (4, 6), (7, 10)], &[4]));
        assert_eq!(good.text(), "(a)  (c)");
        assert_eq!(good.to_good(7), Some(5));
    }

    /// Two forms that are wrong do not both become what was there; one that takes in another is both.
    #[test]
    fn what_was_is_there_once() {
        let mut now = "(f x) (g y) z".to_owned();
        let mut good = Good::default();
        good.renew(&now, &forms(&[(0, 5), (6, 11), (12, 13)], &[]));
        edit(&mut good, &mut now, 2, 2, ")(");
        assert_eq!(now, "(f)() (g y) z");
        good.renew(&now, &forms(&[(0, 3), (3, 5), (6, 11), (12, 13)], &[0, 3]));
        assert_eq!(good.text(), "(f x) (g y) z");
        check(&good, &now);
        edit(&mut good, &mut now, 2, 5, "");
        assert_eq!(now, "(fg y) z");
        good.renew(&now, &forms(&[(0, 6), (7, 8)], &[0]));
        assert_eq!(good.text(), "(f x)(g y) z");
        check(&good, &now);
        assert_eq!((good.to_good(1), good.to_good(3)), (Some(1), Some(7)));
        // What nothing is left of is gone.
        edit(&mut good, &mut now, 0, 6, "(");
        good.renew(&now, &forms(&[(0, 1), (2, 3)], &[0]));
        assert_eq!((good.text(), now.as_str()), (" z", "( z"));
    }

    proptest! {
        #[test]
        fn parts_that_are_the_same_are_the_same(
            steps in prop::collection::vec(
                (0..30usize, 0..6usize, "[a-f() ]{0,5}", prop::collection::vec((1..9u32, 0..4u32, prop::bool::ANY), 0..6), prop::bool::ANY),
                1..40,
            ),
        ) {
            let mut now = "(a b) (c d) (e f)".to_owned();
            let mut good = Good::default();
            good.renew(&now, &forms(&[(0, 5), (6, 11), (12, 17)], &[]));
            let mut longest = now.len();
            for (at, remove, insert, parts, renew) in steps {
                let at = at.min(now.len());
                let remove = remove.min(now.len() - at);
                edit(&mut good, &mut now, at, remove, &insert);
                longest = longest.max(now.len());
                check(&good, &now);
                if renew {
                    let (mut all, mut start) = (vec![], 0);
                    for (length, gap, wrong) in parts {
                        let end = start + length;
                        if end as usize <= now.len() {
                            all.push(Form { span: start..end, wrong });
                        }
                        start = end + gap;
                    }
                    good.renew(&now, &all);
                    check(&good, &now);
                    // Each form that is kept has something in common with the text.
                    prop_assert!(good.text().len() <= (now.len() + 1) * (longest + 1));
                }
            }
        }
    }
}
