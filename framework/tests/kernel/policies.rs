//! Tests of policies: selected by role and name, built with a context, described and written like
//! kinds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Bundle, Component, Context, Environment, Instrumented, Kind, Next, NoFields, Policy,
    PolicyContext, PolicyKind, PolicyRole, Ports, Registry, SpecError, State, Stateful, Statistics,
};
use warpweave_params::{Node, Source, parse, to_ron};

/// Role for the place where a coin is thrown.
struct Coin;

trait Throw: Send {
    fn heads(&self, throw: u32) -> bool;
}

impl PolicyRole for Coin {
    const NAME: &'static str = "coin";
    const SUMMARY: &'static str = "How a coin falls";
    type Policy = Box<dyn Throw>;
    /// Number of throws that there will be.
    type Site = u32;
}

struct Heads;

impl Throw for Heads {
    fn heads(&self, _throw: u32) -> bool {
        true
    }
}

impl PolicyKind for Heads {
    type Role = Coin;
    const NAME: &'static str = "Heads";
    const SUMMARY: &'static str = "Always heads";
    type Spec = NoFields;
    fn build(_: NoFields, _: &PolicyContext<'_, Coin>) -> Result<Box<dyn Throw>, SpecError> {
        Ok(Box::new(Heads))
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EverySpec {
    /// Number of throws from one head to the next.
    #[serde(default = "two")]
    period: u32,
    /// Policy that decides the other throws.
    #[serde(default = "Policy::plain::<Heads>")]
    inner: Policy<Coin>,
}

fn two() -> u32 {
    2
}

/// Throws heads at every multiple of the given number.
struct Every(u32);

impl Throw for Every {
    fn heads(&self, throw: u32) -> bool {
        throw.is_multiple_of(self.0)
    }
}

impl PolicyKind for Every {
    type Role = Coin;
    const NAME: &'static str = "Every";
    const SUMMARY: &'static str = "Heads every so many throws";
    type Spec = EverySpec;
    fn build(
        spec: EverySpec,
        context: &PolicyContext<'_, Coin>,
    ) -> Result<Box<dyn Throw>, SpecError> {
        SpecError::in_range("period", spec.period, 1..=*context.site)?;
        spec.inner
            .build("inner", context.environment, context.site, 0)?;
        Ok(Box::new(Every(spec.period)))
    }
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlayerSpec {
    /// Policies that decide the throws, one for each coin.
    coins: Vec<Policy<Coin>>,
    /// Policy of one additional, last coin.
    #[serde(default = "Policy::plain::<Heads>")]
    last: Policy<Coin>,
}

struct Player {
    heads: usize,
}

impl Bundle for Player {
    fn ports(&mut self, _ports: &mut Ports<'_>) {}
}

impl Component for Player {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }
}

impl Stateful for Player {}

impl Instrumented for Player {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        statistics.counter("heads", "coins", "heads", self.heads as u64);
    }
}

impl Kind for Player {
    const NAME: &'static str = "Player";
    const SUMMARY: &'static str = "Throws coins";
    type Spec = PlayerSpec;
    fn build(spec: PlayerSpec, environment: &Environment) -> Result<Self, SpecError> {
        let mut coins = Vec::new();
        for (number, coin) in spec.coins.iter().enumerate() {
            let field = format!("coins[{number}]");
            coins.push(coin.build(&field, environment, &8, number as u32)?);
        }
        coins.push(spec.last.build("last", environment, &8, 0)?);
        let heads = coins.iter().filter(|coin| coin.heads(3)).count();
        Ok(Self { heads })
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register::<Player>();
    registry.register_policy::<Every>();
    registry.register_policy::<Heads>();
    registry
}

fn node(text: &str) -> Node {
    parse(&Source::new("system.ron", text)).unwrap_or_else(|problems| panic!("{problems}"))
}

fn refused(text: &str) -> String {
    let built = registry().build(&node(text), &Environment::new("player", 1));
    built.err().expect("it is wrong").to_string()
}

#[test]
fn a_policy_is_built_by_the_name_it_has_in_its_role() {
    let text = "Player(coins: [Every(period: 3), Every, Heads()])";
    let built = registry().build(&node(text), &Environment::new("player", 1));
    let mut found = Vec::new();
    let component = built
        .unwrap_or_else(|problems| panic!("{problems}"))
        .component;
    component.statistics(&mut Statistics::new(
        1,
        warpweave_framework::Tick(1),
        &mut found,
    ));
    assert_eq!(found[0].value, warpweave_framework::Value::Counter(3));
}

#[test]
fn a_description_is_written_out_with_the_defaults_of_its_policies() {
    let (registry, node) = (registry(), node("Player(coins: [Every, Heads])"));
    let built = registry.build(&node, &Environment::new("player", 1));
    let resolve = built
        .unwrap_or_else(|problems| panic!("{problems}"))
        .resolve;
    let resolved = resolve(&registry, &node).unwrap_or_else(|problems| panic!("{problems}"));
    insta::assert_snapshot!(to_ron(&resolved).replace("PlayerSpec", "Player"), @"Player(coins: [Every(period: 2, inner: Heads), Heads], last: Heads)");
}

#[test]
fn a_misspelt_policy_is_told_the_nearest_of_its_role() {
    insta::assert_snapshot!(refused("Player(coins: [Heads, Evry(period: 3)])"), @"
    error: unknown coin `Evry`
     --> system.ron:1:23
      |
    1 | Player(coins: [Heads, Evry(period: 3)])
      |                       ^^^^
      = hint: did you mean `Every`? policies of this role: Every, Heads
    ");
}

#[test]
fn what_a_policy_refuses_stands_at_its_field() {
    let texts = [
        "Player(coins: [Heads, Every(period: 9)])",
        "Player(coins: [Heads, Every(perod: 3)])",
        "Player(coins: [\"Heads\"])",
        "Player(coins: [Every(inner: Tails)])",
    ];
    insta::assert_snapshot!(texts.map(refused).join("\n"), @r#"
    error: period: 9, expected 1 to 8
     --> system.ron:1:37
      |
    1 | Player(coins: [Heads, Every(period: 9)])
      |                                     ^
    error: unknown field `perod` in Every
     --> system.ron:1:29
      |
    1 | Player(coins: [Heads, Every(perod: 3)])
      |                             ^^^^^
      = hint: did you mean `period`? fields of Every: period, inner
    error: expected a coin, found string "Heads"
     --> system.ron:1:16
      |
    1 | Player(coins: ["Heads"])
      |                ^^^^^^^
      = hint: write `Heads` without quotes
    error: unknown coin `Tails`
     --> system.ron:1:29
      |
    1 | Player(coins: [Every(inner: Tails)])
      |                             ^^^^^
      = hint: policies of this role: Every, Heads
    "#);
}

#[test]
fn fields_that_hold_policies_say_their_role_and_policies_their_fields() {
    let registry = registry();
    let fields = registry.get("Player").expect("registered").fields();
    let told: Vec<_> = fields
        .iter()
        .map(|f| (f.kind.as_str(), f.role.as_deref(), f.default.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            ("list of coin", Some("coin"), None),
            ("coin", Some("coin"), Some("Heads"))
        ]
    );
    let roles: Vec<_> = registry.roles().collect();
    assert_eq!(roles, [("coin", "How a coin falls")]);
    let names: Vec<_> = registry
        .policies("coin")
        .map(|policy| policy.name)
        .collect();
    assert_eq!(names, ["Every", "Heads"]);
    let period = &registry
        .policy("coin", "Every")
        .expect("registered")
        .fields()[0];
    assert_eq!(
        (period.name.as_str(), period.default.as_deref()),
        ("period", Some("2"))
    );
}

#[test]
fn a_policy_made_in_rust_needs_no_registry() {
    let spec = PlayerSpec {
        coins: vec![Policy::plain::<Heads>()],
        last: Policy::of::<Every>(&EverySpec {
            period: 9,
            inner: Policy::plain::<Heads>(),
        }),
    };
    let error = Player::build(spec, &Environment::new("player", 1)).err();
    let error = error.expect("the period is too long");
    assert_eq!(
        (error.field.as_str(), error.to_string()),
        ("last", "period: 9, expected 1 to 8".to_owned())
    );
}

#[test]
fn a_part_that_does_not_name_its_state_is_refused_by_its_name() {
    let error = State::save(|state| state.part("scheduler", |state| state.refuse("no state")));
    assert_eq!(
        error.expect_err("refused").to_string(),
        "cannot be saved: scheduler: no state"
    );
}
