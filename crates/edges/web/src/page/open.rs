//! The elements that are open: enough of the tree to know what ends with what, in bounded memory and time.

use super::element::Element;

/// Elements that may be open at once; what is opened further down has no say. Browsers stop at about as many.
const DEEPEST: usize = 512;
/// Open elements that are looked at for the one that an end tag ends.
const LOOKED_AT: usize = 128;
/// Bytes of a name that are told apart.
const NAME: usize = 24;

/// An element that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) element: Element,
    name: Vec<u8>,
    /// What is written at the beginning of a line was so long before it.
    pub(super) indent: usize,
    /// Items by now, of a list with numbers.
    pub(super) count: u32,
}

/// What is open, the outermost first.
#[derive(Debug, Default)]
pub(super) struct Stack {
    open: Vec<Open>,
    /// How many are open outside of the outermost one that is not shown.
    skipped_from: Option<usize>,
}

/// Whether what is in an element is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Yes,
    No,
}

impl Stack {
    /// Whether nothing is shown here.
    pub(super) fn skips(&self) -> bool {
        self.skipped_from.is_some()
    }

    /// Opens an element. If too many are open, what is not shown is not opened either, and its words pass as its surroundings do.
    pub(super) fn push(&mut self, element: Element, name: &[u8], shown: Shown, indent: usize) {
        if self.open.len() >= DEEPEST {
            return;
        }
        if shown == Shown::No && self.skipped_from.is_none() {
            self.skipped_from = Some(self.open.len());
        }
        self.open.push(Open {
            element,
            name: name.iter().copied().take(NAME).collect(),
            indent,
            count: 0,
        });
    }

    /// Closes the innermost.
    pub(super) fn pop(&mut self) -> Option<Open> {
        let closed = self.open.pop()?;
        if self
            .skipped_from
            .is_some_and(|from| self.open.len() <= from)
        {
            self.skipped_from = None;
        }
        Some(closed)
    }

    /// How many have to be closed for an end tag; none if it ends nothing.
    pub(super) fn ended_by(&self, name: &[u8], element: Element) -> Option<usize> {
        let name = name.get(..NAME).unwrap_or(name);
        for (above, open) in self.open.iter().rev().take(LOOKED_AT).enumerate() {
            if open.element == element && open.name == name {
                return Some(above + 1);
            }
            if open.element.holds(element) {
                return None;
            }
        }
        None
    }

    /// How many have to be closed before an element begins: those whose end nobody has to write.
    pub(super) fn implied_by(&self, element: Element) -> usize {
        if element.is_inline() {
            return 0;
        }
        self.paragraph().max(self.siblings(element))
    }

    /// A paragraph that stands open in front of a block.
    fn paragraph(&self) -> usize {
        let mut above = self.open.iter().rev().take(LOOKED_AT).enumerate();
        match above.find(|(_, open)| !open.element.is_inline()) {
            Some((above, open)) if open.element == Element::Paragraph => above + 1,
            _ => 0,
        }
    }

    /// An item before an item, a cell before a cell.
    fn siblings(&self, element: Element) -> usize {
        let (ends, stops): (&[Element], &[Element]) = if element == Element::Item {
            (
                &[Element::Item],
                &[Element::Bullets, Element::Numbers, Element::Cell],
            )
        } else if matches!(element, Element::Term | Element::Meaning) {
            (
                &[Element::Term, Element::Meaning],
                &[Element::Terms, Element::Cell],
            )
        } else if element == Element::Cell {
            (&[Element::Cell], &[Element::Table, Element::Row])
        } else if element == Element::Row {
            (&[Element::Cell, Element::Row], &[Element::Table])
        } else {
            return 0;
        };
        let mut closed = 0;
        for (above, open) in self.open.iter().rev().take(LOOKED_AT).enumerate() {
            if stops.contains(&open.element) {
                break;
            }
            if ends.contains(&open.element) {
                closed = above + 1;
            }
        }
        closed
    }

    /// Whether such an element is open.
    pub(super) fn inside(&self, sought: impl Fn(Element) -> bool) -> bool {
        self.open.iter().any(|open| sought(open.element))
    }

    /// The innermost list.
    pub(super) fn list(&mut self) -> Option<&mut Open> {
        self.open
            .iter_mut()
            .rev()
            .take(LOOKED_AT)
            .find(|open| matches!(open.element, Element::Bullets | Element::Numbers))
    }
}
