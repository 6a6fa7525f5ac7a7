//! Small functions that a text brings along: what Futhark's operators and prelude do not say alike.
//!
//! Each is printed once, if it is used, in front of the entry. `{t}` in a template is a type, `{u}` the unsigned
//! type of its width, `{bits}` its width; a function of a type has its name at the end, as `quotient_i64`.

use remc_base::BaseTy;
use std::collections::BTreeSet;

/// A function, or one for each of some types.
struct Helper {
    name: &'static str,
    /// The helpers that it uses itself, at the same type; a name with a type of its own is used as it is.
    needs: &'static [&'static str],
    /// By the kind of type: see [`kind`].
    text: &'static [(char, &'static str)],
}

/// What a template is for: any or no type, a signed or unsigned integer, a float, `bool`.
fn kind(ty: Option<BaseTy>) -> char {
    match ty {
        None => '*',
        Some(t) if t.is_signed() => 's',
        Some(t) if t.is_float() => 'f',
        Some(BaseTy::Bool) => 'b',
        Some(_) => 'u',
    }
}

const HELPERS: &[Helper] = &[
    Helper {
        name: "quotient",
        needs: &[],
        text: &[
            (
                's',
                "-- Rounds down. The least number by -1 wraps; a quotient by 0 is never looked at.
def quotient_{t} (x: {t}) (y: {t}) : {t} =
  if y == 0 then 0 else if y == (-1) then 0 - x else x / y
",
            ),
            (
                'u',
                "-- A quotient by 0 is never looked at.
def quotient_{t} (x: {t}) (y: {t}) : {t} =
  if y == 0 then 0 else x / y
",
            ),
            (
                'f',
                "-- The integral number that belongs to the remainder with the sign of the divisor.
def quotient_{t} (x: {t}) (y: {t}) : {t} =
  if y == 0.0 then x / y
  else
    let r = x % y
    let moved = r != 0.0 && (r < 0.0) != (y < 0.0)
    let q = if moved then (x - r) / y - 1.0 else (x - r) / y
    let below = {t}.floor q
    in if q == 0.0 then (if 1.0 / (x / y) < 0.0 then (-0.0) else 0.0)
       else if q - below > 0.5 then below + 1.0 else below
",
            ),
        ],
    },
    Helper {
        name: "modulo",
        needs: &[],
        text: &[
            (
                's',
                "-- Has the sign of the divisor. A remainder by 0 is never looked at.
def modulo_{t} (x: {t}) (y: {t}) : {t} =
  if y == 0 || y == (-1) then 0 else x % y
",
            ),
            (
                'u',
                "-- A remainder by 0 is never looked at.
def modulo_{t} (x: {t}) (y: {t}) : {t} =
  if y == 0 then 0 else x % y
",
            ),
            (
                'f',
                "-- Has the sign of the divisor.
def modulo_{t} (x: {t}) (y: {t}) : {t} =
  let r = x % y
  in if r == 0.0 then (if y < 0.0 then (-0.0) else 0.0)
     else if (r < 0.0) != (y < 0.0) then r + y else r
",
            ),
        ],
    },
    Helper {
        name: "min2",
        needs: &[],
        text: &[(
            'f',
            "-- The smaller number; not a number if one is not; -0.0 is below 0.0.
def min2_{t} (x: {t}) (y: {t}) : {t} =
  if {t}.isnan x || {t}.isnan y then {t}.nan
  else if x < y || (x == y && 1.0 / x < 0.0) then x else y
",
        )],
    },
    Helper {
        name: "max2",
        needs: &[],
        text: &[(
            'f',
            "-- The greater number; not a number if one is not; -0.0 is below 0.0.
def max2_{t} (x: {t}) (y: {t}) : {t} =
  if {t}.isnan x || {t}.isnan y then {t}.nan
  else if x > y || (x == y && 1.0 / x > 0.0) then x else y
",
        )],
    },
    Helper {
        name: "sign",
        needs: &[],
        text: &[
            ('s', "def sign_{t} (x: {t}) : {t} =\n  if x < 0 then (-1) else if x > 0 then 1 else 0\n"),
            ('u', "def sign_{t} (x: {t}) : {t} =\n  if x > 0 then 1 else 0\n"),
            (
                'f',
                "def sign_{t} (x: {t}) : {t} =\n  if {t}.isnan x then x\n  else if x < 0.0 then (-1.0) else if x > \
                 0.0 then 1.0 else 0.0\n",
            ),
        ],
    },
    Helper {
        name: "gcd",
        needs: &[],
        text: &[
            (
                's',
                "-- The greatest common divisor.
def gcd_{t} (x: {t}) (y: {t}) : {t} =
  let (d, _) =
    loop (a, b) = ({u}.{t} (if x < 0 then 0 - x else x), {u}.{t} (if y < 0 then 0 - y else y))
    while b != 0 do (b, a % b)
  in {t}.{u} d
",
            ),
            (
                'u',
                "-- The greatest common divisor.
def gcd_{t} (x: {t}) (y: {t}) : {t} =
  let (d, _) = loop (a, b) = (x, y) while b != 0 do (b, a % b)
  in d
",
            ),
        ],
    },
    Helper {
        name: "shl",
        needs: &[],
        text: &[
            (
                's',
                "-- Past the width nothing is left.
def shl_{t} (x: {t}) (y: {t}) : {t} =
  if y >= 0 && y < {bits} then x << y else 0
",
            ),
            (
                'u',
                "-- Past the width nothing is left.
def shl_{t} (x: {t}) (y: {t}) : {t} =
  if y < {bits} then x << y else 0
",
            ),
        ],
    },
    Helper {
        name: "shr",
        needs: &[],
        text: &[
            (
                's',
                "-- Past the width the sign alone is left.
def shr_{t} (x: {t}) (y: {t}) : {t} =
  if y >= 0 && y < {bits} then x >> y else if x < 0 then (-1) else 0
",
            ),
            (
                'u',
                "-- Past the width nothing is left.
def shr_{t} (x: {t}) (y: {t}) : {t} =
  if y < {bits} then x >> y else 0
",
            ),
        ],
    },
    Helper {
        name: "power",
        needs: &[],
        text: &[
            ('s', POWER),
            ('u', POWER),
            (
                'f',
                "-- By repeated squaring; a negative exponent is one of the opposite.
def power_{t} (x: {t}) (negative: bool) (e: u64) : {t} =
  let (r, _, _) =
    loop (r, b, e) = (1.0, x, e) while e > 0 do
      (if e % 2 == 1 then r * b else r, b * b, e / 2)
  in if negative then 1.0 / r else r
",
            ),
        ],
    },
    Helper {
        name: "real_power",
        needs: &["power"],
        text: &[
            (
                'f',
                "-- An integral exponent by repeated squaring.
def real_power_{t} (x: {t}) (y: {t}) : {t} =
  if y == {t}.trunc y && {t}.abs y < 1e18
  then power_{t} x (y < 0.0) (u64.{t} ({t}.abs y))
  else x ** y
",
            ),
            ('s', REAL_POWER),
            ('u', REAL_POWER),
        ],
    },
    Helper {
        name: "saturate",
        needs: &[],
        text: &[('s', SATURATE), ('u', SATURATE)],
    },
    Helper {
        name: "less",
        needs: &[],
        text: &[
            ('s', LESS),
            ('u', LESS),
            (
                'f',
                "-- The order of sorting: what is not a number comes last.
def less_{t} (x: {t}) (y: {t}) : bool =
  x < y || ({t}.isnan y && (!({t}.isnan x)))
",
            ),
            ('b', "def less_bool (x: bool) (y: bool) : bool =\n  (!x) && y\n"),
        ],
    },
    Helper {
        name: "less_vector",
        needs: &[],
        text: &[(
            '*',
            "-- Vectors by their first different element.
def less_vector [n] 'a (less: a -> a -> bool) (xs: [n]a) (ys: [n]a) : bool =
  let k =
    loop k = 0 while k < n && (!(less xs[k] ys[k])) && (!(less ys[k] xs[k])) do
      k + 1
  in k < n && less xs[k] ys[k]
",
        )],
    },
    Helper {
        name: "grade",
        needs: &[],
        text: &[(
            '*',
            "-- The stable permutation that sorts n items, of which one comes before another as `less` says: a
-- bitonic network over the next power of two, in which places from n on come last.
def grade (n: i64) (less: i64 -> i64 -> bool) : [n]i64 =
  let width = loop w = 1 while w < n do w * 2
  let before (a: i64) (b: i64) : bool =
    if a >= n || b >= n then a < b
    else less a b || ((!(less b a)) && a < b)
  let (order, _) =
    loop (order, k) = (iota width, 2) while k <= width do
      let (order, _) =
        loop (order, j) = (order, k / 2) while j > 0 do
          let next =
            map (\\i ->
                   let other = i ^ j
                   let (low, high) = if i < other then (i, other) else (other, i)
                   let (a, b) = (order[low], order[high])
                   let swap = if (low & k) == 0 then before b a else before a b
                   in if (i == low) == swap then b else a)
                (iota width)
          in (next, j / 2)
      in (order, k * 2)
  in order[0:n] :> [n]i64
",
        )],
    },
    Helper {
        name: "either",
        needs: &[],
        text: &[(
            '*',
            "-- An operator on what is there or not: nothing is its neutral element.
def either 'a (op: a -> a -> a) ((has_x, x): (bool, a)) ((has_y, y): (bool, a)) : (bool, a) =
  if has_x && has_y then (true, op x y)
  else if has_x then (true, x) else (has_y, y)
",
        )],
    },
    Helper {
        name: "reduce_from",
        needs: &["either"],
        text: &[(
            '*',
            "-- A reduction whose start takes part once: it need not be neutral.
def reduce_from [n] 'a (op: a -> a -> a) (start: a) (xs: [n]a) : a =
  let (some, total) = reduce (either op) (false, start) (map (\\x -> (true, x)) xs)
  in if some then op start total else start
",
        )],
    },
    Helper {
        name: "reduce_some",
        needs: &["either"],
        text: &[(
            '*',
            "-- A reduction of at least one element, by an operator without a neutral element; `any` is never
-- looked at.
def reduce_some [n] 'a (op: a -> a -> a) (any: a) (xs: [n]a) : a =
  let (_, total) = reduce (either op) (false, any) (map (\\x -> (true, x)) xs)
  in total
",
        )],
    },
    Helper {
        name: "scan_from",
        needs: &["either"],
        text: &[(
            '*',
            "-- A scan whose start takes part once: it need not be neutral. What is opaque is not fused with what
-- is done to it: the scan is one of pairs, of which only the second is wanted.
def scan_from [n] 'a (op: a -> a -> a) (start: a) (xs: [n]a) : [n]a =
  let begun = map2 (\\i x -> (true, if i == 0 then op start x else x)) (iota n) xs
  let (_, all) = unzip (scan (either op) (false, start) begun)
  in #[opaque] all
",
        )],
    },
    Helper {
        name: "scan_some",
        needs: &["either"],
        text: &[(
            '*',
            "-- A scan by an operator without a neutral element; `any` is never looked at.
def scan_some [n] 'a (op: a -> a -> a) (any: a) (xs: [n]a) : [n]a =
  let (_, all) = unzip (scan (either op) (false, any) (map (\\x -> (true, x)) xs))
  in #[opaque] all
",
        )],
    },
    Helper {
        name: "exclusive",
        needs: &[],
        text: &[(
            '*',
            "-- The results of a scan without the own element of each: moved by one place, the start first.
def exclusive [n] 'a (start: a) (xs: [n]a) : [n]a =
  map (\\i -> if i == 0 then start else xs[i - 1]) (iota n)
",
        )],
    },
    Helper {
        name: "scatter_last",
        needs: &[],
        text: &[(
            '*',
            "-- Where several values are written to one place, the last stays (`scatter` would keep any). A place
-- outside is none.
def scatter_last [k] [n] 'a (dest: *[k]a) (places: [n]i64) (values: [n]a) : *[k]a =
  let last = reduce_by_index (replicate k (-1)) i64.max (-1) places (iota n)
  let own = map2 (\\p i -> if p >= 0 && p < k && last[p] == i then p else (-1)) places (iota n)
  in scatter dest own values
",
        )],
    },
];

