package aplomb.kerberos;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.security.kerberos.KerberosName;
import org.apache.kafka.common.security.kerberos.KerberosShortNamer;
import org.apache.kafka.common.security.kerberos.NoMatchingRule;

/**
 * Writes sets of rules and the short names that Apache Kafka makes by them: {@code Main FOLDER SEED SETS}.
 *
 * <p>Lines: {@code rules RULE...}, then {@code bad SENTENCE} if they are refused, or {@code name PRINCIPAL SHORT},
 * {@code none PRINCIPAL}, {@code fails PRINCIPAL} for each principal, with tabs between the fields.
 */
public final class Main {
    private static final String REALM = "B.C";
    private static final String[] PRINCIPALS = {
        "a@B.C", "ab/c@B.C", "App.x@B.C", "abc@OTHER", "a/b@OTHER", "a/b/c@B.C", "x", "a/b", "@B.C", "A.b@B.C", "a@b@c", "aü@B.C",
        "bbab@B.C", "a-b/host.x@B.C", "abcabc/abc@B.C", "a@B.C/x", ""
    };
    private static final String[] COMPONENTS = {"0", "1", "1", "1", "1", "2", "2", "2", "3", "", "x", "12"};
    private static final String[] FORMATS = {
        "$1", "$1", "$1", "$2", "$1@$0", "$1;$0", "$1-$2", "x$1y", "$0", "$1$1", "", "z", "$", "$9", "$12", "$1/x"
    };
    private static final String[] PATTERNS = {
        "", "", "", "(.*@B\\.C)", "(a.*)", "([a-c]+)", "(x*)", "(App\\..*)", "(.*)", "()", "((a)", "([)", "(a|b.*)", "(^a$)", "(.*;B.C)", "(?i)"
    };
    private static final String[] FROMS = {"a", "b*", "@.*", "(.)(.)", "[^a]", "(?<n>a)", "^", "$", "x?", "", "(a)|(b)", "\\.", "[", "(ü)"};
    private static final String[] TOS = {"", "x", "$1", "$0", "\\$", "$2$1", "${n}", "@", "$12", "$", "\\", "${m}", "é"};
    private static final String[] ENDS = {"", "", "", "/", "/L", "/U", "L", "U", "/LU", "//", "x", "g"};

    private final Random random;

    private Main(long seed) {
        random = new Random(seed);
    }

    public static void main(String[] args) throws Exception {
        Main main = new Main(Long.parseLong(args[1]));
        Files.createDirectories(Path.of(args[0]));
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(Path.of(args[0], "local_names")))) {
            for (int set = 0; set < Integer.parseInt(args[2]); set++) main.write(out);
        }
    }

    private void write(PrintWriter out) {
        List<String> rules = new ArrayList<>();
        for (int count = 1 + random.nextInt(3); count > 0; count--) rules.add(rule());
        out.println("rules\t" + String.join("\t", rules));
        KerberosShortNamer namer;
        try {
            namer = KerberosShortNamer.fromUnparsedRules(REALM, rules);
        } catch (IllegalArgumentException e) {
            // Other sentences are Java's.
            out.println("bad\t" + (e.getMessage().startsWith("Invalid rule") ? e.getMessage() : ""));
            return;
        }
        for (String principal : PRINCIPALS) {
            try {
                out.println("name\t" + principal + "\t" + namer.shortName(KerberosName.parse(principal)));
            } catch (NoMatchingRule e) {
                out.println("none\t" + principal);
            } catch (Exception e) {
                boolean isMalformed = e.getMessage() != null && e.getMessage().startsWith("Malformed");
                out.println((isMalformed ? "none\t" : "fails\t") + principal);
            }
        }
    }

    private String rule() {
        if (random.nextInt(6) == 0) return "DEFAULT";
        StringBuilder rule = new StringBuilder("RULE:[").append(one(COMPONENTS)).append(':').append(one(FORMATS)).append(']');
        rule.append(one(PATTERNS));
        if (random.nextBoolean()) {
            rule.append("s/").append(one(FROMS)).append('/').append(one(TOS)).append('/');
            if (random.nextBoolean()) rule.append('g');
        }
        rule.append(one(ENDS));
        if (random.nextInt(12) == 0) rule.deleteCharAt(random.nextInt(rule.length()));
        return rule.toString();
    }

    private String one(String[] of) {
        return of[random.nextInt(of.length)];
    }
}
