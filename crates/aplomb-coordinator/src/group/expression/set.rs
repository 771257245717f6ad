//! Sets of ASCII characters, and the classes that have names. What is not ASCII is in no topic's
//! name, and so in no set.

use std::fmt;

/// A set of ASCII characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set(u128);

impl Set {
    pub(super) const EMPTY: Self = Self(0);
    pub(super) const ALL: Self = Self(!0);
    const UPPER: Self = Self::between('A', 'Z');
    const LOWER: Self = Self::between('a', 'z');
    const DIGITS: Self = Self::between('0', '9');
    const CONTROLS: Self = Self::between('\0', '\x1f').with(Self::of('\x7f'));

    pub(super) const fn of(c: char) -> Self {
        Self::between(c, c)
    }

    const fn between(low: char, high: char) -> Self {
        Self::range(low as u32, high as u32)
    }

    /// All between these code points.
    pub(super) const fn range(low: u32, high: u32) -> Self {
        let below_low = if low == 0 { 0 } else { up_to(low - 1) };
        Self(up_to(high) & !below_low)
    }

    /// All between these code points, whatever their case. Two that are not ASCII are letters then:
    /// the long s and the Kelvin sign.
    pub(super) const fn folded_range(low: u32, high: u32) -> Self {
        let mut set = Self::range(low, high).folded();
        if low <= 0x17f && 0x17f <= high {
            set = set.with(Self::each("Ss"));
        }
        if low <= 0x212a && 0x212a <= high {
            set = set.with(Self::each("Kk"));
        }
        set
    }

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn negated_if(self, is_negated: bool) -> Self {
        if is_negated { Self(!self.0) } else { self }
    }

    /// With the letters in their other case too.
    pub(super) const fn folded(self) -> Self {
        const CASE: u32 = 'a' as u32 - 'A' as u32;
        let lowered = Self(self.and(Self::UPPER).0 << CASE);
        let raised = Self(self.and(Self::LOWER).0 >> CASE);
        self.with(lowered).with(raised)
    }

    const fn each(characters: &str) -> Self {
        let (mut set, mut rest) = (Self::EMPTY, characters.as_bytes());
        while let [first, behind @ ..] = rest {
            set = set.with(Self::of(*first as char));
            rest = behind;
        }
        set
    }

    /// `\d`, `\s`, `\w`: those that the letter names.
    pub(super) fn of_perl(letter: char) -> Option<Self> {
        match letter {
            'd' => Some(Self::DIGITS),
            's' => Some(Self::each("\t\n\x0c\r ")),
            'w' => Self::of_posix("word"),
            _ => None,
        }
    }

    /// `[:name:]`.
    pub(super) fn of_posix(name: &str) -> Option<Self> {
        let letters = Self::UPPER.with(Self::LOWER);
        let printed = Self::between('!', '~');
        Some(match name {
            "alnum" => letters.with(Self::DIGITS),
            "alpha" => letters,
            "ascii" => Self::ALL,
            "blank" => Self::each("\t "),
            "cntrl" => Self::CONTROLS,
            "digit" => Self::DIGITS,
            "graph" => printed,
            "lower" => Self::LOWER,
            "print" => printed.with(Self::of(' ')),
            "punct" => printed.without(letters.with(Self::DIGITS)),
            "space" => Self::each("\t\n\x0b\x0c\r "),
            "upper" => Self::UPPER,
            "word" => letters.with(Self::DIGITS).with(Self::of('_')),
            "xdigit" => Self::DIGITS.with(Self::between('A', 'F')).with(Self::between('a', 'f')),
            _ => return None,
        })
    }

    /// The ASCII of a general category or a script of Unicode, where the pattern may not look at
    /// case (`fold`).
    pub(super) fn of_unicode(name: &str, fold: bool) -> Option<Self> {
        let letters = Self::UPPER.with(Self::LOWER);
        Some(match name {
            "Any" => Self::ALL,
            "L" | "Latin" => letters,
            "Lu" if fold => letters,
            "Lu" => Self::UPPER,
            // RE2/J's table knows no others.
            "Ll" if fold => Self::LOWER.with(Self::each("KS")),
            "Ll" => Self::LOWER,
            "N" | "Nd" => Self::DIGITS,
            "P" => Self::each("!\"#%&'()*,-./:;?@[\\]_{}"),
            "Pc" => Self::of('_'),
            "Pd" => Self::of('-'),
            "Pe" => Self::each(")]}"),
            "Po" => Self::each("!\"#%&'*,./:;?@\\"),
            "Ps" => Self::each("([{"),
            "S" => Self::each("$+<=>^`|~"),
            "Sc" => Self::of('$'),
            "Sk" => Self::each("^`"),
            "Sm" => Self::each("+<=>|~"),
            "Z" | "Zs" => Self::of(' '),
            "C" | "Cc" => Self::CONTROLS,
            "Common" => Self::ALL.without(letters),
            _ if WITHOUT_ASCII.split_ascii_whitespace().any(|known| known == name) => Self::EMPTY,
            _ => return None,
        })
    }
}

/// The bits up to this one.
const fn up_to(point: u32) -> u128 {
    if point > 127 { u128::MAX } else { u128::MAX >> (127 - point) }
}

/// Categories and scripts that RE2/J 1.8 knows and that have no ASCII.
const WITHOUT_ASCII: &str = "\
    Cf Co Cs Lm Lo Lt M Mc Me Mn Nl No Pf Pi So Zl Zp \
    Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid \
    Canadian_Aboriginal Carian Cham Cherokee Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari \
    Egyptian_Hieroglyphs Ethiopic Georgian Glagolitic Gothic Greek Gujarati Gurmukhi Han Hangul \
    Hanunoo Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi \
    Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi Khmer Lao Lepcha \
    Limbu Linear_B Lisu Lycian Lydian Malayalam Mandaic Meetei_Mayek Mongolian Myanmar New_Tai_Lue \
    Nko Ogham Ol_Chiki Old_Italic Old_Persian Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa \
    Phoenician Rejang Runic Samaritan Saurashtra Shavian Sinhala Sundanese Syloti_Nagri Syriac \
    Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tamil Telugu Thaana Thai Tibetan Tifinagh Ugaritic \
    Unknown Vai Yi";

/// As the `regex` crate reads it.
impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str(r"[a&&b]");
        }
        f.write_str("[")?;
        let mut from = 0;
        while from < 128 && self.0 >> from != 0 {
            let low = from + (self.0 >> from).trailing_zeros();
            let behind = low + (self.0 >> low).trailing_ones();
            write!(f, r"\x{low:02x}-\x{:02x}", behind - 1)?;
            from = behind;
        }
        f.write_str("]")
    }
}
