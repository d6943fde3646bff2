//! The derive of `State`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DataEnum, DataStruct, DeriveInput, Field, Fields, LitStr, Path, Result,
};

use crate::attributes::{framework, has, implement, is_generic, members, name_of, read};
use crate::ports::PortField;

/// Method by which a field is saved.
enum Saving {
    Field,
    Skip,
    Tally,
    Array,
    Part,
    Parts,
    Flatten,
    With(Path),
}

/// Attributes of one field or variant.
struct Saved {
    saving: Saving,
    rename: Option<LitStr>,
}

impl Saved {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut rename = None;
        let mut saving: Option<Saving> = None;
        // A struct whose ports are named as if they were here may have state as well.
        let (is_port, is_part) = (has(attributes, "port"), PortField::of(attributes)?.flatten);
        if is_port && !is_part {
            saving = Some(Saving::Skip);
        }
        read(attributes, "state", |item| {
            let found = match item.path.get_ident().map(ToString::to_string).as_deref() {
                Some("rename") => {
                    rename = Some(item.value()?.parse()?);
                    return Ok(());
                }
                Some("skip") => Saving::Skip,
                Some("tally") => Saving::Tally,
                Some("array") => Saving::Array,
                Some("part") => Saving::Part,
                Some("parts") => Saving::Parts,
                Some("flatten") => Saving::Flatten,
                Some("with") => Saving::With(item.value()?.parse()?),
                _ => {
                    return Err(item.error(
                        "expected `skip`, `tally`, `array`, `part`, `parts`, `flatten`, `with` or `rename`",
                    ));
                }
            };
            match saving.replace(found) {
                None => Ok(()),
                Some(_) => Err(item.error("a field is saved in one way, and a port in none")),
            }
        })?;
        let unnamed = if is_port { Saving::Skip } else { Saving::Field };
        let saving = saving.unwrap_or(unnamed);
        Ok(Self { saving, rename })
    }
}

/// Attributes of the type.
#[derive(Default)]
struct Whole {
    prepare: Option<Path>,
    restore: Option<Path>,
    refuse: Option<LitStr>,
}

impl Whole {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut whole = Self::default();
        read(attributes, "state", |item| {
            if item.path.is_ident("prepare") {
                whole.prepare = Some(item.value()?.parse()?);
            } else if item.path.is_ident("restore") {
                whole.restore = Some(item.value()?.parse()?);
            } else if item.path.is_ident("refuse") {
                whole.refuse = Some(item.value()?.parse()?);
            } else {
                return Err(item.error("expected `prepare`, `restore` or `refuse`"));
            }
            Ok(())
        })?;
        Ok(whole)
    }
}

