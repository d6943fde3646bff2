//! Names of kernels, reduced to what profiles and programs have in common.

/// Returns the name of a function without return type, namespaces, template parameters and
/// arguments. Names mangled by C++ compilers are reduced to the function's name.
pub(crate) fn base_name(name: &str) -> &str {
    let name = name.trim();
    if let Some(rest) = name.strip_prefix("_Z") {
        return mangled(rest).unwrap_or(name);
    }
    let plain = &name[..end_of_name(name)];
    let start = plain.rfind([' ', ':', '*', '&']).map_or(0, |at| at + 1);
    if start < plain.len() {
        &plain[start..]
    } else {
        name
    }
}

/// Returns where template parameters or arguments begin.
fn end_of_name(name: &str) -> usize {
    // Names of lambdas and anonymous namespaces contain brackets themselves.
    let unnamed = "(anonymous namespace)::";
    let skipped = name.rfind(unnamed).map_or(0, |at| at + unnamed.len());
    let rest = &name[skipped..];
    let first = rest.find(['(', '<']).unwrap_or(rest.len());
    skipped + first
}

/// Returns the last name of a mangled one, whose parts have their lengths before them.
fn mangled(rest: &str) -> Option<&str> {
    let (nested, mut rest) = match rest.strip_prefix('N') {
        Some(inner) => (true, inner),
        None => (false, rest.strip_prefix('L').unwrap_or(rest)),
    };
    let mut last = None;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return last;
        }
        let length: usize = rest[..digits].parse().ok()?;
        let end = digits.checked_add(length)?;
        let name = rest.get(digits..end)?;
        last = Some(name).filter(|name| !name.is_empty());
        rest = &rest[end..];
        if !nested {
            return last;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_name_has_a_base_within_it(name in "(_Z|_ZN|)[0-9]{0,3}[a-zé0-9_:<>() ]{0,12}") {
            prop_assert!(name.contains(base_name(&name)));
        }
    }

    #[test]
    fn names_are_equal_however_they_are_written() {
        for (name, base) in [
            ("vector_add", "vector_add"),
            ("vector_add(float *, float *, int)", "vector_add"),
            ("void reduce<256, float>(const float *, float *)", "reduce"),
            ("ns::inner::kernel(int)", "kernel"),
            ("void (anonymous namespace)::hidden<int>(int)", "hidden"),
            ("_Z10vector_addPfS_i", "vector_add"),
            ("_ZN2ns5innerE", "inner"),
            ("_Z6reduceILi256EfEvPKT0_PS0_", "reduce"),
            ("_ZL6staticv", "static"),
            ("_Z", "_Z"),
            ("_Z99short", "_Z99short"),
            ("_Z4é12", "é12"),
            ("_Z1é", "_Z1é"),
            ("", ""),
            ("(", "("),
        ] {
            assert_eq!(base_name(name), base, "{name}");
        }
    }
}
