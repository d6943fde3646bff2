//! Tests of the switch alone: BookSim's exact latencies, queueing theory, conservation, order,
//! fairness.

use std::collections::VecDeque;

use proptest::prelude::*;
use warpweave_framework::{Cycle, Policy};

use super::traffic::{
    Play, any_plan, any_switch, happens, islip, longest_wait, network, parcel, play, random,
};
use crate::crossbar::{Network, NetworkSpec, Queueing, RoundRobin, SwitchSpec};

/// Builds a switch without a component around it.
fn switch<P: Copy>((inputs, outputs): (usize, usize), spec: &SwitchSpec) -> Network<P> {
    network(inputs, outputs, &NetworkSpec::Switch(spec.clone()))
}

/// BookSim with one virtual channel, routing delay 0 and allocation delays 1.
fn booksim(internal_speedup: u32, buffer_flits: u32) -> SwitchSpec {
    SwitchSpec {
        flit_bytes: 32,
        queueing: Queueing::Fifo,
        arbiter: islip(1),
        buffer_flits,
        output_buffer_flits: 64,
        internal_speedup,
        input_cycles: 4 - internal_speedup,
        output_cycles: 3,
        credit_cycles: 2,
        turnaround_matchings: 1,
    }
}

/// Specification of the slotted switch of queueing theory.
fn slotted(queueing: Queueing, iterations: u32) -> SwitchSpec {
    SwitchSpec {
        flit_bytes: 32,
        queueing,
        arbiter: islip(iterations),
        buffer_flits: 1 << 16,
        output_buffer_flits: 2,
        internal_speedup: 1,
        input_cycles: 0,
        output_cycles: 0,
        credit_cycles: 1,
        turnaround_matchings: 0,
    }
}

