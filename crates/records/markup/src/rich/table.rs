//! Tables for places that have none: aligned columns in monospaced letters, or lines where columns would not fit.

use chat::Style;
use pulldown_cmark::Alignment;
use unicode_segmentation::UnicodeSegmentation;

use super::builder::Builder;

/// Widest table that is drawn in columns.
const WIDEST: usize = 60;

#[derive(Debug)]
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    pub(super) fn words(&mut self, words: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(words);
        }
    }

    pub(super) fn draw(self, builder: &mut Builder) {
        let widths: Vec<usize> = (0..self.alignments.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| width(cell)).max().unwrap_or(0)
            })
            .collect();
        let total = widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * 3;
        if total <= WIDEST {
            self.columns(&widths, builder);
        } else {
            self.groups(builder);
        }
    }

    fn columns(&self, widths: &[usize], builder: &mut Builder) {
        builder.due();
        builder.verbatim(true);
        let at = builder.open();
        for (count, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    line.push_str(" │ ");
                }
                let cell = row.get(column).map_or("", String::as_str);
                line.push_str(&aligned(cell, *width, self.alignments.get(column)));
            }
            if count > 0 {
                builder.words("\n");
            }
            builder.words(line.trim_end());
            if count == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                builder.words("\n");
                builder.words(&rule.join("─┼─"));
            }
        }
        builder.verbatim(false);
        builder.close(at, Style::Pre(None));
    }

    fn groups(&self, builder: &mut Builder) {
        let Some((head, rows)) = self.rows.split_first() else {
            return;
        };
        for row in rows {
            builder.lines(1);
            builder.words("• ");
            for (column, cell) in row.iter().enumerate() {
                let at = if column == 0 {
                    builder.open()
                } else {
                    builder.line_break();
                    builder.words("  ");
                    builder.open()
                };
                let name = head.get(column).map_or("", String::as_str);
                if column == 0 {
                    builder.words(cell);
                    builder.close(at, Style::Bold);
                } else if name.is_empty() {
                    builder.words(cell);
                } else {
                    builder.words(&format!("{name}: {cell}"));
                }
            }
        }
        if rows.is_empty() {
            builder.words(&head.join(" │ "));
        }
    }
}

fn aligned(cell: &str, column: usize, alignment: Option<&Alignment>) -> String {
    let free = column.saturating_sub(width(cell));
    let (left, right) = match alignment {
        Some(Alignment::Right) => (free, 0),
        Some(Alignment::Center) => (free / 2, free - free / 2),
        Some(Alignment::Left | Alignment::None) | None => (0, free),
    };
    format!("{}{cell}{}", " ".repeat(left), " ".repeat(right))
}

/// Columns that a text takes: two for signs of full width and for pictures.
fn width(text: &str) -> usize {
    text.graphemes(true)
        .map(|cluster| match cluster.chars().next() {
            Some(
                '\u{1100}'..='\u{115f}'
                | '\u{2e80}'..='\u{a4cf}'
                | '\u{ac00}'..='\u{d7a3}'
                | '\u{f900}'..='\u{faff}'
                | '\u{fe30}'..='\u{fe6f}'
                | '\u{ff00}'..='\u{ff60}'
                | '\u{ffe0}'..='\u{ffe6}'
                | '\u{1f300}'..='\u{1faff}'
                | '\u{20000}'..='\u{3fffd}',
            ) => 2,
            Some(_) => 1,
            None => 0,
        })
        .sum()
}
