//! Shards: parts of an experiment that separate processes execute.

use std::fmt;
use std::str::FromStr;

/// One of several equal parts of a list, dealt in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of the part, from 1.
    index: usize,
    /// Number of parts, at least 1.
    count: usize,
}

impl Shard {
    /// Iterates over all `count` shards, in order.
    pub fn all(count: usize) -> impl Iterator<Item = Self> {
        (1..=count).map(move |index| Self { index, count })
    }

    /// Returns the number of the part, from 1.
    pub fn index(self) -> usize {
        self.index
    }

    /// Returns the items dealt to this shard, in their order.
    pub fn of<T: Copy>(self, items: &[T]) -> Vec<T> {
        let own = items.iter().skip(self.index - 1).step_by(self.count);
        own.copied().collect()
    }
}

/// Formats as on the command line, `I/N`, with the part before the number of parts.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err("expected I/N, part I of N, such as `1/20`; parts count from 1".to_owned()),
        }
    }
}

/// Formats ascending numbers as ranges, such as `1-3,7`.
pub fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let text = runs.map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_dealt_to_one_shard() {
        for count in 1..9 {
            let items: Vec<usize> = (0..7).collect();
            let mut dealt: Vec<usize> = Shard::all(count)
                .flat_map(|shard| shard.of(&items))
                .collect();
            dealt.sort_unstable();
            assert_eq!(dealt, items);
        }
        let second: Shard = "2/3".parse().unwrap();
        assert_eq!(second.of(&[0, 1, 2, 3, 4, 5, 6, 7]), [1, 4, 7]);
    }

    #[test]
    fn a_part_that_does_not_exist_is_refused() {
        assert_eq!("3/3".parse::<Shard>().unwrap().to_string(), "3/3");
        for wrong in [
            "0/3",
            "4/3",
            "1/0",
            "1",
            "/",
            "1/",
            "-1/3",
            "1/2/3",
            "a/b",
            "99999999999999999999/1",
        ] {
            let refused = wrong.parse::<Shard>().unwrap_err();
            assert!(refused.contains("I/N"), "{wrong}: {refused}");
        }
    }

    #[test]
    fn consecutive_numbers_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[]), "");
    }
}
