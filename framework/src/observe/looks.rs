//! Looks at the statistics of a system that grow, and what grew from one look to the next.
//!
//! Looks come often and most of what they find is as it was, so a statistic costs a comparison of its
//! name with the one expected and a difference of numbers. A component that was not evaluated since
//! is not even asked, if it grows evenly ([`Statistics::even`](crate::Statistics::even)): what two
//! looks saw of its sleep tells the rest of it.

use serde::{Deserialize, Serialize};

use crate::observe::statistics::{InstanceStatistics, Reported, Statistic, Value};
use crate::time::{Cycle, Tick};

/// The statistics that were seen so far: each keeps its place, whichever others come or go.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Places {
    /// Paths of instances.
    paths: Vec<String>,
    /// Instance and name by place.
    names: Vec<(u32, String)>,
    /// By instance the place after its last statistic, where it was asked.
    #[serde(skip)]
    ends: Vec<usize>,
}

/// Values by the places of their statistics; `None` where there is none, or none that grows.
pub type Amounts = Vec<Option<Value>>;

impl Places {
    /// The number of an instance, which is the expected one unless some came or went.
    fn find_path(&self, expected: usize, path: &str) -> Option<usize> {
        if self.paths.get(expected).is_some_and(|p| p == path) {
            return Some(expected);
        }
        self.paths.iter().position(|p| p == path)
    }

    /// Whether the statistic at `place` is the one of this instance whose name is `prefix` and `name`.
    #[inline]
    fn is_at(&self, place: usize, instance: usize, prefix: &str, name: &str) -> bool {
        let Some((i, n)) = self.names.get(place) else {
            return false;
        };
        *i as usize == instance && n.strip_prefix(prefix).is_some_and(|rest| rest == name)
    }

    /// The place of a statistic, which is the expected one unless some came or went.
    fn find(&self, expected: usize, instance: usize, prefix: &str, name: &str) -> Option<usize> {
        if self.is_at(expected, instance, prefix, name) {
            return Some(expected);
        }
        (0..self.names.len()).find(|place| self.is_at(*place, instance, prefix, name))
    }

    /// Instance and statistic of `collected` by place, for those that grow; `None` where the
    /// statistic is gone.
    pub fn within(&self, collected: &[InstanceStatistics]) -> Vec<Option<(usize, usize)>> {
        let mut order = vec![None; self.names.len()];
        let (mut next_path, mut next) = (0, 0);
        for (at, instance) in collected.iter().enumerate() {
            let Some(path) = self.find_path(next_path, &instance.path) else {
                continue;
            };
            next_path = path + 1;
            let growing = instance.values.iter().enumerate().filter(|(_, s)| s.grows);
            for (statistic, known) in growing {
                if let Some(place) = self.find(next, path, "", &known.name) {
                    order[place] = Some((at, statistic));
                    next = place + 1;
                }
            }
        }
        order
    }
}

/// What the last look of a sort found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seen {
    values: Amounts,
    /// When that was; `None` also after a checkpoint, which knows the values only.
    #[serde(skip)]
    at: Option<Tick>,
    /// By instance, as far as they were asked.
    #[serde(skip)]
    rests: Vec<Rest>,
}

/// How an instance grows while it is not evaluated.
#[derive(Clone, Debug, Default)]
struct Rest {
    /// Cycle of its clock at the last look.
    cycle: Cycle,
    /// `slopes` are all that grows, until it is evaluated.
    is_known: bool,
    slopes: Vec<Slope>,
}

/// What a statistic grows by in each cycle: a counter, or the part and whole of a ratio.
#[derive(Clone, Copy, Debug)]
struct Slope {
    place: usize,
    part: u64,
    whole: u64,
}

impl Slope {
    /// Growth within `cycles` as growth within one; `None` where it was not even.
    fn over(self, cycles: Cycle) -> Option<Self> {
        let each = |by: u64| {
            let even = by.checked_rem(cycles)? == 0;
            even.then(|| by / cycles)
        };
        Some(Self {
            place: self.place,
            part: each(self.part)?,
            whole: each(self.whole)?,
        })
    }
}

/// What happens to the growth within a span.
#[derive(Debug)]
pub enum Growth {
    /// It is kept by itself: places and values of what changed.
    Changes(Vec<(u32, Value)>),
    /// It is added to these.
    Sums(Amounts),
}

/// A span of time that ends with a look.
#[derive(Debug)]
pub struct Span {
    /// What the look at its start found; after the one at its end, what that found.
    pub seen: Seen,
    /// Where growth within it goes.
    pub growth: Growth,
    /// The instance that reports was not evaluated within the span.
    rested: bool,
    /// What it grew by, if it rested.
    grew: Vec<Slope>,
    /// It grew by something that no slope tells.
    jumped: bool,
}

