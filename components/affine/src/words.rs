//! Forms and conditions in words, for pages and tables.

use std::fmt::Write as _;

use crate::form::{Form, SymbolId};
use crate::launch::LaunchHead;
use crate::reference::Piece;
use crate::symbol::{SymbolKind, Symbols};

const AXES: [&str; 3] = ["x", "y", "z"];

/// Writes a piece: the allocation it lies in or the variable, its terms, and the condition.
pub(crate) fn piece(head: &LaunchHead<'_>, symbols: &Symbols, piece: &Piece, bytes: u32) -> String {
    let known = piece.allocation(head, symbols, bytes);
    let known = known.map(|at| &head.allocations[at]);
    let variable = piece.form.terms().iter().find(|&&(at, factor)| {
        factor == 1 && matches!(symbols.kind(at), SymbolKind::Variable { .. })
    });
    let mut text = match (known, variable) {
        (Some(known), _) => known.name.clone(),
        (None, Some(&(symbol, _))) => name(symbols, symbol),
        (None, None) => String::new(),
    };
    let rest = piece.form.constant() - known.map_or(0, |known| i128::from(known.base));
    let mut terms = piece.form.clone();
    terms.constant = rest;
    if let Some(&named) = variable {
        terms.terms.retain(|&term| term != named);
    }
    sum(symbols, &terms, &mut text);
    for (at, form) in piece.when.iter().enumerate() {
        text.push_str(if at == 0 { " where " } else { " and " });
        condition(symbols, form, &mut text);
    }
    text
}

/// Appends the terms of a form to a text that may have some already.
fn sum(symbols: &Symbols, form: &Form, text: &mut String) {
    let mut part = |factor: i128, name: &str| {
        let sign = match (text.is_empty(), factor < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let size = factor.abs();
        let _ = match (size, name) {
            (_, "") => write!(text, "{sign}{size}"),
            (1, _) => write!(text, "{sign}{name}"),
            _ => write!(text, "{sign}{size}*{name}"),
        };
    };
    for &(symbol, factor) in form.terms() {
        part(factor, &name(symbols, symbol));
    }
    if form.constant() != 0 || form.terms().is_empty() {
        part(form.constant(), "");
    }
}

/// Writes a form that is at least 0 as a comparison of two sums.
fn condition(symbols: &Symbols, form: &Form, text: &mut String) {
    let side = |positive: bool| {
        let mut side = Form::default();
        for &(symbol, factor) in form.terms() {
            if (factor > 0) == positive {
                side.terms.push((symbol, factor.abs()));
            }
        }
        if (form.constant() > 0) == positive {
            side.constant = form.constant().abs();
        }
        let mut text = String::new();
        sum(symbols, &side, &mut text);
        text
    };
    let _ = write!(text, "{} >= {}", side(true), side(false));
}

fn name(symbols: &Symbols, symbol: SymbolId) -> String {
    match symbols.kind(symbol) {
        SymbolKind::Group(axis) => format!("ctaid.{}", AXES[*axis]),
        SymbolKind::Thread(axis) => format!("tid.{}", AXES[*axis]),
        SymbolKind::Counter { line } => format!("k{line}"),
        SymbolKind::Quotient { of, by } => {
            let mut text = String::new();
            sum(symbols, of, &mut text);
            format!("[({text}) / {by}]")
        }
        SymbolKind::Variable { name } => name.clone(),
        SymbolKind::LocalWindow => "local memory".to_owned(),
        SymbolKind::Carried => format!("carried{}", symbol.0),
    }
}
