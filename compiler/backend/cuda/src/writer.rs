//! Lines of text at an indentation.

/// Text under construction.
#[derive(Default)]
pub struct Writer {
    out: String,
    indent: usize,
}

impl Writer {
    /// A line; nothing but its end if it is empty.
    pub fn line(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        if !text.is_empty() {
            self.out.extend(std::iter::repeat_n(' ', self.indent));
            self.out.push_str(text);
        }
        self.out.push('\n');
    }

    /// A line after which others are further in.
    pub fn open(&mut self, text: impl AsRef<str>) {
        self.line(text);
        self.indent += 2;
    }

    /// A line that ends what the last `open` began.
    pub fn close(&mut self, text: impl AsRef<str>) {
        self.indent = self.indent.saturating_sub(2);
        self.line(text);
    }

    /// What is at the end of one part and the beginning of another, as `} else {` is.
    pub fn turn(&mut self, text: impl AsRef<str>) {
        self.close(text);
        self.indent += 2;
    }

    pub fn finish(self) -> String {
        self.out
    }
}
