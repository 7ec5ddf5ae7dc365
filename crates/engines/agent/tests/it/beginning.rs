//! Turns that don't get to their beginning, and turns that nothing may stop before it.

use session::{Busy, Came, DOUBTED, TurnLine as _};

use crate::world::{House, message, with_a_file};

#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_a_download_counts_as_no_failure_of_the_message() {
    let house = House::default();
    for start in 1..=5 {
        house
            .run(async |handle| {
                let mut message = with_a_file(message(1, "look", Busy::Queue));
                message.came = Came::Before { taken: 0 };
                handle.enqueue(message);
                house
                    .until("it is fetched", |house| house.downloads() == start)
                    .await;
                assert_eq!(house.taken(1), 1);
            })
            .await;
        assert_eq!(house.taken(1), 0);
    }
    assert_eq!(house.happened(), [] as [String; 0]);
}

#[tokio::test(start_paused = true)]
async fn words_that_follow_a_file_at_once_interrupt_nothing_and_both_are_answered() {
    let house = House::default();
    house
        .run(async |handle| {
            handle.enqueue(with_a_file(message(1, "", Busy::Interrupt)));
            house
                .until("it is fetched", |house| house.downloads() == 1)
                .await;
            handle.enqueue(message(2, "what is it?", Busy::Interrupt));
            house.let_go.notify_one();
            house
                .until("both have ended", |house| house.happened().len() == 4)
                .await;
        })
        .await;
    assert_eq!(
        house.happened(),
        ["begun 1", "answered", "begun 2", "answered"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_row_is_damaged_is_put_aside_and_its_line_goes_on() {
    let house = House::default();
    house.damage(1);
    house
        .run(async |handle| {
            handle.enqueue(message(1, "one", Busy::Queue));
            handle.enqueue(message(2, "two", Busy::Queue));
            house
                .until("the second has ended", |house| house.happened().len() == 3)
                .await;
        })
        .await;
    let happened = house.happened();
    assert!(
        happened[0].starts_with("put aside 1: ") && happened[0].contains("row 5"),
        "{happened:?}"
    );
    assert_eq!(happened[1..], ["begun 2", "answered"]);
}

#[tokio::test(start_paused = true)]
async fn what_waited_in_a_database_that_was_put_back_is_read_with_a_warning() {
    let house = House::default();
    for (version, warned) in [(1, false), (DOUBTED + 1, true)] {
        let ended = house.happened().len() + 2;
        house
            .run(async |handle| {
                let mut message = message(1, "pay the rent", Busy::Queue);
                message.version = version;
                handle.enqueue(message);
                house
                    .until("it has ended", |house| house.happened().len() == ended)
                    .await;
            })
            .await;
        let read = house.read();
        assert_eq!(read.contains("may have been answered already"), warned);
    }
}
