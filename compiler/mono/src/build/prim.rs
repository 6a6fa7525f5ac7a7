//! The array primitives by name, and which function in [`prims`](super::prims) each is.

/// Hands the table on to a macro that makes something of its rows.
macro_rules! for_each_primitive {
    ($with:ident) => {
        $with! {
            "reduce" Reduce fold::reduce;
            "reduce/zero" ReduceZero fold::reduce_zero;
            "iscan" Iscan fold::iscan;
            "iscan/zero" IscanZero fold::iscan_zero;
            "scan/zero" ScanZero fold::scan_zero;
            "open-scan/zero" OpenScanZero fold::open_scan_zero;
            "fold" Fold fold::fold;
            "trace" Trace fold::trace;
            "mean/float" MeanFloat halves::mean;
            "iterate" Iterate fold::iterate;
            "while" While fold::while_;
            "iota" Iota shape::iota;
            "replicate" Replicate shape::replicate;
            "reshape" Reshape shape::reshape;
            "with-shape" WithShape shape::with_shape;
            "append" Append shape::append;
            "reverse" Reverse shape::reverse;
            "collect" Collect shape::collect;
            "streamed" Streamed shape::streamed;
            "recursion-depth" RecursionDepth shape::recursion_depth;
            "rotate" Rotate shape::rotate;
            "transpose" Transpose shape::transpose;
            "indices-of" IndicesOf shape::indices_of;
            "index" Index parts::index;
            "subvector" Subvector parts::subvector;
            "subarray" Subarray parts::subarray;
            "subarray/wrap" SubarrayWrap parts::subarray_wrap;
            "subarray/fill" SubarrayFill parts::subarray_fill;
            "scatter" Scatter parts::scatter;
            "scatter/into" ScatterInto parts::scatter_into;
            "scatter/combine" ScatterCombine parts::scatter_combine;
            "filter" Filter choice::filter;
            "replicate/counts" ReplicateCounts choice::replicate_counts;
            "grade" Grade order::grade;
            "grade/by" GradeBy order::grade_by;
            "before?" Before order::before;
            "split" Split choice::split;
            "concat" Concat choice::concat;
            "segments" Segments choice::segments;
        }
    };
}
pub(crate) use for_each_primitive;

macro_rules! names {
    ($($name:literal $prim:ident $module:ident :: $function:ident;)*) => {
        /// A primitive that is no scalar operator.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Prim {
            $($prim,)*
        }

        impl Prim {
            pub const ALL: &'static [Prim] = &[$(Prim::$prim),*];

            pub fn from_name(name: &str) -> Option<Prim> {
                match name {
                    $($name => Some(Prim::$prim),)*
                    _ => None,
                }
            }

            pub fn name(self) -> &'static str {
                match self {
                    $(Prim::$prim => $name,)*
                }
            }
        }
    };
}
for_each_primitive!(names);
