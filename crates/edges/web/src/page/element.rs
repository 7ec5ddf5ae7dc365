//! What an element means for a reader.

/// What an element means for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// Nothing of it is for readers: scripts, styles, controls.
    Unread,
    /// Around the matter: navigation, footers.
    Around,
    /// The head of the page, or of an article.
    Header,
    Main,
    Article,
    /// Stands by itself.
    Block,
    Paragraph,
    Heading(u8),
    Bullets,
    Numbers,
    Item,
    /// A list of terms, a term, what it means.
    Terms,
    Term,
    Meaning,
    Quote,
    Preformatted,
    Table,
    Row,
    Cell,
    Title,
    Link,
    Code,
    Image,
    Break,
    Rule,
    Base,
    /// Stands in its line and says nothing of itself.
    Inline,
}

/// Classifies a name in small letters.
pub(super) fn element(name: &[u8]) -> Element {
    match name {
        b"script" | b"style" | b"noscript" | b"template" | b"svg" | b"math" | b"iframe"
        | b"object" | b"embed" | b"canvas" | b"audio" | b"video" | b"select" | b"datalist"
        | b"textarea" | b"button" | b"noembed" | b"noframes" | b"frameset" | b"applet" | b"map" => {
            Element::Unread
        }
        b"nav" | b"footer" | b"aside" | b"dialog" | b"menu" | b"search" => Element::Around,
        b"header" => Element::Header,
        b"main" => Element::Main,
        b"article" => Element::Article,
        b"address" | b"body" | b"caption" | b"center" | b"details" | b"div" | b"fieldset"
        | b"figcaption" | b"figure" | b"form" | b"head" | b"hgroup" | b"html" | b"legend"
        | b"section" | b"summary" => Element::Block,
        b"p" => Element::Paragraph,
        b"h1" => Element::Heading(1),
        b"h2" => Element::Heading(2),
        b"h3" => Element::Heading(3),
        b"h4" => Element::Heading(4),
        b"h5" => Element::Heading(5),
        b"h6" => Element::Heading(6),
        b"ul" | b"dir" => Element::Bullets,
        b"ol" => Element::Numbers,
        b"li" => Element::Item,
        b"dl" => Element::Terms,
        b"dt" => Element::Term,
        b"dd" => Element::Meaning,
        b"blockquote" => Element::Quote,
        b"pre" | b"listing" | b"xmp" | b"plaintext" => Element::Preformatted,
        b"table" => Element::Table,
        b"tr" => Element::Row,
        b"td" | b"th" => Element::Cell,
        b"title" => Element::Title,
        b"a" => Element::Link,
        b"code" | b"kbd" | b"samp" | b"tt" => Element::Code,
        b"img" => Element::Image,
        b"br" => Element::Break,
        b"hr" => Element::Rule,
        b"base" => Element::Base,
        _ => Element::Inline,
    }
}

/// Whether an element never holds anything (HTML standard, void elements).
pub(super) fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"br"
            | b"col"
            | b"embed"
            | b"hr"
            | b"img"
            | b"input"
            | b"link"
            | b"meta"
            | b"param"
            | b"source"
            | b"track"
            | b"wbr"
            | b"frame"
            | b"keygen"
            | b"basefont"
            | b"bgsound"
    )
}

/// Roles that mean the same as an element of the surroundings.
pub(super) fn is_around(role: &[u8]) -> bool {
    matches!(
        role,
        b"navigation"
            | b"banner"
            | b"contentinfo"
            | b"complementary"
            | b"search"
            | b"dialog"
            | b"alertdialog"
            | b"menu"
            | b"menubar"
            | b"toolbar"
    )
}

impl Element {
    /// Whether it stands in a line with its neighbours.
    pub(super) fn is_inline(self) -> bool {
        matches!(
            self,
            Self::Inline
                | Self::Link
                | Self::Code
                | Self::Image
                | Self::Break
                | Self::Title
                | Self::Base
                | Self::Unread
        )
    }

    /// Whether the search for what an end tag ends stops here, as far as elements inside of it are concerned.
    pub(super) fn holds(self, sought: Self) -> bool {
        if self == Self::Table {
            return true;
        }
        let of_a_table = matches!(sought, Self::Row | Self::Table);
        if self == Self::Cell {
            return !of_a_table && sought != Self::Cell;
        }
        if self == Self::Row {
            return !of_a_table;
        }
        sought.is_inline() && !self.is_inline()
    }
}
