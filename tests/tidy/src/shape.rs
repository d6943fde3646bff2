//! Sizes of the types and functions of a piece of product code.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Sizes of what a file declares, without its unit tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Fields of each struct and of each variant of an enum. Structs that describe a user's file
    /// are left out: their fields are the documented fields of the file.
    pub fields: BTreeMap<String, usize>,
    /// Types that the file defines, descriptions among them.
    pub types: Vec<String>,
    /// Types that have an `impl` block in the file.
    pub implements: Vec<String>,
    /// Lines of each function, from its signature to its closing brace.
    pub lines: Vec<(String, usize)>,
    /// Parameters of each function with a tuple pattern among them, its members counted apart.
    pub spelled_out: Vec<(String, usize)>,
}

impl Shape {
    /// Measures the code of a file.
    ///
    /// # Errors
    /// Returns a message if the code is no Rust.
    pub fn of(code: &str) -> Result<Self, syn::Error> {
        let file = syn::parse_file(code)?;
        let mut shape = Self::default();
        shape.visit_file(&file);
        Ok(shape)
    }

    fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let name = signature.ident.to_string();
        let lines = block.span().end().line + 1 - signature.span().start().line;
        self.lines.push((name.clone(), lines));
        let tuples = signature.inputs.iter().map(|input| match input {
            syn::FnArg::Typed(typed) => match &*typed.pat {
                syn::Pat::Tuple(tuple) => Some(tuple.elems.len()),
                _ => None,
            },
            syn::FnArg::Receiver(_) => None,
        });
        let tuples: Vec<Option<usize>> = tuples.collect();
        if tuples.iter().any(Option::is_some) {
            let all = tuples.into_iter().map(|members| members.unwrap_or(1)).sum();
            self.spelled_out.push((name, all));
        }
    }
}

impl Visit<'_> for Shape {
    fn visit_item(&mut self, item: &syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            _ => return,
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &syn::ItemStruct) {
        let name = item.ident.to_string();
        if !is_description(&item.attrs) {
            self.fields.insert(name.clone(), item.fields.len());
        }
        self.types.push(name);
    }

    fn visit_item_enum(&mut self, item: &syn::ItemEnum) {
        for variant in &item.variants {
            let name = format!("{}::{}", item.ident, variant.ident);
            self.fields.insert(name, variant.fields.len());
        }
        self.types.push(item.ident.to_string());
    }

    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        if let syn::Type::Path(path) = &*item.self_ty
            && let Some(last) = path.path.segments.last()
        {
            self.implements.push(last.ident.to_string());
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            self.measure(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let words = words(attribute);
        attribute.path().is_ident("cfg") && words.first().is_some_and(|word| word == "test")
    })
}

/// True for a struct that is read from a user's file: it derives `Deserialize`, and refuses unknown
/// fields or is never written.
fn is_description(attributes: &[syn::Attribute]) -> bool {
    let has = |attribute: &str, word: &str| {
        let mut of_name = attributes.iter().filter(|a| a.path().is_ident(attribute));
        of_name.any(|a| words(a).iter().any(|w| w == word))
    };
    let is_kept = has("derive", "Serialize") && !has("serde", "deny_unknown_fields");
    has("derive", "Deserialize") && !is_kept
}

/// Returns the words of an attribute's list in order.
fn words(attribute: &syn::Attribute) -> Vec<String> {
    let syn::Meta::List(list) = &attribute.meta else {
        return Vec::new();
    };
    let text = list.tokens.to_string();
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_except_those_of_descriptions_and_tests() {
        let code = "struct A { a: u8, b: u8 }\nenum E { V { a: u8 }, W(u8, u8, u8) }\n\
            #[derive(Clone, Serialize, Deserialize)]\n#[serde(deny_unknown_fields)]\n\
            struct Spec { a: u8 }\n\
            #[derive(Deserialize)]\nstruct File { a: u8 }\n\
            #[derive(Serialize, Deserialize)]\nstruct Kept { a: u8 }\n\
            #[cfg(test)]\nmod tests { struct T { a: u8 } }\n";
        let shape = Shape::of(code).unwrap();
        let fields: Vec<_> = shape.fields.iter().map(|(n, f)| (n.as_str(), *f)).collect();
        assert_eq!(fields, [("A", 2), ("E::V", 1), ("E::W", 3), ("Kept", 1)]);
        assert_eq!(shape.types, ["A", "E", "Spec", "File", "Kept"]);
    }

    #[test]
    fn functions_are_measured_with_their_signature_and_spelled_out() {
        let code = "impl A {\n    fn f(\n        &self,\n        (a, b): (u8, u8),\n    ) {\n    }\n}\n\
            impl crate::B for A {}\nfn g(a: (u8, u8)) {}\n#[cfg(test)]\nfn h() {}\n";
        let shape = Shape::of(code).unwrap();
        assert_eq!(shape.lines, [("f".to_owned(), 5), ("g".to_owned(), 1)]);
        assert_eq!(shape.spelled_out, [("f".to_owned(), 3)]);
        assert_eq!(shape.implements, ["A", "A"]);
    }
}
