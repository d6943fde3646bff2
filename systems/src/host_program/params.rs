//! Parameters of a workload file, for expressions and by name.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use warpweave_inputs::Name;
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Env, Field, Kind, Node, Struct, eval, from_node, name_hint,
    resolve_expressions, to_ron,
};

/// Parameters with their values after overrides.
#[derive(Default)]
pub(super) struct Params {
    /// All parameters by name, as expressions see them.
    pub(super) env: Env,
    /// Parameters other than integers; `"=name"` alone refers to the whole value.
    values: BTreeMap<String, Node>,
}

impl Params {
    /// Assigns values to the declared parameters; an override replaces the declared value.
    pub(super) fn read(
        declared: &Entries<Node>,
        overrides: &BTreeMap<String, Node>,
    ) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut params = Self::default();
        for (name, default) in declared {
            let replacement = overrides.get(&name.value);
            if let Err(error) = params.define(name, default, replacement) {
                problems.take::<()>(Err(error));
            }
        }
        for (name, value) in overrides {
            if !declared.names().any(|declared| declared == name) {
                problems.push(
                    Diagnostic::error(format!("the workload has no parameter `{name}`"))
                        .at(&value.span)
                        .hint(name_hint(name, "parameters", declared.names())),
                );
            }
        }
        problems.into_result(params)
    }

    fn define(
        &mut self,
        name: &Name,
        default: &Node,
        replacement: Option<&Node>,
    ) -> Result<(), Diagnostics> {
        let mut default = default.clone();
        self.substitute(&mut default)?;
        let mut value = replacement.cloned().unwrap_or_else(|| default.clone());
        self.substitute(&mut value)?;
        let fits = match default.kind {
            Kind::Int(_) => matches!(value.kind, Kind::Int(_)),
            Kind::Float(_) => matches!(value.kind, Kind::Int(_) | Kind::Float(_)),
            _ => true,
        };
        if !fits {
            let message = format!(
                "parameter `{}` is a number such as {}, found {}",
                name.value,
                default.span.text(),
                value.describe()
            );
            return Err(Diagnostic::error(message).at(&value.span).into());
        }
        if matches!(value.kind, Kind::Int(_)) {
            self.env.set(&name.value, from_node::<i64>(&value)?);
            return Ok(());
        }
        self.env.define(&name.value, value.kind.clone());
        self.values.insert(name.value.clone(), value);
        Ok(())
    }

    /// Returns the text of a workload file with all parameters evaluated. It is equal for files and
    /// overrides that mean the same program.
    pub(super) fn resolved(&self, workload: &Node) -> String {
        let mut workload = workload.clone();
        if let Kind::Struct(Struct { fields, .. }) = &mut workload.kind {
            fields.retain(|field| !matches!(field.name.text.as_str(), "summary" | "sizes"));
            let params = fields.iter_mut().find(|field| field.name.text == "params");
            match params.map(|field| &mut field.value.kind) {
                Some(Kind::Map(entries)) => {
                    for (name, value) in entries {
                        self.resolve(name.as_str().unwrap_or_default(), value);
                    }
                }
                Some(Kind::Struct(Struct { fields, .. })) => {
                    for Field { name, value } in fields {
                        self.resolve(&name.text, value);
                    }
                }
                _ => {}
            }
        }
        to_ron(&workload)
    }

    /// Replaces a declared parameter value by its final value.
    fn resolve(&self, name: &str, declared: &mut Node) {
        match self.values.get(name) {
            Some(value) => declared.kind = value.kind.clone(),
            None => {
                if let Ok(value) = eval(name, &self.env) {
                    declared.kind = value;
                }
            }
        }
    }

    /// Replaces `"=name"` by non-integer parameters, and expressions by integers where they are
    /// already known.
    fn substitute(&self, node: &mut Node) -> Result<(), Diagnostics> {
        self.insert_values(node);
        resolve_expressions(node, &self.env)
    }

    /// Reads a section of the file; it is empty if omitted.
    pub(super) fn part<T: DeserializeOwned + Default>(
        &self,
        node: Option<Node>,
    ) -> Result<T, Diagnostics> {
        let Some(mut node) = node else {
            return Ok(T::default());
        };
        self.insert_values(&mut node);
        from_node(&node)
    }

    /// Reads a section that is present in the file.
    pub(super) fn value<T: DeserializeOwned>(&self, mut node: Node) -> Result<T, Diagnostics> {
        self.insert_values(&mut node);
        from_node(&node)
    }

    /// Reads a section of the file whose expressions can all be evaluated now.
    pub(super) fn evaluated_part<T: DeserializeOwned + Default>(
        &self,
        node: Option<Node>,
        env: &Env,
    ) -> Result<T, Diagnostics> {
        let Some(mut node) = node else {
            return Ok(T::default());
        };
        self.insert_values(&mut node);
        resolve_expressions(&mut node, env)?;
        from_node(&node)
    }

    /// Replaces `"=name"` by the values of non-integer parameters.
    fn insert_values(&self, node: &mut Node) {
        node.walk_mut(&mut |node| {
            let name = node.as_str().and_then(|text| text.strip_prefix('='));
            if let Some(value) = name.and_then(|name| self.values.get(name.trim())) {
                *node = value.clone();
            }
        });
    }
}