/// Keeps every input supplied with packets from `next` (output, flits). Returns flits per cycle per
/// output, excluding the first tenth of the time.
fn saturate(
    spec: &SwitchSpec,
    (inputs, outputs): (usize, usize),
    cycles: Cycle,
    mut next: impl FnMut(Cycle, usize) -> Option<(usize, u32)>,
) -> Vec<f64> {
    let mut switch = switch((inputs, outputs), spec);
    let warm_up = cycles / 10;
    let mut before = vec![0; outputs];
    for now in 0..cycles {
        if now == warm_up {
            before = switch.flits_delivered().to_vec();
        }
        for input in 0..inputs {
            if switch.accepts(input)
                && let Some((output, flits)) = next(now, input)
            {
                switch.offer(now, parcel(input, output, flits), ());
            }
        }
        switch.step(now, |_, (), _| true);
    }
    let flits = switch.flits_delivered().iter().zip(before);
    flits
        .map(|(after, before)| (after - before) as f64 / (cycles - warm_up) as f64)
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn zero_load_latency_is_the_documented_formula_and_booksims() {
    // BookSim 2: 5 + flits, 4 + flits at internal speedup 2.
    for (speedup, flits, expected) in [
        (1, 1, 6),
        (1, 2, 7),
        (1, 5, 10),
        (1, 9, 14),
        (2, 1, 5),
        (2, 2, 6),
        (2, 5, 9),
        (2, 9, 13),
    ] {
        let spec = booksim(speedup, 64);
        assert_eq!(spec.zero_load_cycles(flits), expected);
        let mut switch = switch((12, 8), &spec);
        switch.offer(100, parcel(3, 5, flits), 'x');
        let mut delivered = Vec::new();
        for now in 100..200 {
            switch.step(now, |output, payload, _| {
                delivered.push((now - 100, output, payload));
                true
            });
        }
        assert_eq!(delivered, [(u64::from(expected), 5, 'x')]);
        assert_eq!(switch.next_event(200), None);
    }
}

#[test]
fn one_flow_is_limited_by_the_credit_loop_and_the_turnaround_as_in_booksim() {
    // (buffer flits, packet flits, flits per cycle), one virtual channel, internal speedup 1.
    for (buffer, flits, expected) in [
        (1, 1, 0.2),
        (1, 5, 0.2),
        (2, 1, 0.4003),
        (2, 5, 0.4002),
        (3, 1, 0.5),
        (3, 5, 0.5878),
        (4, 1, 0.5),
        (4, 5, 0.7143),
        (5, 1, 0.5),
        (5, 5, 0.8333),
        (64, 1, 0.5),
        (64, 5, 0.8333),
    ] {
        let rate = saturate(&booksim(1, buffer), (1, 1), 20_000, |_, _| Some((0, flits)))[0];
        assert!(
            (rate / expected - 1.0).abs() < 0.01,
            "{buffer} {flits}: {rate} for {expected}"
        );
    }
    let rate = saturate(&booksim(2, 5), (1, 1), 20_000, |_, _| Some((0, 1)))[0];
    assert!((rate - 1.0).abs() < 1e-9, "internal speedup 2: {rate}");
}

#[test]
fn twelve_sources_share_one_output_evenly_at_booksims_rate() {
    for (speedup, flits, expected) in [(1, 1, 0.5), (1, 5, 5.0 / 6.0), (2, 1, 1.0), (2, 5, 1.0)] {
        let mut taken = [0u32; 12];
        let rate = saturate(&booksim(speedup, 16), (12, 1), 20_000, |_, input| {
            taken[input] += 1;
            Some((0, flits))
        })[0];
        assert!(
            (rate - expected).abs() < 0.002,
            "{speedup} {flits}: {rate} for {expected}"
        );
        let (least, most) = (taken.iter().min().unwrap(), taken.iter().max().unwrap());
        assert!(most - least <= 2, "{taken:?}");
    }
}

#[test]
fn fifo_inputs_saturate_where_queueing_theory_says() {
    // Slotted model of the same switch, 200 000 slots; Karol, Hluchyj, Morgan 1987 for squares.
    for (inputs, outputs, expected) in [
        (2, 2, 0.748625),
        (4, 4, 0.655528),
        (8, 8, 0.618251),
        (16, 16, 0.601480),
        (12, 8, 0.726807),
        (8, 12, 0.484597),
        (15, 12, 0.669767),
        (12, 15, 0.536492),
    ] {
        let spec = SwitchSpec {
            buffer_flits: 4,
            ..slotted(Queueing::Fifo, 1)
        };
        let rates = saturate(&spec, (inputs, outputs), 30_000, |now, input| {
            Some((random(7, now, input) as usize % outputs, 1))
        });
        let rate = mean(&rates);
        assert!(
            (rate / expected - 1.0).abs() < 0.01,
            "{inputs}x{outputs}: {rate} for {expected}"
        );
    }
}

#[test]
fn virtual_output_queues_with_islip_fill_every_output() {
    // Square switches desynchronise slowly, hence the long run.
    for (inputs, outputs) in [(8, 8), (16, 16), (12, 8), (15, 12)] {
        for iterations in [1, 4] {
            let spec = slotted(Queueing::VirtualOutput, iterations);
            let rates = saturate(&spec, (inputs, outputs), 100_000, |now, input| {
                Some((random(11, now, input) as usize % outputs, 1))
            });
            let rate = mean(&rates);
            assert!(
                rate >= 0.99,
                "{inputs}x{outputs}, {iterations} iterations: {rate}"
            );
        }
    }
}

#[test]
fn islip_delays_match_the_slotted_model_below_saturation() {
    // (inputs, outputs, iterations, arrivals per slot and source, mean delay in slots).
    for (inputs, outputs, iterations, load, expected) in [
        (8, 8, 1, 0.5, 1.0839),
        (8, 8, 4, 0.5, 0.6669),
        (8, 8, 1, 0.8, 22.2968),
        (8, 8, 4, 0.8, 3.5919),
        (12, 8, 1, 0.333_333, 0.7803),
        (12, 8, 1, 0.533_333, 12.8547),
        (12, 8, 4, 0.533_333, 2.4310),
        (12, 8, 4, 0.6, 5.2791),
    ] {
        let spec = slotted(Queueing::VirtualOutput, iterations);
        let mut switch = switch((inputs, outputs), &spec);
        for now in 0..60_000 {
            for input in 0..inputs {
                if happens(random(3, now, input), load) {
                    let output = random(5, now, input) as usize % outputs;
                    switch.offer(now, parcel(input, output, 1), ());
                }
            }
            switch.step(now, |_, (), _| true);
        }
        let delay = switch.latency().mean().unwrap();
        assert!(
            (delay / expected - 1.0).abs() < 0.06,
            "{inputs}x{outputs} i{iterations} at {load}: {delay} for {expected}"
        );
    }
}

/// Simulates one point with offered traffic: packets of `flits` at `load` flits per cycle and
/// source. A fraction `hot` goes to output 0 and the rest is uniform. Returns (mean latency
/// including the wait at the source, flits per cycle).
///
/// One random sample is compared with one run of the reference. Near saturation samples differ:
/// over 59 others the accepted rate of the hot-spot overload with 5 flits is on average 2 % below
/// the reference.
fn offered(
    spec: &SwitchSpec,
    (inputs, outputs): (usize, usize),
    (flits, load, hot): (u32, f64, f64),
    cycles: Cycle,
) -> (f64, f64) {
    let mut switch = switch((inputs, outputs), spec);
    let mut queues = vec![VecDeque::new(); inputs];
    let (mut latency, mut packets, mut flits_out) = (0, 0u64, 0u64);
    let warm_up = cycles / 6;
    for now in 0..cycles {
        for (input, queue) in queues.iter_mut().enumerate() {
            if happens(random(21, now, input), load / f64::from(flits)) {
                let uniform = random(22, now, input) as usize % outputs;
                let is_hot = happens(random(23, now, input), hot);
                queue.push_back((now, if is_hot { 0 } else { uniform }));
            }
            if switch.accepts(input)
                && let Some((created, output)) = queue.pop_front()
            {
                switch.offer(now, parcel(input, output, flits), created);
            }
        }
        switch.step(now, |_, created, _| {
            if now >= warm_up {
                flits_out += u64::from(flits);
            }
            if created >= warm_up {
                latency += now - created;
                packets += 1;
            }
            true
        });
    }
    (
        latency as f64 / packets as f64,
        flits_out as f64 / (cycles - warm_up) as f64,
    )
}

#[test]
fn latency_and_saturation_are_those_of_booksim() {
    // BookSim 2 (see `booksim`), 12 x 8: speedup, packet flits, share to output 0, offered flits
    // per cycle and source, mean latency.
    for (speedup, flits, hot, load, expected) in [
        (1, 1, 0.0, 0.06667, 6.345),
        (1, 1, 0.0, 0.2, 11.005),
        (1, 5, 0.0, 0.06667, 10.564),
        (1, 5, 0.0, 0.2, 13.209),
        (2, 1, 0.0, 0.2, 5.249),
        (2, 1, 0.0, 0.33333, 5.836),
        (2, 5, 0.0, 0.2, 10.557),
        (2, 5, 0.0, 0.4, 14.122),
        (2, 1, 0.2, 0.16667, 5.334),
        (2, 5, 0.2, 0.16667, 10.894),
    ] {
        let (latency, _) = offered(&booksim(speedup, 64), (12, 8), (flits, load, hot), 30_000);
        assert!(
            (latency / expected - 1.0).abs() < 0.035,
            "speedup {speedup}, {flits} flits, {hot} hot, load {load}: {latency} for {expected}"
        );
    }
    // The same in overload: flits per cycle accepted.
    for (speedup, flits, hot, expected) in [
        (1, 1, 0.0, 2.9017),
        (1, 5, 0.0, 4.887),
        (2, 1, 0.0, 5.7935),
        (2, 5, 0.0, 7.497),
        (2, 1, 0.2, 3.3395),
        (2, 5, 0.2, 3.397),
    ] {
        let (_, rate) = offered(&booksim(speedup, 64), (12, 8), (flits, 1.0, hot), 30_000);
        assert!(
            (rate / expected - 1.0).abs() < 0.01,
            "speedup {speedup}, {flits} flits, {hot} hot: {rate} for {expected}"
        );
    }
}

#[test]
fn virtual_output_queues_are_those_of_booksim_for_single_flits() {
    let run = |flits, buffer, load| {
        let spec = SwitchSpec {
            queueing: Queueing::VirtualOutput,
            turnaround_matchings: 0,
            ..booksim(1, buffer)
        };
        offered(&spec, (12, 8), (flits, load, 0.0), 30_000)
    };
    let near = |got: f64, expected: f64, tolerance: f64| {
        assert!(
            (got / expected - 1.0).abs() < tolerance,
            "{got} for {expected}"
        );
    };
    near(run(1, 16, 0.2).0, 6.277, 0.035);
    near(run(1, 16, 0.4).0, 7.655, 0.035);
    near(run(1, 256, 0.53333).0, 19.31, 0.05);
    near(run(1, 16, 1.0).1, 7.535, 0.01);
    near(run(1, 256, 1.0).1, 8.0, 0.001);
    near(run(5, 256, 1.0).1, 7.9605, 0.01);
    // KNOWN DEVIATION: with longer packets BookSim's virtual channels interleave flits of several
    // packets at an output. BookSim gives 12.94 and 23.39 cycles, and 6.38 flits per cycle in
    // overload. Here a packet holds its ports until its tail, which is shorter for all packets.
    near(run(5, 16, 0.2).0, 11.68, 0.01);
    near(run(5, 16, 0.4).0, 16.33, 0.01);
    near(run(5, 16, 1.0).1, 7.564, 0.01);
}

#[test]
fn all_128_ports_work_to_the_last() {
    let spec = SwitchSpec {
        queueing: Queueing::VirtualOutput,
        buffer_flits: 8,
        ..slotted(Queueing::VirtualOutput, 1)
    };
    let rates = saturate(&spec, (128, 128), 500, |_, i| Some((127 - i, 1)));
    assert!(rates.iter().all(|r| (r - 1.0).abs() < 1e-9), "{rates:?}");
}

#[test]
fn permutation_traffic_runs_at_full_rate_with_every_arbiter_and_queueing() {
    for queueing in [Queueing::Fifo, Queueing::VirtualOutput] {
        for arbiter in [Policy::plain::<RoundRobin>(), islip(1)] {
            for flits in [1, 5] {
                let spec = SwitchSpec {
                    queueing,
                    arbiter: arbiter.clone(),
                    turnaround_matchings: 0,
                    ..booksim(1, 5)
                };
                let rates = saturate(&spec, (8, 8), 5_000, |_, i| Some(((i * 3 + 1) % 8, flits)));
                assert!(
                    rates.iter().all(|r| (r - 1.0).abs() < 1e-9),
                    "{spec:?}: {rates:?}"
                );
            }
        }
    }
}

#[test]
fn a_hot_output_saturates_and_keeps_running_at_full_rate() {
    // A fifth of the traffic to output 0, the rest uniform: saturation 1 / (S (h + (1 - h) / D)).
    let (inputs, outputs, hot) = (12, 8, 0.2);
    let limit = 1.0 / (inputs as f64 * (hot + (1.0 - hot) / outputs as f64));
    let spec = SwitchSpec {
        buffer_flits: 64,
        ..slotted(Queueing::VirtualOutput, 2)
    };
    let rates = saturate(&spec, (inputs, outputs), 40_000, |now, input| {
        let uniform = random(2, now, input) as usize % outputs;
        let to_hot = random(9, now, input).is_multiple_of(5);
        Some((if to_hot { 0 } else { uniform }, 1))
    });
    let accepted = rates.iter().sum::<f64>() / inputs as f64;
    assert!((rates[0] - 1.0).abs() < 0.005, "hot output {}", rates[0]);
    assert!(
        (accepted / limit - 1.0).abs() < 0.03,
        "{accepted} for {limit}"
    );
}

#[test]
fn nobody_starves_while_others_send_without_end() {
    for queueing in [Queueing::Fifo, Queueing::VirtualOutput] {
        for arbiter in [Policy::plain::<RoundRobin>(), islip(1), islip(3)] {
            let spec = SwitchSpec {
                arbiter: arbiter.clone(),
                buffer_flits: 8,
                ..slotted(queueing, 1)
            };
            let waited = longest_wait(&NetworkSpec::Switch(spec), (6, 5), 5_000);
            assert!(waited < 1_000, "{arbiter:?}: {waited}");
        }
    }
}

#[test]
fn two_staggered_streams_do_not_lock_a_third_packet_out() {
    // Inputs 0 and 1 send packets of 4 flits to outputs 0 and 1 without end. Inputs 2 and 3 do so
    // for a while, to build a backlog for the others. One of them ends with 2 more flits.
    // Afterwards output 1 is never free in the cycle in which input 0 is.
    for arbiter in [Policy::plain::<RoundRobin>(), islip(2)] {
        let spec = SwitchSpec {
            arbiter: arbiter.clone(),
            ..slotted(Queueing::VirtualOutput, 1)
        };
        let mut switch = switch((4, 2), &spec);
        let mut crossed = None;
        let mut sent = [0; 4];
        for now in 0..3_000 {
            for input in 0..4 {
                if switch.accepts(input) && (input < 2 || sent[input] < 100) {
                    sent[input] += 1;
                    let crosses = input == 0 && sent[0] == 250;
                    let output = if crosses { 1 } else { input % 2 };
                    let flits = if input == 3 && sent[3] == 100 { 6 } else { 4 };
                    switch.offer(now, parcel(input, output, flits), crosses);
                }
            }
            switch.step(now, |_, crosses, _| {
                if crosses {
                    crossed = Some(now);
                }
                true
            });
        }
        assert!(
            crossed.is_some_and(|at| at < 1_500),
            "{arbiter:?}: {crossed:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_packet_arrives_once_in_order_and_where_it_should(
        spec in any_switch(), (outputs, plan) in any_plan(), refuse in 0u32..12,
    ) {
        let network = NetworkSpec::Switch(spec.clone());
        let how = Play { outputs, refuse, lazy: false, save_at: None };
        let (delivered, stalls, states) = play(&network, &plan, how);
        let mut seen: Vec<Vec<bool>> = plan.iter().map(|p| vec![false; p.len()]).collect();
        let mut last = vec![None; plan.len() * outputs];
        let mut busy_until = vec![0; outputs];
        for &(now, output, (input, number)) in &delivered {
            let (created, wanted, flits) = plan[input as usize][number as usize];
            prop_assert_eq!(output, wanted);
            prop_assert!(!std::mem::replace(&mut seen[input as usize][number as usize], true));
            prop_assert!(now >= created + u64::from(spec.zero_load_cycles(flits)));
            let flow = &mut last[input as usize * outputs + output];
            prop_assert!(flow.is_none_or(|before| before < number));
            *flow = Some(number);
            // A wormhole output passes at most one flit per cycle.
            prop_assert!(now + 1 >= busy_until[output] + u64::from(flits));
            busy_until[output] = now + 1;
        }
        prop_assert!(seen.iter().flatten().all(|s| *s));
        // Stepping only when something can happen makes no difference.
        let lazily = Play { lazy: true, ..how };
        prop_assert_eq!(play(&network, &plan, lazily), (delivered, stalls, states));
    }
}