impl Span {
    /// A span that began with the look that found `seen`.
    pub fn new(seen: Seen, growth: Growth) -> Self {
        Self {
            seen,
            growth,
            rested: false,
            grew: Vec::new(),
            jumped: false,
        }
    }

    /// Begins with an instance that was evaluated after a tick or not. Returns whether its slopes
    /// tell what it grew by.
    fn begin(&mut self, instance: usize, evaluated_after: impl Fn(Tick) -> bool) -> bool {
        self.grew.clear();
        self.jumped = false;
        self.rested = self.seen.at.is_some_and(|at| !evaluated_after(at));
        let rest = self.seen.rests.get(instance);
        self.rested && rest.is_some_and(|rest| rest.is_known)
    }

    /// The instance was asked in `cycle`. `is_even`: it says that its slopes last.
    fn finish(&mut self, instance: usize, cycle: Cycle, is_even: bool) {
        if instance >= self.seen.rests.len() {
            self.seen.rests.resize_with(instance + 1, Rest::default);
        }
        let rest = &mut self.seen.rests[instance];
        let cycles = cycle.saturating_sub(rest.cycle);
        rest.cycle = cycle;
        rest.slopes.clear();
        rest.is_known = is_even && self.rested && !self.jumped && cycles > 0;
        if rest.is_known {
            let slopes = self.grew.iter().map_while(|by| by.over(cycles));
            rest.slopes.extend(slopes);
            rest.is_known = rest.slopes.len() == self.grew.len();
        }
    }

    /// Adds what the slopes tell of the time up to `cycle`.
    fn rest_until(&mut self, instance: usize, cycle: Cycle) {
        let rest = &mut self.seen.rests[instance];
        let cycles = cycle.saturating_sub(rest.cycle);
        rest.cycle = cycle;
        for slope in &rest.slopes {
            let by = match &mut self.seen.values[slope.place] {
                Some(Value::Ratio { part, whole }) => {
                    let by = (slope.part * cycles, slope.whole * cycles);
                    *part = part.wrapping_add(by.0);
                    *whole = whole.wrapping_add(by.1);
                    let (part, whole) = by;
                    Value::Ratio { part, whole }
                }
                Some(Value::Counter(count)) => {
                    let by = slope.part * cycles;
                    *count = count.wrapping_add(by);
                    Value::Counter(by)
                }
                _ => continue,
            };
            self.growth.add(slope.place, by);
        }
    }

    #[inline]
    fn take(&mut self, place: usize, now: Reported<'_>) {
        let (part, whole) = match (&mut self.seen.values[place], now) {
            (Some(Value::Counter(then)), Reported::Counter(now)) => {
                let by = now.wrapping_sub(*then);
                if by == 0 {
                    return;
                }
                *then = now;
                self.growth.add(place, Value::Counter(by));
                (by, 0)
            }
            (Some(Value::Ratio { part, whole }), Reported::Ratio { part: p, whole: w }) => {
                let by = (p.wrapping_sub(*part), w.wrapping_sub(*whole));
                if by == (0, 0) {
                    return;
                }
                (*part, *whole) = (p, w);
                let (part, whole) = by;
                self.growth.add(place, Value::Ratio { part, whole });
                by
            }
            _ => return self.take_any(place, now),
        };
        if self.rested {
            self.grew.push(Slope { place, part, whole });
        }
    }

    /// What comes for the first time, or is more than one or two numbers.
    #[inline(never)]
    fn take_any(&mut self, place: usize, now: Reported<'_>) {
        let before = &mut self.seen.values[place];
        if before.as_ref().is_some_and(|before| now == *before) {
            return;
        }
        if let Some(by) = now.since(before.as_ref())
            && !by.is_nothing()
        {
            self.growth.add(place, by);
        }
        *before = Some(now.to_value());
        self.jumped = true;
    }
}

impl Growth {
    #[inline]
    fn add(&mut self, place: usize, by: Value) {
        match self {
            Self::Changes(changes) => changes.push((place as u32, by)),
            Self::Sums(sums) => match &mut sums[place] {
                Some(sum) => sum.grow(&by),
                sum => *sum = Some(by),
            },
        }
    }
}

/// A look at the statistics of a system that grow, one by one.
#[derive(Debug)]
pub struct Look {
    places: Places,
    /// Number of the instance that reports, and of the one after it.
    instance: usize,
    next_instance: usize,
    /// Place of the next statistic, unless some came or went.
    expected: usize,
    /// Nothing was seen before this look, so every statistic is new.
    first: bool,
    /// The instance says that it grows evenly while it is not evaluated.
    is_even: bool,
    /// When every instance of a simulation was asked that had to be; `None` where none was.
    at: Option<Tick>,
    /// Those that end.
    spans: Vec<Span>,
}