const POWER: &str = "-- By repeated squaring.
def power_{t} (x: {t}) (e: u64) : {t} =
  let (r, _, _) =
    loop (r, b, e) = (1, x, e) while e > 0 do
      (if e % 2 == 1 then r * b else r, b * b, e / 2)
  in r
";

const REAL_POWER: &str = "-- An integral exponent by repeated squaring.
def real_power_{t} (x: {t}) (y: f64) : {t} =
  if y == f64.trunc y && y < 1e18
  then power_{t} x (u64.f64 y)
  else saturate_{t} (f64.{t} x ** y)
";

const SATURATE: &str = "-- Without its fraction; past the limits the limit, 0 for what is not a number.
def saturate_{t} (x: f64) : {t} =
  if f64.isnan x then 0
  else if x <= {low} then {t}.lowest
  else if x >= {high} then {t}.highest
  else {t}.f64 x
";

const LESS: &str = "def less_{t} (x: {t}) (y: {t}) : bool =\n  x < y\n";

/// The helpers that a text uses.
#[derive(Default)]
pub struct Helpers {
    used: BTreeSet<(usize, Option<BaseTy>)>,
}

impl Helpers {
    /// The name of a helper, which the text is going to have.
    pub fn named(&mut self, name: &'static str, ty: Option<BaseTy>) -> String {
        let Some(k) = HELPERS.iter().position(|h| h.name == name) else { return name.to_owned() };
        if self.used.insert((k, ty)) {
            for need in HELPERS[k].needs {
                self.named(need, ty);
            }
            // The one helper that its users need at some types only.
            if name == "real_power" && ty.is_some_and(BaseTy::is_integer) {
                self.named("saturate", ty);
            }
        }
        match ty {
            Some(t) => format!("{name}_{}", crate::types::type_name(t)),
            None => name.to_owned(),
        }
    }