/// Generates the impl of `Stateful`.
///
/// # Errors
/// A union, a variant of several fields, and attributes that are not known.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let framework = framework();
    let whole = Whole::of(&input.attrs)?;
    let mut bounds = Vec::new();
    let fields = match (&input.data, &whole.refuse) {
        (_, Some(why)) => quote!(state.refuse(#why);),
        (Data::Struct(data), None) => of_struct(input, data, &framework, &mut bounds)?,
        (Data::Enum(data), None) => of_enum(input, data, &framework, &mut bounds)?,
        (Data::Union(_), None) => {
            return Err(syn::Error::new_spanned(
                input,
                "`State` is for structs and enums",
            ));
        }
    };
    let prepare = whole.prepare.map(|path| quote!(#path(self);));
    let restore = whole
        .restore
        .map(|path| quote!(if state.is_loading() { #path(self); }));
    let body = quote! {
        #[allow(unused_variables, reason = "a part may have no state")]
        fn state(&mut self, state: &mut #framework::State<'_>) {
            #prepare
            #fields
            #restore
        }
    };
    Ok(implement(
        input,
        &quote!(#framework::Stateful),
        bounds,
        &body,
    ))
}

fn of_struct(
    input: &DeriveInput,
    data: &DataStruct,
    framework: &TokenStream,
    bounds: &mut Vec<TokenStream>,
) -> Result<TokenStream> {
    let mut lines = Vec::new();
    for (member, field) in members(&data.fields) {
        let saved = Saved::of(&field.attrs)?;
        let value = quote_spanned!(field.span()=> &mut self.#member);
        let name = || name_of(field, saved.rename.as_ref());
        let visit = quote_spanned!(field.span()=> #framework::Stateful::state);
        lines.push(match &saved.saving {
            Saving::Skip => continue,
            Saving::Field => {
                let name = name()?;
                quote_spanned!(field.span()=> state.field(#name, #value);)
            }
            Saving::Tally => {
                let name = name()?;
                quote_spanned!(field.span()=> state.tally(#name, #value);)
            }
            Saving::Array => {
                let name = name()?;
                quote_spanned!(field.span()=> state.array(#name, #value);)
            }
            Saving::Part => {
                let name = name()?;
                quote!(state.part(#name, |state| #visit(#value, state));)
            }
            Saving::Parts => {
                let name = name()?;
                quote! {
                    for (number, part) in self.#member.iter_mut().enumerate() {
                        let name = ::std::format!("{}[{number}]", #name);
                        state.part(&name, |state| #visit(part, state));
                    }
                }
            }
            Saving::Flatten => quote!(#visit(#value, state);),
            Saving::With(path) => {
                let name = name()?;
                quote!(#path(#value, #name, state);)
            }
        });
        if is_generic(field, &input.generics) {
            bounds.extend(bound(field, &saved.saving, framework));
        }
    }
    Ok(quote!(#(#lines)*))
}

/// Bound that saving a field of a generic type needs, if it is the type's own.
fn bound(field: &Field, saving: &Saving, framework: &TokenStream) -> Option<TokenStream> {
    let ty = &field.ty;
    match saving {
        Saving::Field | Saving::Tally => Some(quote!(#ty: #framework::SavedValue)),
        Saving::Part | Saving::Flatten => Some(quote!(#ty: #framework::Stateful)),
        Saving::Skip | Saving::Array | Saving::Parts | Saving::With(_) => None,
    }
}

fn of_enum(
    input: &DeriveInput,
    data: &DataEnum,
    framework: &TokenStream,
    bounds: &mut Vec<TokenStream>,
) -> Result<TokenStream> {
    let mut arms = Vec::new();
    for variant in &data.variants {
        let (saved, ident) = (Saved::of(&variant.attrs)?, &variant.ident);
        let fields = match &variant.fields {
            Fields::Unit => quote!(),
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => quote!((part)),
            Fields::Unnamed(_) | Fields::Named(_) if matches!(saved.saving, Saving::Skip) => {
                quote!({ .. })
            }
            Fields::Unnamed(_) | Fields::Named(_) => {
                let message = "a variant holds one value, or is marked `#[state(skip)]`";
                return Err(syn::Error::new_spanned(variant, message));
            }
        };
        let visit = match (&variant.fields, saved.saving) {
            (Fields::Unit, _) | (_, Saving::Skip) => {
                let fields = matches!(variant.fields, Fields::Unit).then(|| quote!());
                let fields = fields.unwrap_or_else(|| quote!({ .. }));
                arms.push(quote!(Self::#ident #fields => {}));
                continue;
            }
            (_, Saving::Part) => {
                let Some(name) = saved.rename else {
                    let message = "a part that is a variant needs `rename = \"…\"`";
                    return Err(syn::Error::new_spanned(variant, message));
                };
                quote!(state.part(#name, |state| #framework::Stateful::state(part, state)))
            }
            (_, Saving::Field | Saving::Flatten) => {
                quote!(#framework::Stateful::state(part, state))
            }
            _ => {
                let message = "a variant is visited, or marked `skip` or `part`";
                return Err(syn::Error::new_spanned(variant, message));
            }
        };
        arms.push(quote!(Self::#ident #fields => #visit,));
        let generic = variant
            .fields
            .iter()
            .filter(|field| is_generic(field, &input.generics));
        bounds.extend(generic.map(|Field { ty, .. }| quote!(#ty: #framework::Stateful)));
    }
    Ok(quote!(match self { #(#arms)* }))
}
