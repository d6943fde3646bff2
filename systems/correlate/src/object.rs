//! Comparison as one JSON object for other programs.

use serde_json::{Map, Value, json};
use warpweave_params::printable_json;

use crate::correlation::{Compared, Correlation, KernelRow};
use crate::quantity::QUANTITIES;
use crate::score::Score;
use crate::stall::{STALLS, Shares};

impl Correlation {
    /// Returns all values as an indented JSON object.
    pub fn to_json(&self) -> String {
        let runs = self.runs.iter();
        let runs = runs.map(|(name, launches)| json!({ "name": name, "launches": launches }));
        let figures = self.compared().map(|quantity| {
            let key = QUANTITIES[quantity].key.to_owned();
            (key, score(quantity, &self.scores[quantity]))
        });
        let missing = self.missing.iter().map(|missing| {
            let quantity = &QUANTITIES[missing.quantity];
            json!({
                "quantity": quantity.key,
                "side": if missing.ours.is_some() { "ours" } else { "profile" },
                "why": missing.ours.unwrap_or("the profile has no such metric"),
                "metric": quantity.metric(),
                "launches": missing.launches,
            })
        });
        let unmatched = self.unmatched.iter().map(|launch| {
            let own = launch.own.as_ref();
            json!({
                "kernel": launch.kernel, "id": launch.id, "why": launch.why,
                "run": own.map(|(run, _)| run), "number": own.map(|(_, number)| number),
            })
        });
        let whole = json!({
            "profile": { "name": self.profile.0, "launches": self.profile.1 },
            "runs": runs.collect::<Vec<_>>(),
            "floor": self.floor,
            "figures": figures.collect::<Map<_, _>>(),
            "kernels": self.kernels.iter().map(kernel).collect::<Vec<_>>(),
            "launches": self.launches.iter().map(|one| self.launch(one)).collect::<Vec<_>>(),
            "missing": missing.collect::<Vec<_>>(),
            "unmatched": unmatched.collect::<Vec<_>>(),
        });
        let text = serde_json::to_string_pretty(&whole).expect("keys are text");
        printable_json(&text).into_owned() + "\n"
    }

    fn launch(&self, launch: &Compared) -> Value {
        let values = QUANTITIES.iter().zip(&launch.values);
        let values = values.filter(|(_, (ours, theirs))| ours.is_ok() || theirs.is_some());
        let values = values.map(|(quantity, (ours, theirs))| {
            let value = json!({ "ours": ours.ok(), "theirs": theirs });
            (quantity.key.to_owned(), value)
        });
        json!({
            "kernel": launch.kernel, "id": launch.id,
            "run": self.runs[launch.own.0].0, "number": launch.own.1,
            "quantities": values.collect::<Map<_, _>>(),
            "stalls": stalls(&launch.stalls),
        })
    }
}

fn kernel(row: &KernelRow) -> Value {
    let means = QUANTITIES.iter().zip(&row.means);
    let means = means.filter_map(|(quantity, mean)| {
        let mean = mean.as_ref()?;
        let value = json!({
            "ours": mean.ours, "theirs": mean.theirs, "ratio": mean.ratio(),
            "launches": mean.launches,
        });
        Some((quantity.key.to_owned(), value))
    });
    json!({
        "kernel": row.kernel, "launches": row.launches,
        "quantities": means.collect::<Map<_, _>>(),
        "stalls": stalls(&row.stalls),
    })
}

fn score(quantity: usize, score: &Score) -> Value {
    let worst = score.worst.as_ref();
    json!({
        "kernels": score.kernels, "mape": score.mape, "body": score.body,
        "correlation": score.correlation,
        "within_10": score.within[0], "within_20": score.within[1],
        "equal": QUANTITIES[quantity].is_count.then_some(score.equal[0]),
        "launches": score.equal[1],
        "worst": worst.map(|(kernel, ratio)| json!({ "kernel": kernel, "ratio": ratio })),
    })
}

fn stalls([ours, theirs]: &[Option<Shares>; 2]) -> Value {
    let shares = STALLS.iter().enumerate().filter_map(|(at, stall)| {
        let share = |side: &Option<Shares>| side.as_ref().and_then(|shares| shares[at]);
        let (ours, theirs) = (share(ours), share(theirs));
        let known = ours.is_some() || theirs.is_some();
        known.then(|| {
            (
                stall.name.to_owned(),
                json!({ "ours": ours, "theirs": theirs }),
            )
        })
    });
    Value::Object(shares.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::correlation::example::example;

    #[test]
    fn the_object_holds_what_the_page_shows() {
        let object: Value = serde_json::from_str(&example().to_json()).unwrap();
        assert_eq!(object["figures"]["warp_instructions"]["equal"], 3);
        assert_eq!(object["figures"]["cycles"]["equal"], Value::Null);
        assert_eq!(
            object["kernels"][1]["quantities"]["registers"]["ratio"],
            0.75
        );
        assert_eq!(object["launches"][2]["run"], "traced");
        assert_eq!(object["launches"][0]["stalls"]["wait"]["theirs"], 100.0);
        assert_eq!(object["unmatched"][0]["id"], 3);
        let missing = object["missing"].as_array().unwrap();
        assert!(
            missing.iter().any(|one| one["side"] == "profile"),
            "{missing:?}"
        );
    }
}
