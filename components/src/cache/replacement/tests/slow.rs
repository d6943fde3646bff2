//! Slow reference model of a set, way by way.

use super::*;

/// State that the reference model keeps for a line.
#[derive(Clone, Debug)]
struct Line {
    number: u64,
    used: u64,
    installed: u64,
    uses: u64,
    mark: bool,
    interval: u8,
}

struct Slow {
    replacement: String,
    ways: Vec<Option<Line>>,
    /// For the tree: the half to evict first, by the range of ways that a node covers.
    upper_first: std::collections::BTreeMap<(usize, usize), bool>,
    time: u64,
}

impl Slow {
    fn new(ways: u32, replacement: &Policy<Replacement>) -> Self {
        Self {
            replacement: replacement.name().to_owned(),
            ways: vec![None; ways as usize],
            upper_first: std::collections::BTreeMap::new(),
            time: 0,
        }
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.ways
            .iter()
            .enumerate()
            .map(|(w, l)| (w, l.as_ref().expect("a full set")))
    }

    fn victim(&mut self) -> usize {
        if let Some(way) = self.ways.iter().position(Option::is_none) {
            return way;
        }
        let least = |key: fn(&Line) -> u64| {
            self.lines()
                .min_by_key(|(way, line)| (key(line), *way))
                .expect("not empty")
                .0
        };
        match &*self.replacement {
            "Lru" => least(|l| l.used),
            "Fifo" => least(|l| l.installed),
            "Lfu" => least(|l| l.uses),
            "BitPlru" => least(|l| u64::from(l.mark)),
            "PseudoLru" => {
                let (mut first, mut width) = (0, self.ways.len());
                while width > 1 {
                    let upper = self
                        .upper_first
                        .get(&(first, width))
                        .copied()
                        .unwrap_or(false);
                    width /= 2;
                    first += usize::from(upper) * width;
                }
                first
            }
            "Srrip" => loop {
                if let Some((way, _)) = self.lines().find(|(_, l)| l.interval == 3) {
                    return way;
                }
                for line in self.ways.iter_mut().flatten() {
                    line.interval += 1;
                }
            },
            other => unreachable!("{other} has no slow model"),
        }
    }

    fn used(&mut self, way: usize) {
        let (mut first, mut width) = (0, self.ways.len());
        while width > 1 {
            let upper = way - first >= width / 2;
            self.upper_first.insert((first, width), !upper);
            width /= 2;
            first += usize::from(upper) * width;
        }
        self.ways[way].as_mut().expect("used").mark = true;
        if self.ways.iter().all(|l| l.as_ref().is_some_and(|l| l.mark)) {
            for (w, line) in self.ways.iter_mut().enumerate() {
                line.as_mut().expect("a full set").mark = w == way;
            }
        }
    }

    fn access(&mut self, number: u64) -> bool {
        self.time += 1;
        let time = self.time;
        let found = self
            .ways
            .iter()
            .position(|l| l.as_ref().is_some_and(|l| l.number == number));
        let way = found.unwrap_or_else(|| self.victim());
        match (&mut self.ways[way], found) {
            (Some(line), Some(_)) => {
                line.used = time;
                line.uses += 1;
                line.interval = 0;
            }
            (place, _) => {
                *place = Some(Line {
                    number,
                    used: time,
                    installed: time,
                    uses: 1,
                    mark: false,
                    interval: 2,
                });
            }
        }
        self.used(way);
        found.is_some()
    }
}

proptest! {
    #[test]
    fn hits_equal_those_of_a_slow_set(
        policy in 0usize..7, log_ways in 0u32..4, odd_ways in 1u32..7, sets in 1u32..4,
        numbers in prop::collection::vec(0u64..60, 1..400),
    ) {
        let replacement = &all(7)[policy];
        if replacement.name() == Random::NAME {
            return Ok(());
        }
        let ways = if replacement.name() == PseudoLru::NAME { 1 << log_ways } else { odd_ways };
        let mut tags = array(sets, ways, replacement);
        let mut slow: Vec<_> = (0..sets).map(|_| Slow::new(ways, replacement)).collect();
        for (n, number) in numbers.into_iter().enumerate() {
            let set = &mut slow[(number % u64::from(sets)) as usize];
            prop_assert_eq!(tags.access(number * 128), set.access(number), "access {}", n);
        }
    }
}
