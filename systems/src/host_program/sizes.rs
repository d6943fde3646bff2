//! Sizes of a workload: named sets of parameter values.

use std::collections::BTreeMap;

use warpweave_inputs::Name;
use warpweave_params::{Diagnostic, Diagnostics, Entries, Node, name_hint};

/// Returns the values that replace those in `params`: those of the chosen size, then the overrides.
pub(super) fn values(
    params: &Entries<Node>,
    sizes: &Entries<Entries<Node>>,
    chosen: Option<&Name>,
    overrides: &BTreeMap<String, Node>,
) -> Result<BTreeMap<String, Node>, Diagnostics> {
    let mut problems = Diagnostics::new();
    for (size, values) in sizes {
        for (name, _) in values {
            if params.get(&name.value).is_none() {
                let message = format!(
                    "size `{}` sets `{}`, which is not a parameter of the workload",
                    size.value, name.value
                );
                problems.push(name.error(message).hint(name_hint(
                    &name.value,
                    "parameters",
                    params.names(),
                )));
            }
        }
    }
    let of_size = chosen.and_then(|chosen| problems.take(find(sizes, chosen)));
    let of_size = of_size.into_iter().flatten();
    let of_size = of_size.map(|(name, value)| (name.value.clone(), value.clone()));
    let mut values: BTreeMap<String, Node> = of_size.collect();
    values.extend(overrides.clone());
    problems.into_result(values)
}

fn find<'s>(
    sizes: &'s Entries<Entries<Node>>,
    chosen: &Name,
) -> Result<&'s Entries<Node>, Diagnostic> {
    let found = sizes.get(&chosen.value).map(|(_, values)| values);
    found.ok_or_else(|| {
        chosen
            .error(format!("the workload has no size `{}`", chosen.value))
            .hint(name_hint(&chosen.value, "sizes", sizes.names()))
    })
}
