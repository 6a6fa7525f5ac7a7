use super::*;
use inkwell::context::Context;
use remc_base::ops::TABLE;

/// The text of a function `f` whose parameters are of the given types and whose body `body` writes.
fn text(
    parameters: &[(BaseTy, Option<u32>)],
    body: impl for<'a, 'c> FnOnce(&Emit<'a, 'c>, &[Value<'c>]) -> Result<(), EmitError>,
) -> Result<String, EmitError> {
    let context = Context::create();
    let module = context.create_module("m");
    let builder = context.create_builder();
    let emit = Emit::new(&context, &module, &builder, true);
    let tys: Vec<_> = parameters.iter().map(|(t, w)| emit.llvm_ty(*t, *w).into()).collect();
    let f = module.add_function("f", context.void_type().fn_type(&tys, false), None);
    builder.position_at_end(context.append_basic_block(f, ""));
    body(&emit, &f.get_params())?;
    builder.build_return(None)?;
    module.verify().map_err(|e| EmitError::Llvm(e.to_string()))?;
    Ok(module.print_to_string().to_string())
}

#[test]
fn only_reductions_are_reassociated() {
    for op in [ScalarOp::Add, ScalarOp::Sub, ScalarOp::Mul, ScalarOp::Div, ScalarOp::Min2, ScalarOp::Max2] {
        for reassoc in [false, true] {
            let ir = text(&[(BaseTy::F32, Some(8)); 2], |e, a| {
                Emit { reassoc, ..*e }.op(op, &[BaseTy::F32; 2], a).map(|_| ())
            });
            let may = !matches!(op, ScalarOp::Sub | ScalarOp::Div);
            assert_eq!(ir.unwrap().contains("reassoc"), reassoc && may, "{op}");
        }
    }
}

#[test]
fn operands_of_other_types_are_errors() {
    for row in TABLE {
        let f = text(&[(BaseTy::F32, None); 4], |e, a| {
            assert!(e.op(row.op, &[BaseTy::F32; 4], a).is_err());
            assert!(e.op(row.op, &[BaseTy::F32; 4], &a[..1]).is_err());
            assert!(e.failure(row.op, &[], &[]).is_err());
            // The types say int, the values are floats.
            let tys: Vec<BaseTy> = row.operands.iter().map(|_| BaseTy::I64).collect();
            if row.op.result_ty(&tys).is_some_and(|t| t != BaseTy::F64) {
                let _ = e.op(row.op, &tys, &a[..tys.len()]);
            }
            Ok(())
        });
        assert!(f.is_ok() || !f.unwrap_err().to_string().is_empty());
    }
    let mixed = text(&[(BaseTy::F32, None), (BaseTy::F32, Some(4))], |e, a| {
        e.op(ScalarOp::Add, &[BaseTy::F32; 2], a).map(|_| ())
    });
    assert!(mixed.is_err());
}

/// A function that is made for an operator is not what the operator itself is made of.
#[test]
fn no_operator_is_made_of_itself() {
    for row in TABLE {
        let tys: Vec<BaseTy> = row.operands.iter().map(|_| BaseTy::F64).collect();
        if row.op.result_ty(&tys).is_none() {
            continue;
        }
        let parameters: Vec<_> = tys.iter().map(|ty| (*ty, None)).collect();
        let ir = text(&parameters, |e, a| e.op_called(row.op, &tys, a).map(|_| ())).unwrap();
        for f in ir.split("define ").skip(1) {
            let name = f.split(['@', '(']).nth(1).unwrap();
            assert_eq!(f.matches(&format!("@{name}(")).count(), 1, "{}: {ir}", row.op);
        }
    }
}

#[test]
fn a_small_constant_exponent_is_multiplied_out() {
    for lanes in [None, Some(4)] {
        let ir = text(&[(BaseTy::F64, lanes)], |e, a| {
            let three = e.constant(Scalar::I64(3), lanes);
            e.op(ScalarOp::Expt, &[BaseTy::F64, BaseTy::I64], &[a[0], three]).map(|_| ())
        })
        .unwrap();
        assert_eq!(ir.matches("fmul").count(), 2, "{ir}");
        assert!(!ir.contains("call"), "{ir}");
    }
}

/// A vector of powers is one code for all lanes where the exponent is known and no integer, and calls no library.
#[test]
fn powers_of_a_fraction_are_functions() {
    for (ty, lanes) in [(BaseTy::F64, None), (BaseTy::F64, Some(4)), (BaseTy::F32, Some(8))] {
        let of = |exponent: f64| {
            text(&[(ty, lanes)], |e, a| {
                let exponent = e.constant(Scalar::F64(exponent), lanes);
                e.op(ScalarOp::Expt, &[ty, BaseTy::F64], &[a[0], exponent]).map(|_| ())
            })
            .unwrap()
        };
        assert!(!of(-2.4).contains("pow"), "{}", of(-2.4));
        // Of these the table says more.
        assert!(of(f64::INFINITY).contains("pow") && of(1e40).contains("pow"));
    }
}

#[test]
fn a_splat_of_a_constant_is_a_constant() {
    let ir = text(&[(BaseTy::I32, Some(8))], |e, a| {
        let d = e.splat(e.constant(Scalar::I32(10), None), 8)?;
        e.op(ScalarOp::Quotient, &[BaseTy::I32; 2], &[a[0], d]).map(|_| ())
    })
    .unwrap();
    assert!(ir.contains("sdiv <8 x i32>"), "{ir}");
}

#[test]
fn distances_count_floats_between() {
    let f = Scalar::F32;
    assert_eq!(ulp_distance(f(1.0), f(1.0 + f32::EPSILON)), Some(1));
    assert_eq!(ulp_distance(f(f32::NAN), f(-f32::NAN)), Some(0));
    assert_eq!(ulp_distance(f(f32::NAN), f(1.0)), None);
    assert_eq!(ulp_distance(f(0.0), f(-0.0)), None);
    assert_eq!(ulp_distance(f(f32::from_bits(1)), f(-f32::from_bits(1))), Some(2));
    assert_eq!(ulp_distance(f(f32::MAX), f(f32::INFINITY)), Some(1));
    assert_eq!(ulp_distance(Scalar::I64(5), Scalar::I64(4)), Some(1));
    assert_eq!(ulp_distance(Scalar::I64(1 << 62), Scalar::I64((1 << 62) + 1024)), Some(1));
    assert_eq!(ulp_distance(Scalar::Bool(true), Scalar::Bool(false)), None);
}

/// LLVM compares halves one lane after the other where there are no instructions for them.
#[test]
fn halves_are_compared_as_integers() {
    use ScalarOp::*;
    for lanes in [None, Some(32)] {
        for op in [Eq, Ne, Lt, Le, Gt, Ge, Min2, Max2, Sign] {
            let n = if op == Sign { 1 } else { 2 };
            let ir = text(&[(BaseTy::F16, lanes)].repeat(n), |e, a| {
                e.op(op, &[BaseTy::F16].repeat(n), a).map(|_| ())
            })
            .unwrap();
            assert!(ir.contains("i16") && !ir.contains("fcmp") && !ir.contains("fpext"), "{op}: {ir}");
        }
    }
}