    /// The definitions, those that others need first.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // What a helper needs is nowhere behind it, but for these.
        let rank = |k: usize| match HELPERS[k].name {
            "modulo" | "saturate" | "power" => 0,
            _ => 1,
        };
        let mut all: Vec<_> = self.used.iter().copied().collect();
        all.sort_by_key(|(k, ty)| (rank(*k), *k, *ty));
        for (k, ty) in all {
            let wanted = kind(ty);
            let Some((_, text)) = HELPERS[k].text.iter().find(|(kind, _)| *kind == wanted) else { continue };
            out.push('\n');
            out.push_str(&match ty {
                Some(t) => filled(text, t),
                None => (*text).to_owned(),
            });
        }
        out
    }
}

fn filled(text: &str, t: BaseTy) -> String {
    let name = crate::types::type_name(t);
    let unsigned = match t.bits() {
        8 => "u8",
        16 => "u16",
        32 => "u32",
        _ => "u64",
    };
    let (low, high) = t.integer_range().unwrap_or((0, 0));
    let signed = |n: i128| if n < 0 { format!("(-{:?})", -(n as f64)) } else { format!("{:?}", n as f64) };
    text.replace("{t}", name)
        .replace("{u}", unsigned)
        .replace("{bits}", &t.bits().to_string())
        .replace("{low}", &signed(low))
        .replace("{high}", &signed(high + 1))
}

/// Whether a helper has this name.
pub fn is_helper(name: &str) -> bool {
    HELPERS.iter().any(|h| match name.strip_prefix(h.name) {
        Some("") => true,
        // Of a type, and of nothing else: `power_2` is free.
        Some(rest) => rest.strip_prefix('_').is_some_and(|t| BaseTy::from_name(t).is_some()),
        None => false,
    })
}
