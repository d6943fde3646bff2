//! Attributes of fields, and the paths that generated code uses.

use std::{env, fs};

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Field, Fields, Generics, Ident, Index, LitStr, Member, Meta, Result};

/// Path of the framework in the crate that derives: its own, or that of the program's library.
///
/// A program of its own depends on `warpweave` alone, which re-exports the framework.
pub(crate) fn framework() -> TokenStream {
    let manifest = env::var("CARGO_MANIFEST_DIR").map(|folder| format!("{folder}/Cargo.toml"));
    let manifest =
        manifest.and_then(|file| fs::read_to_string(file).map_err(|_| env::VarError::NotPresent));
    match manifest {
        Ok(text) if !text.contains("warpweave-framework") => quote!(::warpweave::framework),
        _ => quote!(::warpweave_framework),
    }
}

/// Returns true if there is an attribute of this name.
pub(crate) fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident(name))
}

/// Reads every `#[name(…)]`, item by item; `#[name]` alone has no items.
pub(crate) fn read(
    attributes: &[Attribute],
    name: &str,
    mut item: impl FnMut(ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    for attribute in attributes {
        if attribute.path().is_ident(name) && !matches!(attribute.meta, Meta::Path(_)) {
            attribute.parse_nested_meta(&mut item)?;
        }
    }
    Ok(())
}

/// Field names or numbers, with the fields.
pub(crate) fn members(fields: &Fields) -> impl Iterator<Item = (Member, &Field)> {
    fields.iter().enumerate().map(|(number, field)| {
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(Index::from(number)),
        };
        (member, field)
    })
}

/// Name of a field in files and reports: its own unless it is renamed.
///
/// # Errors
/// A field without a name.
pub(crate) fn name_of(field: &Field, renamed: Option<&LitStr>) -> Result<String> {
    match (renamed, &field.ident) {
        (Some(renamed), _) => Ok(renamed.value()),
        (None, Some(ident)) => Ok(unraw(ident)),
        (None, None) => Err(syn::Error::new_spanned(
            field,
            "a field without a name needs `rename = \"…\"`",
        )),
    }
}

/// Text of an identifier without `r#`.
pub(crate) fn unraw(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").unwrap_or(&text).to_owned()
}

/// Whether a type mentions one of the type parameters.
pub(crate) fn is_generic(field: &Field, generics: &Generics) -> bool {
    fn mentions(tokens: TokenStream, names: &[&Ident]) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Ident(ident) => names.iter().any(|name| **name == ident),
            proc_macro2::TokenTree::Group(group) => mentions(group.stream(), names),
            _ => false,
        })
    }
    let names: Vec<&Ident> = generics.type_params().map(|param| &param.ident).collect();
    let ty = &field.ty;
    !names.is_empty() && mentions(quote!(#ty), &names)
}

/// The impl of a trait for the deriving type, with bounds for fields of generic types.
pub(crate) fn implement(
    input: &syn::DeriveInput,
    the_trait: &TokenStream,
    bounds: Vec<TokenStream>,
    body: &TokenStream,
) -> TokenStream {
    let (name, mut generics) = (&input.ident, input.generics.clone());
    let clause = generics.make_where_clause();
    for bound in bounds {
        clause.predicates.push(syn::parse_quote!(#bound));
    }
    let (impl_generics, type_generics, clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #the_trait for #name #type_generics #clause {
            #body
        }
    }
}
