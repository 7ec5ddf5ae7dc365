//! One ledger per way in which delivery can go wrong.

use serde_json::json;
use tidings_checker::{Evidence, check};

use crate::world::{BASE, MARK, at, found, good};

#[test]
fn a_run_that_went_well_has_no_findings() {
    let report = check(&good());
    assert_eq!(report.findings, []);
    assert_eq!((report.parts, report.delivered), (3, 3));
    assert_eq!(
        (report.unknown, report.repeated, report.throttled),
        (1, 1, 1)
    );
}

#[test]
fn i1_a_part_that_stays_open_is_found() {
    for state in ["queued", "sending", "retry", "unknown", "dreaming"] {
        let names = found(|run| run.product[0].parts[0].state = state.to_owned());
        assert_eq!(names, ["I1"], "{state}");
    }
}

#[test]
fn i1_a_death_that_nobody_is_told_of_is_found() {
    let die = |run: &mut Evidence| {
        run.product[0].parts[1].state = "failed".to_owned();
        run.product[0].parts[1].receipt = None;
        run.product[0].parts[1].attempts[1].outcome = Some("perm_item".to_owned());
        run.fake.calls[3].done = false;
        run.fake.visible.remove(1);
        run.driver.inbound[0].may_die = true;
    };
    assert_eq!(found(die), ["I1"]);
    let told = |run: &mut Evidence| {
        die(run);
        let notice = json!({
            "id": "msg_3", "account": "web", "chat": "main", "kind": "notice", "source": "dead:msg_1:2", "created_at": at(1_320),
            "parts": [{"n": 1, "state": "sent", "receipt": ""}],
        });
        run.product.push(serde_json::from_value(notice).unwrap());
    };
    assert_eq!(found(told), Vec::<&str>::new());
}

#[test]
fn i1_a_receipt_for_nothing_is_found() {
    let names = found(|run| {
        run.fake.visible.remove(1);
    });
    assert_eq!(names, ["I1"]);
    let twice = found(|run| run.product[0].parts[1].receipt = Some("2".to_owned()));
    assert_eq!(twice, ["I1"]);
}

#[test]
fn i1_an_answer_that_never_came_is_found() {
    let names = found(|run| {
        run.product.remove(0);
        run.fake.calls.retain(|call| call.chat != 10);
        run.fake.visible.retain(|shown| shown.chat != 10);
    });
    assert_eq!(names, ["I1"]);
}

#[test]
fn i1_a_row_that_was_lost_is_found() {
    let names = found(|run| {
        run.product.remove(0);
    });
    assert_eq!(names, ["I4"], "its calls have no attempts then");
}

#[test]
fn i1_a_message_that_was_answered_twice_is_found() {
    let names = found(|run| {
        let mut twin = run.product[0].clone();
        twin.id = "msg_9".to_owned();
        twin.parts.truncate(1);
        twin.parts[0].seq = Some(9);
        twin.parts[0].receipt = Some("9".to_owned());
        twin.parts[0].attempts[0].started_at = at(5_000);
        twin.parts[0].attempts[0].ended_at = Some(at(5_020));
        run.product.push(twin);
        let mut call = run.fake.calls[0].clone();
        call.at = BASE + 5_010;
        call.message = Some(9);
        run.fake.calls.push(call);
        let mut shown = run.fake.visible[0].clone();
        shown.message = 9;
        run.fake.visible.push(shown);
    });
    assert_eq!(names, ["I1"]);
}

#[test]
fn i2_parts_that_overtook_each_other_are_found() {
    let names = found(|run| {
        run.product[0].parts[0].seq = Some(2);
        run.product[0].parts[1].seq = Some(1);
    });
    assert_eq!(names, ["I2"]);
}

#[test]
fn i3_a_repeat_without_a_mark_is_found() {
    let names = found(|run| {
        run.fake.calls[4].text = run.fake.calls[2].text.clone();
    });
    assert_eq!(names, ["I3"]);
}

#[test]
fn i3_a_repeat_without_an_unknown_end_is_found() {
    let names = found(|run| {
        run.product[1].parts[0].attempts[0].outcome = Some("sent".to_owned());
    });
    assert_eq!(names, ["I3"]);
}

#[test]
fn i3_a_repeat_on_a_keyed_channel_is_found() {
    let names = found(|run| run.driver.keyed.push("a".to_owned()));
    assert_eq!(names, ["I3"]);
}

#[test]
fn i3_a_fault_that_denies_what_was_done_is_found() {
    let names = found(|run| {
        run.product[1].parts[0].attempts[0].outcome = Some("temp_reject".to_owned());
    });
    assert_eq!(names, ["I3"]);
}

#[test]
fn i3_an_empty_placeholder_that_stays_is_found() {
    let names = found(|run| run.fake.visible[0].text = "⏳".to_owned());
    assert_eq!(names, ["I1", "I3"]);
}

#[test]
fn i4_a_call_without_an_attempt_row_is_found() {
    let names = found(|run| {
        run.product[0].parts[1].attempts.remove(0);
    });
    assert_eq!(names, ["I4"]);
}

#[test]
fn i4_a_call_before_its_attempt_row_is_found() {
    let names = found(|run| run.product[0].parts[0].attempts[0].started_at = at(150));
    assert_eq!(names, ["I1", "I4"]);
}

