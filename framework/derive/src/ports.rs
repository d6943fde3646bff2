//! The derive of `Ports`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, LitStr, Path, Result};

use crate::attributes::{framework, has, implement, members, name_of, read};

/// Attributes of one port field.
#[derive(Default)]
pub(crate) struct PortField {
    optional: bool,
    without: Option<LitStr>,
    required_if: Option<Path>,
    rename: Option<LitStr>,
    pub(crate) flatten: bool,
}

impl PortField {
    /// Reads the attributes of a field; none of them are set if it is no port.
    ///
    /// # Errors
    /// Attributes that are not known, or that contradict each other.
    pub(crate) fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut port = Self::default();
        read(attributes, "port", |item| {
            if item.path.is_ident("optional") {
                port.optional = true;
            } else if item.path.is_ident("flatten") {
                port.flatten = true;
            } else if item.path.is_ident("without") {
                port.without = Some(item.value()?.parse()?);
            } else if item.path.is_ident("required_if") {
                port.required_if = Some(item.value()?.parse()?);
            } else if item.path.is_ident("rename") {
                port.rename = Some(item.value()?.parse()?);
            } else {
                return Err(item.error(
                    "expected `optional`, `without`, `required_if`, `rename` or `flatten`",
                ));
            }
            Ok(())
        })?;
        let is_optional = port.optional;
        if !is_optional && (port.without.is_some() || port.required_if.is_some()) {
            let message = "`without` and `required_if` are for ports that are `optional`";
            let place = attributes.iter().find(|one| one.path().is_ident("port"));
            return Err(syn::Error::new_spanned(place, message));
        }
        Ok(port)
    }
}

/// Generates the impl of `Bundle`, and a constant for each port.
///
/// # Errors
/// What is no struct, and attributes that are not known.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new_spanned(input, "`Ports` is for structs"));
    };
    let framework = framework();
    let (mut named, mut constants) = (Vec::new(), Vec::new());
    for (member, field) in members(&data.fields) {
        if !has(&field.attrs, "port") {
            continue;
        }
        let port = PortField::of(&field.attrs)?;
        if port.flatten {
            named.push(quote!(#framework::Bundle::ports(&mut self.#member, ports);));
            continue;
        }
        let name = name_of(field, port.rename.as_ref())?;
        let constant = format_ident!("{}", name.to_uppercase());
        let (visible, doc) = (&input.vis, format!("Name of the port `{name}`."));
        constants.push(quote! {
            #[doc = #doc]
            #[allow(dead_code, reason = "a component need not mention all of its ports")]
            #visible const #constant: #framework::PortName = #framework::PortName::new(#name);
        });
        let name_it = quote!(ports.port(Self::#constant, &mut self.#member));
        let named_so = match (&port.optional, &port.without) {
            (false, _) => quote!(#name_it;),
            (true, None) => quote!(ports.optional(|ports| #name_it);),
            (true, Some(without)) => quote!(ports.advisable(#without, |ports| #name_it);),
        };
        named.push(match &port.required_if {
            None => named_so,
            Some(path) => quote!(if #path(self) { #name_it; } else { #named_so }),
        });
    }
    let body = quote! {
        #[allow(unused_variables, reason = "a component may have no ports")]
        fn ports(&mut self, ports: &mut #framework::Ports<'_>) {
            #(#named)*
        }
    };
    let bundle = implement(input, &quote!(#framework::Bundle), Vec::new(), &body);
    let name = &input.ident;
    let (impl_generics, type_generics, clause) = input.generics.split_for_impl();
    Ok(quote! {
        #bundle
        #[automatically_derived]
        impl #impl_generics #name #type_generics #clause {
            #(#constants)*
        }
    })
}
