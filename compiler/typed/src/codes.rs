//! The checker's diagnostic codes. Each has a page under `testsuite/diagnostics/`.

use remc_base::Code;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: Code = Code($code);)*
        /// Every code of the checker.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

codes! {
    /// Frames of an application that are not prefixes of one another.
    FRAMES = "E0301";
    /// An argument of too small a rank for the function's cell.
    RANK_TOO_SMALL = "E0302";
    /// An argument whose shape is not the one the function takes.
    CELL_SHAPE = "E0303";
    /// Elements of a bracket or frame of different shapes.
    RAGGED = "E0304";
    /// A dim that would be negative: an empty array where an item is needed, a part that is too long.
    NEGATIVE_DIM = "E0305";
    /// A box whose contents do not have the shape its witnesses say.
    WITNESS = "E0306";
    /// Branches of different types.
    BRANCHES = "E0307";
    /// An expression that does not have its annotated type.
    ANNOTATION = "E0308";
    /// A parameter whose rank nothing decides.
    AMBIGUOUS_RANK = "E0309";
    /// A hidden index in a type outside its scope.
    ESCAPE = "E0310";
    /// Sizes that have to agree and do not.
    SIZES = "E0311";
    /// A function whose parameters do not fit the function type that is wanted.
    FUNCTION_SHAPE = "E0312";
    /// Atom types that differ.
    ATOM_TYPE = "E0401";
    /// A type outside the class that an operation needs.
    CLASS = "E0402";
    /// Something applied that is no function.
    NOT_A_FUNCTION = "E0403";
    /// Too few or too many arguments.
    ARGUMENT_COUNT = "E0404";
    /// Explicit type or index arguments that do not fit.
    INSTANCE = "E0405";
    /// A literal that its type cannot hold.
    LITERAL_RANGE = "E0406";
    /// A type that nothing decides.
    AMBIGUOUS_TYPE = "E0407";
    /// An array of boxes where an array is wanted.
    BOXED = "E0408";
    /// `unbox` of something that is no box, or with the wrong number of indices.
    NOT_A_BOX = "E0409";
    /// A condition that is no single bool.
    CONDITION = "E0410";
    /// A component that the tuple or record does not have.
    COMPONENT = "E0411";
    /// `(box e)` where nothing says what is hidden.
    BOX_CONTEXT = "E0412";
    /// An entry whose parameters are not typed.
    ENTRY_TYPE = "E0413";
    /// A value where an index, or an index where a value of known size, is needed.
    NOT_AN_INDEX = "E0414";
    /// A type or size that is too large to work with.
    TYPE_TOO_LARGE = "E0415";
    /// An entry that wants a function as an input.
    ENTRY_FUNCTION = "E0416";
    /// One opening of a box of boxes.
    OPENED_ONCE = "E0417";
    /// A stream where none can be.
    STREAM_TYPE = "E0418";
    /// An unknown name.
    UNKNOWN_NAME = "E0501";
    /// An unknown type.
    UNKNOWN_TYPE = "E0502";
    /// An unknown index variable.
    UNKNOWN_INDEX = "E0503";
    /// A definition that calls itself and cannot be a loop, or definitions that call each other.
    RECURSION = "E0504";
    /// A type variable that looks like a misspelt type: a warning.
    MISSPELT_TYPE = "W0501";
    /// A power of an integer that is cut off: a warning.
    CUT_POWER = "W0504";
    /// A reduction by an operator that is not associative: a warning.
    GROUPED = "W0505";
}
