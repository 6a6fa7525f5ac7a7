//! The grammar of Remora for editors, `grammar.js`, as a library: the language for the crate `tree-sitter`, and the
//! queries that colour a text.

use tree_sitter_language::LanguageFn;

#[expect(unsafe_code, reason = "the generated parser is C")]
mod generated {
    unsafe extern "C" {
        pub fn tree_sitter_remora() -> *const ();
    }
    /// The function takes nothing and gives a constant table.
    pub const LANGUAGE: super::LanguageFn = unsafe { super::LanguageFn::from_raw(tree_sitter_remora) };
}

/// The language; `LANGUAGE.into()` is a `tree_sitter::Language`.
pub const LANGUAGE: LanguageFn = generated::LANGUAGE;

/// What colours what, by the names of captures that Neovim and tree-sitter's own tools know.
pub const HIGHLIGHTS_QUERY: &str = include_str!("../../queries/highlights.scm");

/// Which names are bound where, so that a parameter looks the same where it is used.
pub const LOCALS_QUERY: &str = include_str!("../../queries/locals.scm");
