//! The part of Futhark's prelude that is known here, by its types. A star in front of a parameter says that it is
//! consumed, one in front of a result that nothing else is a part of it. `[?]` is a length that nobody knows.

pub const PRELUDE: &[(&str, &str)] = &[
    ("map", "[n] 'a 'b : (a -> b) -> [n]a -> *[n]b"),
    ("map2", "[n] 'a 'b 'c : (a -> b -> c) -> [n]a -> [n]b -> *[n]c"),
    ("map3", "[n] 'a 'b 'c 'd : (a -> b -> c -> d) -> [n]a -> [n]b -> [n]c -> *[n]d"),
    ("map4", "[n] 'a 'b 'c 'd 'e : (a -> b -> c -> d -> e) -> [n]a -> [n]b -> [n]c -> [n]d -> *[n]e"),
    (
        "map5",
        "[n] 'a 'b 'c 'd 'e 'f : (a -> b -> c -> d -> e -> f) -> [n]a -> [n]b -> [n]c -> [n]d -> [n]e -> *[n]f",
    ),
    ("reduce", "[n] 'a : (a -> a -> a) -> a -> [n]a -> a"),
    ("scan", "[n] 'a : (a -> a -> a) -> a -> [n]a -> *[n]a"),
    ("filter", "[n] 'a : (a -> bool) -> [n]a -> *[unknown]a"),
    ("scatter", "[k] [n] 'a : *[k]a -> [n]i64 -> [n]a -> *[k]a"),
    ("reduce_by_index", "[k] [n] 'a : *[k]a -> (a -> a -> a) -> a -> [n]i64 -> [n]a -> *[k]a"),
    ("iota", ": (size: i64) -> *[size]i64"),
    ("replicate", "'a : (size: i64) -> a -> *[size]a"),
    ("copy", "'a : a -> *a"),
    ("length", "[n] 'a : [n]a -> i64"),
    ("reverse", "[n] 'a : [n]a -> *[n]a"),
    ("rotate", "[n] 'a : i64 -> [n]a -> *[n]a"),
    ("transpose", "[n] [m] 'a : [n][m]a -> [m][n]a"),
    ("flatten", "[n] [m] 'a : [n][m]a -> [n * m]a"),
    ("flatten_3d", "[n] [m] [k] 'a : [n][m][k]a -> [n * m * k]a"),
    ("flatten_4d", "[n] [m] [k] [l] 'a : [n][m][k][l]a -> [n * m * k * l]a"),
    ("unflatten", "[n] [m] 'a : [n * m]a -> [n][m]a"),
    ("unflatten_3d", "[n] [m] [k] 'a : [n * m * k]a -> [n][m][k]a"),
    ("unflatten_4d", "[n] [m] [k] [l] 'a : [n * m * k * l]a -> [n][m][k][l]a"),
    ("zip", "[n] 'a 'b : [n]a -> [n]b -> *[n](a, b)"),
    ("zip3", "[n] 'a 'b 'c : [n]a -> [n]b -> [n]c -> *[n](a, b, c)"),
    ("zip4", "[n] 'a 'b 'c 'd : [n]a -> [n]b -> [n]c -> [n]d -> *[n](a, b, c, d)"),
    ("zip5", "[n] 'a 'b 'c 'd 'e : [n]a -> [n]b -> [n]c -> [n]d -> [n]e -> *[n](a, b, c, d, e)"),
    ("unzip", "[n] 'a 'b : [n](a, b) -> ([n]a, [n]b)"),
    ("unzip3", "[n] 'a 'b 'c : [n](a, b, c) -> ([n]a, [n]b, [n]c)"),
    ("unzip4", "[n] 'a 'b 'c 'd : [n](a, b, c, d) -> ([n]a, [n]b, [n]c, [n]d)"),
    ("unzip5", "[n] 'a 'b 'c 'd 'e : [n](a, b, c, d, e) -> ([n]a, [n]b, [n]c, [n]d, [n]e)"),
    ("and", "[n] : [n]bool -> bool"),
    ("or", "[n] : [n]bool -> bool"),
    ("assert", "'a : bool -> a -> a"),
];

/// The type of a name in the module of a base type.
pub fn qualified(module: &str, name: &str) -> Option<String> {
    let (float, boolean) = (module.starts_with('f'), module == "bool");
    let is_type = crate::types::PRIMS.contains(&name);
    let reals = [
        "sqrt", "exp", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
        "erf", "floor", "ceil", "round", "trunc",
    ];
    Some(match name {
        _ if is_type && boolean => return None,
        _ if is_type => format!(": {name} -> {module}"),
        "abs" if !boolean => format!(": {module} -> {module}"),
        "min" | "max" if !boolean => format!(": {module} -> {module} -> {module}"),
        "lowest" | "highest" if !boolean => format!(": {module}"),
        "popc" if !float && !boolean => format!(": {module} -> i32"),
        "inf" | "nan" if float => format!(": {module}"),
        "isnan" if float => format!(": {module} -> bool"),
        "atan2" if float => format!(": {module} -> {module} -> {module}"),
        _ if float && reals.contains(&name) => format!(": {module} -> {module}"),
        _ => return None,
    })
}
