//! The derive of `Statistics`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Expr, ExprLit, ExprPath, Field, Lit, LitStr, Member, Meta, Path,
    Result,
};

use crate::attributes::{framework, implement, is_generic, members, name_of, read};

/// Method by which a field is reported.
#[derive(Default)]
enum Reporting {
    /// Reported in the way its type defines.
    #[default]
    Value,
    /// By a method of the collector that takes a whole number.
    Number(&'static str),
    Distribution,
    Ratio,
    Mean,
    Flatten,
    Under(LitStr),
    With(Path),
}

/// One `#[statistic(…)]`.
#[derive(Default)]
struct Reported {
    reporting: Reporting,
    unit: Option<LitStr>,
    name: Option<LitStr>,
    meaning: Option<LitStr>,
    role: Option<ExprPath>,
    /// Reported instead of the field.
    value: Option<Expr>,
    /// Whole of a ratio, weight of a mean.
    divisor: Option<Expr>,
    /// Plural noun for what the divisor counts.
    counted: Option<LitStr>,
}

impl Reported {
    fn of(attribute: &Attribute) -> Result<Self> {
        let mut found = Self::default();
        let one = std::slice::from_ref(attribute);
        read(one, "statistic", |item| {
            let Some(word) = item.path.get_ident().map(ToString::to_string) else {
                return Err(item.error("expected a word"));
            };
            match word.as_str() {
                "unit" => found.unit = Some(item.value()?.parse()?),
                "name" => found.name = Some(item.value()?.parse()?),
                "meaning" => found.meaning = Some(item.value()?.parse()?),
                "role" => found.role = Some(item.value()?.parse()?),
                "value" => found.value = Some(item.value()?.parse()?),
                "whole" | "weight" => found.divisor = Some(item.value()?.parse()?),
                "of" | "by" => found.counted = Some(item.value()?.parse()?),
                "maximum" => found.reporting = Reporting::Number("maximum"),
                "minimum" => found.reporting = Reporting::Number("minimum"),
                "code" => found.reporting = Reporting::Number("code"),
                "distribution" => found.reporting = Reporting::Distribution,
                "ratio" => found.reporting = Reporting::Ratio,
                "mean" => found.reporting = Reporting::Mean,
                "flatten" => found.reporting = Reporting::Flatten,
                "under" => found.reporting = Reporting::Under(item.value()?.parse()?),
                "with" => found.reporting = Reporting::With(item.value()?.parse()?),
                _ => {
                    return Err(item.error(
                        "expected `unit`, `name`, `meaning`, `role`, `value`, `maximum`, `minimum`, `code`, `distribution`, \
                         `ratio`, `mean`, `flatten`, `under` or `with`",
                    ));
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns name, unit and meaning of the statistic, from the attribute or from `field`.
    fn label(&self, field: &Field) -> Result<(String, String, String)> {
        let name = name_of(field, self.name.as_ref())?;
        let unit = match (&self.unit, &self.reporting) {
            (Some(unit), _) => unit.value(),
            (None, Reporting::Ratio) => String::new(),
            (None, _) => {
                return Err(syn::Error::new_spanned(
                    field,
                    "a statistic needs `unit = \"…\"`",
                ));
            }
        };
        let meaning = self
            .meaning
            .as_ref()
            .map(LitStr::value)
            .or_else(|| doc(&field.attrs));
        let Some(meaning) = meaning else {
            let message = "a statistic needs a doc comment or `meaning = \"…\"`";
            return Err(syn::Error::new_spanned(field, message));
        };
        Ok((name, unit, meaning))
    }

    /// Code that reports `member`.
    fn report(
        &self,
        member: &Member,
        field: &Field,
        framework: &TokenStream,
    ) -> Result<TokenStream> {
        let value = if let Some(value) = &self.value {
            quote_spanned!(field.span()=> #value)
        } else {
            quote_spanned!(field.span()=> self.#member)
        };
        let part = quote!(#framework::Instrumented::statistics(&#value, statistics));
        match &self.reporting {
            Reporting::Flatten => return Ok(quote!(#part;)),
            Reporting::Under(prefix) => {
                return Ok(quote!(statistics.under(#prefix, |statistics| #part);));
            }
            Reporting::With(path) => return Ok(quote!(#path(&#value, statistics);)),
            _ => {}
        }
        let (name, unit, meaning) = self.label(field)?;
        let role = self.role.as_ref().map(|role| quote!(.role(#role)));
        let divisor = || match (&self.divisor, &self.counted) {
            (Some(divisor), Some(counted)) => Ok((divisor, counted)),
            _ => Err(syn::Error::new_spanned(
                field,
                "a ratio needs `whole = …` and `of = \"…\"`, a mean `weight = …` and `by = \"…\"`",
            )),
        };
        Ok(match &self.reporting {
            Reporting::Number(method) => {
                let method = syn::Ident::new(method, field.span());
                quote!(statistics #role .#method(#name, #unit, #meaning, #value);)
            }
            Reporting::Distribution => {
                quote!(statistics #role .distribution(#name, #unit, #meaning, &#value);)
            }
            Reporting::Ratio => {
                let (whole, of) = divisor()?;
                quote!(statistics #role .ratio(#name, #of, #meaning, #value, #whole);)
            }
            Reporting::Mean => {
                let (weight, by) = divisor()?;
                quote!(statistics #role .mean(#name, #unit, #by, #meaning, (#value, #weight));)
            }
            _ => {
                let role = if let Some(role) = &self.role {
                    quote!(::core::option::Option::Some(#role))
                } else {
                    quote!(::core::option::Option::None)
                };
                quote! {
                    #framework::Measured::report(
                        &#value,
                        statistics,
                        &#framework::Measurement {
                            name: #name, unit: #unit, meaning: #meaning, role: #role,
                        },
                    );
                }
            }
        })
    }

    /// Row of a table of counters, where the statistic is a plain count.
    fn row(&self, field: &Field) -> Result<Option<TokenStream>> {
        let is_count = field.ty.to_token_stream().to_string() == "u64";
        if !is_count
            || self.value.is_some()
            || self.role.is_some()
            || !matches!(self.reporting, Reporting::Value)
        {
            return Ok(None);
        }
        let (name, unit, meaning) = self.label(field)?;
        Ok(Some(quote!((#name, #unit, #meaning))))
    }
}

/// Text of a doc comment up to its first blank line, in one line and without the final full stop.
fn doc(attributes: &[Attribute]) -> Option<String> {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        });
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let text = lines.join(" ");
    let text = text.strip_suffix('.').unwrap_or(&text);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Generates the impl of `Instrumented`.
///
/// # Errors
/// What is no struct, a statistic without unit or meaning, and attributes that are not known.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new_spanned(
            input,
            "`Statistics` is for structs",
        ));
    };
    let framework = framework();
    let mut after: Option<Path> = None;
    read(&input.attrs, "statistics", |item| {
        if !item.path.is_ident("after") {
            return Err(item.error("expected `after`"));
        }
        after = Some(item.value()?.parse()?);
        Ok(())
    })?;
    let (mut lines, mut bounds) = (Vec::new(), Vec::new());
    let mut table = Table::default();
    for (member, field) in members(&data.fields) {
        let attributes = field.attrs.iter();
        for attribute in attributes.filter(|attribute| attribute.path().is_ident("statistic")) {
            let reported = Reported::of(attribute)?;
            if let Some(row) = reported.row(field)? {
                table.rows.push(row);
                table.values.push(quote!(self.#member));
                continue;
            }
            lines.extend(table.take());
            lines.push(reported.report(&member, field, &framework)?);
            let ty = &field.ty;
            if is_generic(field, &input.generics) {
                match reported.reporting {
                    _ if reported.value.is_some() => {}
                    Reporting::Value => bounds.push(quote!(#ty: #framework::Measured)),
                    Reporting::Flatten | Reporting::Under(_) => {
                        bounds.push(quote!(#ty: #framework::Instrumented));
                    }
                    _ => {}
                }
            }
        }
    }
    lines.extend(table.take());
    let after = after.map(|path| quote!(#path(self, statistics);));
    let body = quote! {
        #[allow(unused_variables, reason = "a component may have no statistics")]
        fn statistics(&self, statistics: &mut #framework::Statistics<'_>) {
            #(#lines)*
            #after
        }
    };
    let instrumented = quote!(#framework::Instrumented);
    Ok(implement(input, &instrumented, bounds, &body))
}

/// Counters side by side, which one call reports.
#[derive(Default)]
struct Table {
    rows: Vec<TokenStream>,
    values: Vec<TokenStream>,
}

impl Table {
    fn take(&mut self) -> Option<TokenStream> {
        let Self { rows, values } = std::mem::take(self);
        (!rows.is_empty()).then(|| quote!(statistics.counters(&[#(#rows),*], &[#(#values),*]);))
    }
}
