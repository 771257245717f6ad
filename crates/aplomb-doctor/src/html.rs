//! Elements of HTML and SVG, escaped by construction; for the doctor's page and the lab's.
//!
//! What always holds: the only text that is written as it is, is a constant of the program
//! ([`Element::source`]); everything else, be it a thread's name, a stack, a log line or an
//! attribute's value, is escaped, and characters that XML does not know are replaced. What comes
//! out can be read as HTML and, if it begins with an `svg`, as XML. Data for a script
//! ([`Element::data`]) has no character with a meaning in HTML.

use std::fmt;

/// An element with its attributes and what is in it.
#[derive(Clone, Debug)]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Node>,
}

#[derive(Clone, Debug)]
enum Node {
    Element(Element),
    Text(String),
    Source(&'static str),
    Data(String),
}

/// An element without anything in it.
#[must_use]
pub fn el(name: &'static str) -> Element {
    Element { name, attributes: Vec::new(), children: Vec::new() }
}

impl Element {
    /// Sets an attribute.
    #[must_use]
    pub fn attr(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// Sets an attribute to a length or a position, to a tenth of a unit: pictures are not drawn
    /// finer than that.
    #[must_use]
    pub fn at(self, name: &'static str, value: f64) -> Self {
        self.attr(name, Number(value))
    }

    /// Sets the class, instead of one that was set before.
    #[must_use]
    pub fn class(mut self, class: impl fmt::Display) -> Self {
        self.attributes.retain(|(name, _)| *name != "class");
        self.attr("class", class)
    }

    /// Sets an attribute that is there or is not.
    #[must_use]
    pub fn flag(self, name: &'static str) -> Self {
        self.attr(name, "")
    }

    /// Adds a text.
    #[must_use]
    pub fn text(mut self, text: impl fmt::Display) -> Self {
        self.children.push(Node::Text(text.to_string()));
        self
    }

    /// Adds a style sheet or a script of the program's own.
    #[must_use]
    pub fn source(mut self, source: &'static str) -> Self {
        self.children.push(Node::Source(source));
        self
    }

    /// Adds data for a script, as JSON in which nothing can end the script element.
    #[must_use]
    pub fn data(mut self, json: &str) -> Self {
        self.children.push(Node::Data(inert(json)));
        self
    }

    /// Adds an element.
    #[must_use]
    pub fn child(mut self, child: Element) -> Self {
        self.children.push(Node::Element(child));
        self
    }

    /// Adds elements: a list, or an element that may be absent.
    #[must_use]
    pub fn children(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        self.children.extend(children.into_iter().map(Node::Element));
        self
    }
}

/// HTML's elements that never have an end tag, of those that are used here.
const VOID: &[&str] = &["meta", "input", "link"];

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"{}\"", Escaped(value))?;
        }
        f.write_str(">")?;
        if VOID.contains(&self.name) {
            return Ok(());
        }
        for child in &self.children {
            match child {
                Node::Element(element) => element.fmt(f)?,
                Node::Text(text) => Escaped(text).fmt(f)?,
                Node::Source(source) => f.write_str(source)?,
                Node::Data(json) => f.write_str(json)?,
            }
        }
        write!(f, "</{}>", self.name)
    }
}

/// The same JSON without characters that HTML or a script's reader could take for something else.
/// Outside of its strings JSON has none of them, and in a string an escape is the same text.
fn inert(json: &str) -> String {
    let mut inert = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => inert.push_str("\\u003c"),
            '>' => inert.push_str("\\u003e"),
            '&' => inert.push_str("\\u0026"),
            '\u{2028}' => inert.push_str("\\u2028"),
            '\u{2029}' => inert.push_str("\\u2029"),
            c => inert.push(c),
        }
    }
    inert
}

/// A text in which nothing has a meaning.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(c)?,
                '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                c if c.is_control() => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A number of a picture: a tenth of a unit, and no more digits than needed.
pub struct Number(pub f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() / 10.0;
        // Not a number and what is far outside a picture are drawn at its edge; "-0" is zero.
        let tenths = if tenths.is_finite() { tenths.clamp(-1e5, 1e5) + 0.0 } else { 0.0 };
        write!(f, "{tenths}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_has_no_meaning_in_texts_or_attributes() {
        let text = "</script><img src=x onerror=\"a()\"> & 'b'\u{0}\u{1b}[31m";
        let page = el("p").attr("title", text).text(text).to_string();
        let escaped =
            "&lt;/script&gt;&lt;img src=x onerror=&quot;a()&quot;&gt; &amp; &#39;b&#39;\u{fffd}\u{fffd}[31m";
        assert_eq!(page, format!("<p title=\"{escaped}\">{escaped}</p>"));
    }

    #[test]
    fn data_cannot_end_its_script_and_reads_back_as_the_same() {
        let foreign = "</script><!-- <script> & \u{2028}\u{2029} \"quoted\" \\ é";
        let json = serde_json::to_string(&[foreign]).expect("a text");
        let page = el("script").data(&json).to_string();
        let inside = page.strip_prefix("<script>").and_then(|rest| rest.strip_suffix("</script>"));
        let inside = inside.expect("one script");
        assert!(!inside.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{inside}");
        assert_eq!(serde_json::from_str::<Vec<String>>(inside).expect("JSON"), [foreign]);
    }

    #[test]
    fn numbers_of_pictures_are_short_and_finite() {
        let number = |value: f64| Number(value).to_string();
        assert_eq!(number(12.0), "12");
        assert_eq!(number(1.0 / 3.0), "0.3");
        assert_eq!(number(-0.01), "0");
        assert_eq!(number(f64::NAN), "0");
        assert_eq!(number(1e300), "100000");
    }

    #[test]
    fn elements_without_an_end_have_none() {
        assert_eq!(el("meta").attr("charset", "utf-8").to_string(), "<meta charset=\"utf-8\">");
        assert_eq!(el("g").child(el("rect")).to_string(), "<g><rect></rect></g>");
    }
}
