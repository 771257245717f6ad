//! The files of the page: part of the program, so that nothing is loaded from anywhere else.
//!
//! What always holds: a browser is told to run and to load nothing but these; what it has already
//! it need not read again, and a broker of another version is seen at once.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asset {
    path: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// uPlot 1.6.32 is what the registry of npm has, unchanged; see `assets/uplot/README.md`.
const ASSETS: [Asset; 5] = [
    Asset { path: "/console", kind: HTML, bytes: include_bytes!("../../../assets/console.html") },
    Asset { path: "/console/console.css", kind: CSS, bytes: include_bytes!("../../../assets/console.css") },
    Asset { path: "/console/console.js", kind: SCRIPT, bytes: include_bytes!("../../../assets/console.js") },
    Asset {
        path: "/console/uplot.css",
        kind: CSS,
        bytes: include_bytes!("../../../assets/uplot/uPlot.min.css"),
    },
    Asset {
        path: "/console/uplot.js",
        kind: SCRIPT,
        bytes: include_bytes!("../../../assets/uplot/uPlot.iife.min.js"),
    },
];

/// What a browser may do for the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What each of them is told by, to see whether it is still the same.
static TAGS: LazyLock<[String; ASSETS.len()]> = LazyLock::new(|| {
    ASSETS.map(|asset| {
        let mut hasher = DefaultHasher::new();
        asset.bytes.hash(&mut hasher);
        format!("\"{:016x}\"", hasher.finish())
    })
});

/// The file that is at a path.
pub(crate) fn at(path: &str) -> Option<Asset> {
    let path = if path == "/" { "/console" } else { path };
    ASSETS.into_iter().find(|asset| asset.path == path)
}

impl Asset {
    /// What a browser is told beside it.
    pub(crate) fn headers(self) -> String {
        format!(
            "ETag: {}\r\nCache-Control: no-cache\r\nContent-Security-Policy: {POLICY}\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n",
            self.tag()
        )
    }

    /// Whether who asks with this head has it as it is.
    pub(crate) fn is_known_to(self, head: &str) -> bool {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        let mut tags = lines.filter(|(name, _)| name.eq_ignore_ascii_case("if-none-match"));
        tags.any(|(_, tags)| tags.split(',').any(|tag| tag.trim() == self.tag()))
    }

    fn tag(self) -> &'static str {
        let place = ASSETS.iter().position(|asset| *asset == self).expect("there are no others");
        &TAGS[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_has_it_is_not_told_again() {
        let page = at("/").expect("the page");
        assert_eq!((at("/console"), at("/console/"), at("/console/other")), (Some(page), None, None));
        let headers = page.headers();
        let tag = headers.lines().next().and_then(|line| line.strip_prefix("ETag: ")).expect("a tag");
        assert!(page.is_known_to(&format!("GET / HTTP/1.1\r\nif-none-match: \"x\", {tag}\r\n\r\n")));
        assert!(!page.is_known_to("GET / HTTP/1.1\r\nIf-None-Match: \"x\"\r\n\r\n"));
        let script = at("/console/console.js").expect("the script");
        assert!(!script.is_known_to(&format!("GET / HTTP/1.1\r\nIf-None-Match: {tag}\r\n\r\n")));
    }

    #[test]
    fn the_page_names_its_own_files_and_no_others() {
        let page = std::str::from_utf8(ASSETS[0].bytes).expect("it is text");
        for asset in &ASSETS[1..] {
            assert!(page.contains(&format!("\"{}\"", asset.path)), "{}", asset.path);
        }
        for asset in &ASSETS[..3] {
            let text = std::str::from_utf8(asset.bytes).expect("it is text");
            assert!(
                !text.contains("http:") && !text.contains("https:"),
                "{} names another place",
                asset.path
            );
        }
    }
}
