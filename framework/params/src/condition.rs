//! Conditions in a description that are evaluated later: `true`, `false` or expressions.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, EnumAccess, Visitor};

use crate::Diagnostic;
use crate::expression::{Env, eval_at};
use crate::node::Kind;
use crate::placed::Placed;

/// A condition as it is given in a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The condition is written as `true` or `false`.
    Given(bool),
    /// An expression, without the `=` that marks it in files.
    Expression(String),
}

impl Placed<Condition> {
    /// Evaluates the condition.
    ///
    /// # Errors
    /// Returns an error, at the part at fault, if the expression has no value or gives no boolean.
    pub fn holds(&self, env: &Env) -> Result<bool, Diagnostic> {
        let text = match &self.value {
            Condition::Given(holds) => return Ok(*holds),
            Condition::Expression(text) => text,
        };
        match eval_at(text, self.place.as_ref(), env)? {
            Kind::Bool(holds) => Ok(holds),
            other => {
                let message = format!("expected a condition, found {}", other.describe());
                let hint = "compare it: `=n != 0`";
                Err(self.error(message).hint(hint))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ConditionVisitor;

        impl<'de> Visitor<'de> for ConditionVisitor {
            type Value = Condition;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, `false` or an expression such as \"=n > 1\"")
            }

            fn visit_bool<E: de::Error>(self, holds: bool) -> Result<Condition, E> {
                Ok(Condition::Given(holds))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Condition, E> {
                match text.strip_prefix('=') {
                    Some(expression) => Ok(Condition::Expression(expression.to_owned())),
                    None => Err(E::custom(format_args!(
                        "expected a condition, found string {text:?}\nhint: write \"={text}\""
                    ))),
                }
            }

            fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Condition, A::Error> {
                let (name, _) = data.variant::<String>()?;
                Err(de::Error::custom(format_args!(
                    "expected a condition, found `{name}`\nhint: write \"={name}\""
                )))
            }
        }

        deserializer.deserialize_any(ConditionVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Diagnostics, Source, from_node, parse};

    fn read(text: &str) -> Result<Placed<Condition>, Diagnostics> {
        from_node(&parse(&Source::new("a.ron", text)).unwrap())
    }

    fn holds(text: &str) -> Result<bool, String> {
        let env = Env::from_iter([("n", 3)]);
        let condition = read(text).map_err(|problems| problems.to_string())?;
        condition.holds(&env).map_err(|error| error.to_string())
    }

    #[test]
    fn booleans_and_comparisons_hold_or_not() {
        assert_eq!(holds("true"), Ok(true));
        assert_eq!(holds("false"), Ok(false));
        assert_eq!(holds("\"=n == 3 && true\""), Ok(true));
        assert_eq!(holds("\"=n > 3\""), Ok(false));
    }

    #[test]
    fn anything_else_is_refused_with_its_place_and_what_to_write() {
        let refusal = |text| holds(text).unwrap_err();
        for (text, parts) in [
            (
                "\"=n\"",
                ["expected a condition, found integer `3`", "a.ron:1:1"],
            ),
            ("\"n > 1\"", ["write \"=n > 1\"", "a.ron:1:1"]),
            ("fast", ["write \"=fast\"", "a.ron:1:1"]),
            ("\"=m > 1\"", ["did you mean `n`?", "a.ron:1:3"]),
            ("3", ["`true`, `false` or an expression", "a.ron:1:1"]),
        ] {
            for part in parts {
                assert!(refusal(text).contains(part), "{}", refusal(text));
            }
        }
    }

    #[test]
    fn a_condition_of_rust_code_has_no_place() {
        let condition: Placed<Condition> = Condition::Expression("m".to_owned()).into();
        let text = condition.holds(&Env::new()).unwrap_err().to_string();
        assert!(
            text.starts_with("error: expression `m`: unknown name `m`"),
            "{text}"
        );
    }
}