impl Look {
    /// A look at the end of `spans`, of what has places so far or gets one.
    pub fn new(places: Places, spans: Vec<Span>) -> Self {
        let mut look = Self {
            first: places.names.is_empty(),
            places,
            instance: 0,
            next_instance: 0,
            expected: 0,
            is_even: false,
            at: None,
            spans,
        };
        look.make_room();
        look
    }

    /// Takes what was collected already, as if it was reported now.
    pub fn take_collected(&mut self, statistics: &[InstanceStatistics]) {
        for instance in statistics {
            self.of(&instance.path);
            for statistic in instance.values.iter().filter(|s| s.grows) {
                self.take("", &statistic.name, statistic.value.reported());
            }
        }
    }

    /// Places and spans after the look.
    pub fn end(mut self) -> (Places, Vec<Span>) {
        for span in &mut self.spans {
            span.seen.at = self.at;
        }
        (self.places, self.spans)
    }

    /// What comes next belongs to the instance at `path`.
    pub fn of(&mut self, path: &str) {
        let known = self.places.find_path(self.next_instance, path);
        self.instance = known.unwrap_or_else(|| {
            self.places.paths.push(path.to_owned());
            self.places.paths.len() - 1
        });
        self.next_instance = self.instance + 1;
    }

    /// Goes on without asking the instance, whose clock stands at `cycle`, if what it grew by is
    /// known. Returns whether it is.
    pub(crate) fn rest_until(
        &mut self,
        cycle: Cycle,
        evaluated_after: impl Fn(Tick) -> bool,
    ) -> bool {
        self.is_even = false;
        let instance = self.instance;
        let mut known = instance < self.places.ends.len();
        for span in &mut self.spans {
            known &= span.begin(instance, &evaluated_after);
        }
        if known {
            self.expected = self.places.ends[instance];
            for span in &mut self.spans {
                span.rest_until(instance, cycle);
            }
        }
        known
    }

    /// The instance, whose clock stands at `cycle`, was asked.
    pub(crate) fn finish(&mut self, cycle: Cycle) {
        let (instance, is_even) = (self.instance, self.is_even);
        if instance >= self.places.ends.len() {
            self.places.ends.resize(instance + 1, 0);
        }
        self.places.ends[instance] = self.expected;
        for span in &mut self.spans {
            span.finish(instance, cycle, is_even);
        }
    }

    /// Every instance was asked at the end of `tick`, or rested until then.
    pub(crate) fn complete(&mut self, tick: Tick) {
        self.at = Some(tick);
    }

    /// Whether these are the instance's statistics as the look knows them.
    pub(crate) fn knows(&self, statistics: &[Statistic]) -> bool {
        let mut expected = 0;
        statistics.iter().filter(|s| s.grows).all(|statistic| {
            let known = self
                .places
                .find(expected, self.instance, "", &statistic.name);
            known.is_some_and(|place| {
                expected = place + 1;
                let value = Some(&statistic.value);
                let mut spans = self.spans.iter();
                spans.all(|span| span.seen.values[place].as_ref() == value)
            })
        })
    }

    /// As [`Statistics::even`](super::Statistics::even) says.
    pub(super) fn set_even(&mut self, is_even: bool) {
        self.is_even = is_even;
    }

    /// The next statistic, whose name is `prefix` and `name`.
    #[inline]
    pub(super) fn take(&mut self, prefix: &str, name: &str, now: Reported<'_>) {
        let expected = self.expected;
        let place = if self.places.is_at(expected, self.instance, prefix, name) {
            expected
        } else {
            self.place(prefix, name)
        };
        self.expected = place + 1;
        for span in &mut self.spans {
            span.take(place, now);
        }
    }

    /// The place of a statistic that does not have the expected one.
    #[cold]
    fn place(&mut self, prefix: &str, name: &str) -> usize {
        let known = if self.first {
            None
        } else {
            self.places.find(self.expected, self.instance, prefix, name)
        };
        known.unwrap_or_else(|| {
            let name = [prefix, name].concat();
            self.places.names.push((self.instance as u32, name));
            self.make_room();
            self.places.names.len() - 1
        })
    }

    /// Gives every place a value in every span.
    fn make_room(&mut self) {
        let places = self.places.names.len();
        for span in &mut self.spans {
            span.seen.values.resize(places, None);
            if let Growth::Sums(sums) = &mut span.growth {
                sums.resize(places, None);
            }
        }
    }
}
