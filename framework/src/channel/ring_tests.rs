//! Tests of the ring, kept separate because its source is also compiled for model checking.

use std::sync::Arc;

use crate::channel::boundary::Vacancy;
use crate::channel::ring::ring;

#[test]
fn a_message_is_readable_from_its_ready_tick_on() {
    let (mut tx, mut rx) = ring(2);
    tx.push(0, 'a', 5);
    assert_eq!(rx.peek(4), None);
    assert_eq!(rx.pop(5, 6), Some('a'));
    assert_eq!(rx.pop(6, 7), None);
}

#[test]
fn a_slot_is_writable_only_when_its_credit_is_back() {
    let (mut tx, mut rx) = ring(1);
    tx.push(0, 1, 1);
    assert_eq!(tx.vacancy(9), Vacancy::Full);
    rx.pop(3, 7).unwrap();
    assert_eq!(tx.vacancy(6), Vacancy::CreditAt(7));
    assert_eq!(tx.vacancy(7), Vacancy::Free);
}

#[test]
fn dropping_a_ring_drops_the_messages_in_flight_once() {
    let value = Arc::new(());
    let (mut tx, mut rx) = ring(4);
    for _ in 0..3 {
        tx.push(0, Arc::clone(&value), 0);
    }
    drop(rx.pop(0, 0));
    drop((tx, rx));
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn a_restored_ring_goes_on_as_the_saved_one_wherever_its_ends_stood() {
    for passed in 0..4 {
        let (mut tx, mut rx) = ring(3);
        for i in 0..passed {
            tx.push(0, i, 0);
            rx.pop(0, 0);
        }
        tx.push(0, 10, 5);
        tx.push(0, 11, 6);
        tx.push(0, 12, 9);
        rx.pop(7, 20);
        let messages: Vec<_> = rx.messages().map(|(t, v)| (t, *v)).collect();
        let credits: Vec<_> = rx.credits(7).collect();
        assert_eq!(
            (&messages[..], &credits[..]),
            (&[(6, 11), (9, 12)][..], &[20][..])
        );

        let (mut tx, mut rx) = ring(3);
        tx.push(0, 99, 0);
        rx.clear();
        for (ready, value) in messages {
            assert!(tx.restore_message(ready, value));
        }
        assert!(tx.restore_credits(&credits));
        assert_eq!(tx.vacancy(19), Vacancy::CreditAt(20));
        assert_eq!(rx.peek(5), None);
        assert_eq!(rx.pop(6, 30), Some(11));
        tx.push(20, 13, 21);
        assert_eq!((rx.pop(9, 0), rx.pop(21, 0)), (Some(12), Some(13)));
    }
}

#[test]
fn more_than_a_ring_holds_is_refused() {
    let (mut tx, _rx) = ring(1);
    assert!(!tx.restore_credits(&[1, 2]));
    assert!(tx.restore_message(1, 7) && !tx.restore_message(1, 7));
    assert!(!tx.restore_credits(&[1]));
}

#[test]
fn two_threads_pass_every_message_in_order() {
    let (mut tx, mut rx) = ring::<Box<u32>>(3);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for i in 0..10_000 {
                while tx.vacancy(0) != Vacancy::Free {
                    std::hint::spin_loop();
                }
                tx.push(0, Box::new(i), 0);
            }
        });
        for i in 0..10_000 {
            let got = loop {
                if let Some(value) = rx.pop(0, 0) {
                    break value;
                }
                std::hint::spin_loop();
            };
            assert_eq!(*got, i);
        }
    });
}

#[test]
#[should_panic(expected = "the slot is full")]
fn pushing_into_a_full_slot_is_caught() {
    let (mut tx, _rx) = ring(1);
    tx.push(0, 1, 0);
    tx.push(0, 2, 0);
}
