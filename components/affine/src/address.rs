//! Address of a piece as a function of the work-group, the thread and other symbols.

use crate::form::{Form, SymbolId};
use crate::reference::Piece;
use crate::symbol::{SymbolKind, Symbols};

/// Form whose symbols are replaced by places of values.
struct Sum {
    terms: Vec<(usize, i128)>,
    constant: i128,
}

impl Sum {
    fn of(&self, values: &[i128]) -> i128 {
        let terms = self.terms.iter();
        let terms = terms.map(|&(place, factor)| factor.saturating_mul(values[place]));
        terms.fold(self.constant, i128::saturating_add)
    }
}

/// Address of a piece that is evaluated for many threads.
pub(crate) struct Address {
    address: Sum,
    when: Vec<Sum>,
    /// Places of quotients with what they divide, in the order of their values.
    quotients: Vec<(usize, Sum, i128)>,
    /// Symbols that the piece uses besides work-group and thread, ascending.
    pub(crate) others: Vec<SymbolId>,
    /// Values by place: work-group and thread along x, y, z, then others.
    pub(crate) values: Vec<i128>,
}

/// Places of work-groups and threads, which come first.
const FIRST: usize = 6;

impl Address {
    /// Prepares a piece; every value is 0. `None` if the piece has a symbol of no launch.
    pub(crate) fn new(symbols: &Symbols, piece: &Piece) -> Option<Self> {
        let mut forms = piece.when.clone();
        forms.push(piece.form.clone());
        symbols.close(&mut forms);
        let terms = forms.iter().flat_map(Form::terms);
        let mut others: Vec<SymbolId> = terms.map(|&(symbol, _)| symbol).collect();
        others.sort_unstable();
        others.dedup();
        others.retain(|symbol| symbol.0 as usize >= FIRST);
        let place = |symbol| place(&others, symbol);
        let sum = |form: &Form| {
            let terms = form.terms().iter();
            let terms = terms.map(|&(symbol, factor)| Some((place(symbol)?, factor)));
            Some(Sum {
                terms: terms.collect::<Option<_>>()?,
                constant: form.constant(),
            })
        };
        let mut quotients = Vec::new();
        for &symbol in &others {
            if let SymbolKind::Quotient { of, by } = symbols.kind(symbol) {
                quotients.push((place(symbol)?, sum(of)?, *by));
            }
        }
        Some(Self {
            address: sum(&piece.form)?,
            when: piece.when.iter().map(sum).collect::<Option<_>>()?,
            quotients,
            values: vec![0; FIRST + others.len()],
            others,
        })
    }

    /// Returns the place of a symbol's value; `None` if the piece does not use it.
    pub(crate) fn place(&self, symbol: SymbolId) -> Option<usize> {
        place(&self.others, symbol)
    }

    pub(crate) fn set_group(&mut self, group: [u32; 3]) {
        self.values[..3].copy_from_slice(&group.map(i128::from));
    }

    pub(crate) fn set_thread(&mut self, thread: [u64; 3]) {
        self.values[3..FIRST].copy_from_slice(&thread.map(i128::from));
    }

    /// Returns the address for the values; `None` where the piece is not accessed.
    pub(crate) fn value(&mut self) -> Option<i128> {
        for (place, of, by) in &self.quotients {
            self.values[*place] = of.of(&self.values).div_euclid(*by);
        }
        let holds = self.when.iter().all(|row| row.of(&self.values) >= 0);
        holds.then(|| self.address.of(&self.values))
    }
}

fn place(others: &[SymbolId], symbol: SymbolId) -> Option<usize> {
    if (symbol.0 as usize) < FIRST {
        Some(symbol.0 as usize)
    } else {
        Some(FIRST + others.binary_search(&symbol).ok()?)
    }
}
