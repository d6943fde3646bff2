//! iSLIP written from the definition, with loops over matrices.

use crate::crossbar::allocator::Match;

pub(in crate::crossbar) struct NaiveIslip {
    /// Round-robin pointers of the outputs; `accept` holds those of the inputs.
    grant: Vec<usize>,
    accept: Vec<usize>,
}

impl NaiveIslip {
    pub(in crate::crossbar) fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            grant: vec![0; outputs],
            accept: vec![0; inputs],
        }
    }

    /// Matches these pairs of input and output; the result is in the order of inputs.
    pub(in crate::crossbar) fn matching(
        &mut self,
        wanted: &[Match],
        iterations: u32,
    ) -> Vec<Match> {
        let (inputs, outputs) = (self.accept.len(), self.grant.len());
        let mut of_input = vec![None; inputs];
        let mut of_output = vec![None; outputs];
        for iteration in 0..iterations {
            let mut granted = vec![vec![false; outputs]; inputs];
            for o in (0..outputs).filter(|&o| of_output[o].is_none()) {
                let mut around = (0..inputs).map(|k| (self.grant[o] + k) % inputs);
                let asks = |&i: &usize| of_input[i].is_none() && wanted.contains(&(i, o));
                if let Some(i) = around.find(asks) {
                    granted[i][o] = true;
                }
            }
            for i in 0..inputs {
                let mut around = (0..outputs).map(|k| (self.accept[i] + k) % outputs);
                if let Some(o) = around.find(|&o| granted[i][o]) {
                    of_input[i] = Some(o);
                    of_output[o] = Some(i);
                    if iteration == 0 {
                        self.grant[o] = (i + 1) % inputs;
                        self.accept[i] = (o + 1) % outputs;
                    }
                }
            }
        }
        let pairs = of_input.iter().enumerate();
        pairs.filter_map(|(i, o)| o.map(|o| (i, o))).collect()
    }
}
