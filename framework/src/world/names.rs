//! Rarely used names, stored contiguously in one text, so that frequently accessed data is not
//! spread out between them.

/// Names, indexed by number, in one text.
#[derive(Default)]
pub(crate) struct Names {
    text: String,
    /// End of each name within the text.
    ends: Vec<usize>,
}

impl Names {
    /// Adds a name, whose number is the previous count of names.
    pub(crate) fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    pub(crate) fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_number() {
        let mut names = Names::default();
        for name in ["a", "", "größe", "d"] {
            names.push(name);
        }
        let all: Vec<_> = (0..4).map(|i| names.get(i)).collect();
        assert_eq!(all, ["a", "", "größe", "d"]);
    }
}
