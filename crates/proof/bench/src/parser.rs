//! The directive parser, fed as a stream is.

use std::time::{Duration, Instant};

use markup::DirectiveParser;

use crate::table::Table;

/// An answer as models write them: prose, a list, code, a table, a file.
const ANSWER: &str = "Here is what I found in the **report** of last week, in short.\n\n\
- The first quarter went well: revenue is up by 4 %.\n- The second did not; see `src/main.rs` and the table below.\n\n\
```python\nprint('MEDIA: not a directive in here')\nfor row in rows:\n    total += row.value\n```\n\n\
| a | b |\n|---|---|\n| 1 | 2 |\n\nMEDIA:/workspace/out/chart.png\n\nSay so if you want the raw numbers, too.\n\n";

pub(crate) fn measure(table: &mut Table, quick: bool) {
    let least = Duration::from_millis(if quick { 300 } else { 2_000 });
    for (name, size) in [
        ("whole answers", usize::MAX),
        ("deltas of 12 characters", 12),
    ] {
        let pieces: Vec<String> = if size == usize::MAX {
            vec![ANSWER.to_owned()]
        } else {
            let signs: Vec<char> = ANSWER.chars().collect();
            signs
                .chunks(size)
                .map(|chunk| chunk.iter().collect())
                .collect()
        };
        let began = Instant::now();
        let mut bytes = 0_usize;
        while began.elapsed() < least {
            for _ in 0..20 {
                let mut parser = DirectiveParser::new();
                let mut seen = 0;
                for piece in &pieces {
                    seen += parser.feed(piece).len();
                }
                seen += parser.finish().len();
                bytes += ANSWER.len();
                std::hint::black_box(seen);
            }
        }
        let rate = bytes as f64 / began.elapsed().as_secs_f64() / 1e6;
        table.row(
            format!("directive parser, {name}"),
            format!("{rate:.0} MB/s"),
            "a model writes about 0.0005 MB/s",
        );
    }
}
