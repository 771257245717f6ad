package aplomb.groups;

import java.io.PrintWriter;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;

/**
 * Patterns and which names they match, as a number of a bit for each, the first one the lowest; or {@code !} and what
 * is wrong with the pattern. The first line are the names.
 */
final class Expressions {
    private static final String[] LONGER = {
        "ab", "ba", "aa", "aaa", "aaaa", "aab", "abab", "a-b", "a.b", "a_b", "AB", "aB", "KS", "ks", "z-a", "0a", "00", "01", "x0",
        "orders", "orders.eu-1", "Orders", "__consumer_offsets", "b-_.", "abc", "ABC", "aKs", "--", "..a", "Ss",
    };

    private static final String[] TOKENS = {
        "a", "b", "k", "s", "z", "0", "A", "K", "S", "-", ".", "_", "x", "ab", "orders", " ", "é", "\u017f", "\u212a", "\ud83d\ude00",
        "(", ")", "|", "*", "+", "?", "*", "+", "?", "??", "*?", "{2}", "{2,}", "{1,3}", "{0}", "{0,1}", "{,3}", "{3,1}", "{1001}", "{01}",
        "{123456789}", "{2", "}", "{1,30}", "{a}", "{}", "{-1}",
        "[", "]", "[^", "[a-c]", "[^a-z]", "[a&&b]", "[a-z&&[^b]]", "[]a]", "[^]a]", "[a-", "[-a]", "[a-]", "[z-a]", "[a-\\d]", "[\\d-z]", "[\\w.]",
        "[\\Q]", "[a~~b]", "[a--b]", "[[:alpha:]]", "[[:^alpha:]]", "[[:upper:][:digit:]]", "[:alpha:]", "[[:foo:]]", "[[:word:]-]", "[[:punct:]]",
        "[^[:space:]]", "[[:", "[[:a]b:]", "[\u017f]", "[\u0100-\u0200]", "[\\x{2120}-\\x{2130}]", "[\\pL0]", "[^\\PN]", "[a\\-z]", "[\\]]", "[\\b]",
        "[!-~]", "[ -/]", "[+--]", "[\\101-\\103]", "[\\n]",
        "^", "$", "\\A", "\\z", "\\Z", "\\b", "\\B", "\\C", "\\G", "\\K", "\\Q", "\\E", "\\Qa*\\E", "\\Q.", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S",
        "\\h", "\\R", "\\X", "\\_", "\\-", "\\.", "\\é", "\\", "\\\\", "\\0", "\\07", "\\1", "\\12", "\\141", "\\8", "\\x41", "\\x4", "\\xg1", "\\x{4b}",
        "\\x{}", "\\x{110000}", "\\x{17f}", "\\x{4", "\\u0041", "\\a", "\\n", "\\t", "\\v", "\\e", "\\cA",
        "\\pL", "\\pN", "\\PL", "\\p", "\\p{Lu}", "\\p{Ll}", "\\P{Ll}", "\\p{^Nd}", "\\P{^Nd}", "\\p{Greek}", "\\P{Han}", "\\p{Latin}", "\\p{Common}",
        "\\p{Any}", "\\p{Foo}", "\\p{greek}", "\\p{L", "\\p{}", "\\p{^}", "\\pé", "\\p{Pd}", "\\p{Pc}", "\\p{Po}", "\\p{P}", "\\p{Old_Italic}", "\\p{Script=Greek}",
        "\\p{Alphabetic}", "\\p{M}", "\\p{Lt}",
        "(?i)", "(?i:", "(?-i)", "(?:", "(?s)", "(?m)", "(?U)", "(?s-i:", "(?i-)", "(?-)", "(?)", "(?", "(?im", "(?x)", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)",
        "(?>a)", "(?P<n>", "(?<m>", "(?P<n>a)", "(?<n-o>", "(?P<", "(?<>", "(?P=n)", "(?'n'a)", "(?i-s:a)", "(?#a)", "(?--i)", "(?i--s)", "()", "(|a)", "(a|)", "(?i)k", "(?i)s",
        ".*", ".+", ".", ".{2}", "(a*)*", "(a|b)+", "a{2}{3}", "a**", "a*+", "(a{2}){3}", "^*", "$+", "\\b*", "a|b|c", "a|*", "(*a)", "||", "&&",
    };

    /** What stands alone, beside each token by itself. */
    private static final String[] WHOLE = {
        "", "orders|ab", "^orders$", "^(orders|a.b)$", "orders.*", "(?i)orders", "(?i)[^k]", "(?i)\\p{Ll}", "(?i)\\p{Lu}", "(?i)[^\\p{Ll}]", "(?i)\\x{17f}+",
        "(?i)[\\x{17e}-\\x{180}]", "(?i)[^\\x{2129}-\\x{212b}]", "(?i)[[:lower:]]", "(?i)[[:^lower:]]", "(?i)[a-c]{2}", "(?i)a(?-i)b", "((?i)a)b", "(?i:a)b",
        "a(?i)*", "a*(?i)*", "a+(?i)?b", "a(?i)b*", "(?i)*", "(?:(?i)*)", "a|(?i)*", "x{1000}", "x{0,1000}", "(x{31}){31}", "((((a))))", "(a", "a)", "(a))", "a|b)",
        "(?P<n>a)(?P<n>b)", "(?P<n>a)(?<n>b)", "[^\\x00-\\x{10FFFF}]", "[^\\x00-\\x{10FFFF}]*", "a[^\\x00-\\x{10FFFF}]*b", "\\Qa.b\\E", "\\Qa\\E+", "\\Qab\\E{2}", "\\Q\\Ea", "\\Qa\\Eb\\Q-\\E",
        "\\Q\\E*", "a\\Q\\E*", "(?s).{2}", "(?m)^a$", "(?m)^a$|b", "a^", "$a", "\\Aa\\z", "\\ba\\b", "a\\bb", "a\\Bb", "a\\b-\\bb", "[a-z]+(-[0-9]+)?", "__.*", "[^_].*", "(?U)a+", "(?U:a+?)b",
        "a??b", "(a*?)+", "\\d{2}", "\\w+[.]\\w+", ".*[^\\w.-].*", "a{1,2}?", "a{2}??", "a{0}", "()", "()*", "(|a)*", "(|a)+", "(a||b)",
    };

    private final Random random;
    private final PrintWriter out;
    private final List<String> names = new ArrayList<>();

    Expressions(Random random, PrintWriter out) {
        this.random = random;
        this.out = out;
    }

    void write(int patterns) {
        for (char c = 0; c < 128; c++) {
            if (Character.isLetterOrDigit(c) || c == '.' || c == '_' || c == '-') names.add("" + c);
        }
        names.addAll(List.of(LONGER));
        out.println(String.join(" ", names));
        for (String whole : WHOLE) write(whole);
        for (String token : TOKENS) write(token);
        for (int n = 0; n < patterns; n++) {
            String pattern = pattern();
            // More of what can be compiled.
            while (random.nextInt(4) > 0 && !isPattern(pattern)) pattern = pattern();
            write(pattern);
        }
    }

    private String pattern() {
        StringBuilder pattern = new StringBuilder();
        for (int n = 2 + random.nextInt(5); n > 0; n--) pattern.append(TOKENS[random.nextInt(TOKENS.length)]);
        if (random.nextInt(4) == 0) pattern.insert(0, ".*");
        if (random.nextInt(4) == 0) pattern.append("|.");
        return pattern.toString();
    }

    private void write(String pattern) {
        String result = result(pattern);
        if (result != null) out.println(Main.escaped(pattern) + "\t" + result);
    }

    private boolean isPattern(String pattern) {
        String result = result(pattern);
        return result != null && !result.startsWith("!");
    }

    /** What comes of a pattern; null for one with which RE2/J itself does not come to an end. */
    private String result(String pattern) {
        FutureTask<String> task = new FutureTask<>(() -> matches(pattern));
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        try {
            return task.get(1, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            System.err.println("RE2/J does not come to an end: " + Main.escaped(pattern));
            return null;
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(pattern, e);
        }
    }

    private String matches(String pattern) {
        try {
            Pattern compiled = Pattern.compile(pattern);
            BigInteger bits = BigInteger.ZERO;
            for (int n = 0; n < names.size(); n++) {
                if (compiled.matcher(names.get(n)).matches()) bits = bits.setBit(n);
            }
            return bits.toString(16);
        } catch (PatternSyntaxException e) {
            return "!" + e.getDescription();
        } catch (StackOverflowError e) {
            return null; // too little stack for some repetitions in each other
        }
    }
}
