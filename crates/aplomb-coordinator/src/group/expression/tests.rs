use super::*;

#[test]
fn whole_names_match() {
    let expression = Expression::compile("a.*|b").expect("a pattern");
    for (name, matches) in [("a", true), ("abc", true), ("b", true), ("bc", false), ("xa", false)] {
        assert_eq!(expression.matches(name), matches, "{name}");
    }
}
