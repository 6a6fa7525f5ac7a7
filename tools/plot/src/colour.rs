//! Colours: of lines, which people who see fewer colours tell apart too, and of numbers.

/// Red, green, blue.
pub type Rgb = [u8; 3];

pub const WHITE: Rgb = [255, 255, 255];
/// Text and axes.
pub const INK: Rgb = [34, 34, 34];
/// Numbers at ticks, and notes.
pub const SOFT: Rgb = [85, 85, 85];
pub const GRID: Rgb = [226, 226, 226];
/// Where there is no number.
pub const GAP: Rgb = [200, 200, 200];

/// The colours of Okabe and Ito, without yellow, which is hardly seen on white.
const LINES: [Rgb; 7] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [230, 159, 0],
    [86, 180, 233],
    [80, 80, 80],
];

/// How many lines have a colour of their own.
pub const TOLD_APART: usize = LINES.len();

/// The colour of one of several lines: of many, from dark to light.
pub fn of_line(which: usize, of: usize) -> Rgb {
    if of <= LINES.len() {
        return LINES[which % LINES.len()];
    }
    // The lightest are too pale for a line.
    viridis(which as f64 / (of - 1) as f64 * 0.85)
}

/// Which colours a range of numbers has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// From dark blue over green to yellow.
    Sequential,
    /// Blue below 0, red above.
    Diverging,
    /// White is 0, black is 1.
    Flags,
}

/// The colour of a number of a range.
pub fn of_number(scale: Scale, x: f64, range: (f64, f64)) -> Rgb {
    if !x.is_finite() {
        return GAP;
    }
    let part = crate::axis::part(x, range).clamp(0.0, 1.0);
    match scale {
        Scale::Sequential => viridis(part),
        Scale::Diverging => between(&DIVERGING, part),
        Scale::Flags => between(&[WHITE, INK], part),
    }
}

/// Anchors of the colour map `viridis`, at equal distances.
const VIRIDIS: [Rgb; 11] = [
    [68, 1, 84],
    [72, 36, 117],
    [65, 68, 135],
    [53, 95, 141],
    [42, 120, 142],
    [33, 145, 140],
    [34, 168, 132],
    [68, 191, 112],
    [122, 209, 81],
    [189, 223, 38],
    [253, 231, 37],
];

/// Those of `RdBu`, from blue to red.
const DIVERGING: [Rgb; 9] = [
    [33, 102, 172],
    [67, 147, 195],
    [146, 197, 222],
    [209, 229, 240],
    [247, 247, 247],
    [253, 219, 199],
    [244, 165, 130],
    [214, 96, 77],
    [178, 24, 43],
];

fn viridis(part: f64) -> Rgb {
    between(&VIRIDIS, part)
}

fn between(anchors: &[Rgb], part: f64) -> Rgb {
    let at = part.clamp(0.0, 1.0) * (anchors.len() - 1) as f64;
    let below = (at.floor() as usize).min(anchors.len() - 2);
    let weight = at - below as f64;
    std::array::from_fn(|i| {
        let (a, b) = (f64::from(anchors[below][i]), f64::from(anchors[below + 1][i]));
        (a + (b - a) * weight).round() as u8
    })
}