#[test]
fn i4_a_call_after_its_attempt_is_found() {
    let names = found(|run| run.fake.calls[2].at = BASE + 2_250);
    assert_eq!(
        names,
        Vec::<&str>::new(),
        "an attempt that a crash cut off has no end"
    );
    let names = found(|run| run.fake.calls[0].at = BASE + 190 + 250);
    assert_eq!(names, ["I1", "I4"]);
}

#[test]
fn i5_a_call_after_the_cancellation_is_found() {
    let cancelled = |ended: i64| {
        move |run: &mut Evidence| {
            run.product[1].parts[0].state = "cancelled".to_owned();
            run.product[1].parts[0].ended_at = Some(at(ended));
        }
    };
    assert_eq!(found(cancelled(1_000)), ["I5"]);
    assert_eq!(found(cancelled(2_400)), Vec::<&str>::new());
}

#[test]
fn i5_a_call_after_the_expiry_is_found() {
    let names = found(|run| {
        run.product[1].parts[0].state = "expired".to_owned();
        run.product[1].expires_at = Some(at(1_000));
        let notice = json!({"id": "msg_3", "account": "web", "kind": "notice", "source": "dead:msg_2:1", "parts": [{"n": 1, "state": "sent"}]});
        run.product.push(serde_json::from_value(notice).unwrap());
    });
    assert_eq!(names, ["I5"]);
}

#[test]
fn i6_a_call_before_the_wait_is_over_is_found() {
    let early = |run: &mut Evidence| {
        run.product[0].parts[1].attempts[1].started_at = at(1_000);
        run.fake.calls[3].at = BASE + 1_010;
    };
    assert_eq!(found(early), ["I6"]);
    let of_the_bot = |run: &mut Evidence| {
        run.fake.calls[1].scope = Some("bot".to_owned());
        run.fake.calls[1].retry_after = Some(2);
    };
    assert_eq!(found(of_the_bot), ["I6"]);
    let unread = |run: &mut Evidence| {
        early(run);
        run.product[0].parts[1].attempts[0].ended_at = None;
        run.product[0].parts[1].attempts[0].outcome = None;
    };
    assert_eq!(
        found(unread),
        Vec::<&str>::new(),
        "a crash took the answer along"
    );
}

#[test]
fn i7_words_in_a_wrong_chat_are_found() {
    let names = found(|run| run.fake.calls[2].text = "m000001z/1 what was that".to_owned());
    assert_eq!(names, ["I7"]);
    let file = found(|run| {
        run.fake.calls[3].file.as_mut().unwrap().head = "m000002z file".to_owned();
    });
    assert_eq!(file, ["I7"]);
    let bot = found(|run| {
        run.driver.accounts.insert("b".to_owned(), 2);
        run.driver.inbound[1].account = "b".to_owned();
    });
    assert_eq!(bot, ["I1", "I7"]);
}

#[test]
fn i7_words_of_nobody_are_found() {
    assert_eq!(
        found(|run| run.fake.calls[0].text = "hello there".to_owned()),
        ["I7"]
    );
    let marked = format!("{MARK}\nCommands:");
    let known = found(|run| run.fake.calls[2].text = "Commands: one".to_owned());
    assert_eq!(known, Vec::<&str>::new());
    assert_eq!(
        found(|run| run.fake.calls[4].text = marked),
        Vec::<&str>::new()
    );
}

#[test]
fn two_attempts_in_one_millisecond_keep_their_calls() {
    let names = found(|run| {
        let second = &mut run.product[0].parts[1];
        second.attempts[0].started_at = at(120);
        run.fake.calls[0].at = BASE + 120;
        run.fake.calls[1].at = BASE + 120;
    });
    assert_eq!(names, Vec::<&str>::new());
}

#[test]
fn an_edit_that_had_been_done_before_is_no_lie() {
    let names = found(|run| {
        let part = &mut run.product[0].parts[0];
        let mut again = part.attempts[0].clone();
        again.n = 2;
        again.started_at = at(130);
        again.ended_at = Some(at(150));
        part.attempts[0].outcome = Some("step".to_owned());
        part.attempts.push(again);
        let mut call = run.fake.calls[0].clone();
        call.method = "editMessageText".to_owned();
        call.at = BASE + 140;
        call.done = false;
        call.status = Some(400);
        call.refusal = Some("Bad Request: message is not modified: same".to_owned());
        run.fake.calls.insert(1, call);
    });
    assert_eq!(names, Vec::<&str>::new());
}

#[test]
fn an_edit_that_was_done_and_is_called_refused_is_a_lie() {
    let names = found(|run| {
        let part = &mut run.product[0].parts[0];
        let mut again = part.attempts[0].clone();
        again.n = 2;
        again.started_at = at(130);
        again.ended_at = Some(at(150));
        let mut fill = again.clone();
        fill.n = 3;
        fill.started_at = at(152);
        fill.ended_at = Some(at(156));
        part.attempts[0].outcome = Some("step".to_owned());
        again.outcome = Some("temp_reject".to_owned());
        part.attempts.extend([again, fill]);
        for (place, when) in [(1, 140), (2, 154)] {
            let mut call = run.fake.calls[0].clone();
            call.method = "editMessageText".to_owned();
            call.at = BASE + when;
            run.fake.calls.insert(place, call);
        }
    });
    assert_eq!(names, ["I3"]);
}
