package aplomb.authorizer;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.internals.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Writes sets of ACLs and what Apache Kafka's authorizer decides by them, 40 requests for each set: {@code Main FOLDER SEED SETS}.
 *
 * <p>Lines: {@code set SUPERUSERS ALLOW}, then {@code acl KIND PATTERN NAME PRINCIPAL HOST OPERATION PERMISSION} and
 * {@code drop INDEX}, then {@code ask KIND NAME PRINCIPAL HOST OPERATION RESULT RULE} and {@code any KIND PRINCIPAL HOST OPERATION
 * RESULT}, with numbers as on the wire and tabs between the fields.
 */
public final class Main {
    private static final String[] NAMES = {
        "a", "ab", "abc", "abd", "abcde", "b", "ba", "*", "*a", "hard", "hardcode", "kafka-cluster", "grüße", "grün", "日本"
    };
    private static final String[] USERS = {"User:a", "User:b", "User:*", "Role:a", "User:a:b", "User:ü", "User:"};
    private static final String[] HOSTS = {
        "*", "*", "*", "10.0.0.1", "10.0.0.2", "10.0.0.0/24", "10.0.0.9/8", "0.0.0.0/0", "1.2.3.4/32", "2001:db8::/32", "::/0",
        "0:0:0:0:0:0:0:1", "2001:db8:0:0:0:0:0:5", "::1", "localhost", "10.0.0.1/99", "a/b", "10.0.0.0/31"
    };
    private static final String[] PEERS = {"10.0.0.1", "10.0.0.2", "10.9.9.9", "1.2.3.4", "::1", "2001:db8::5", "0.0.0.0"};
    private static final int REQUESTS = 40;

    public static void main(String[] args) throws Exception {
        Random random = new Random(Long.parseLong(args[1]));
        int sets = Integer.parseInt(args[2]);
        Files.createDirectories(Path.of(args[0]));
        // What the audit log says of each decision.
        ByteArrayOutputStream audit = new ByteArrayOutputStream();
        PrintStream stderr = System.err;
        System.setErr(new PrintStream(audit, true, StandardCharsets.UTF_8));
        System.setProperty("org.slf4j.simpleLogger.log.kafka.authorizer.logger", "debug");
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(Path.of(args[0], "authorizer")))) {
            for (int set = 0; set < sets; set++) {
                oneSet(random, out, audit);
            }
        } finally {
            System.setErr(stderr);
        }
    }

    private static void oneSet(Random random, PrintWriter out, ByteArrayOutputStream audit) throws Exception {
        StandardAuthorizer authorizer = new StandardAuthorizer();
        String superUsers = random.nextInt(5) == 0 ? "User:root;User:a:b" : "User:root";
        boolean allow = random.nextInt(3) == 0;
        authorizer.configure(Map.of(
            "super.users", superUsers, "allow.everyone.if.no.acl.found", String.valueOf(allow), "node.id", "1"));
        out.println(String.join("\t", "set", superUsers, String.valueOf(allow)));
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        List<Uuid> ids = new ArrayList<>();
        LinkedHashSet<StandardAcl> known = new LinkedHashSet<>();
        int acls = random.nextInt(60);
        for (int n = 0; n < acls; n++) {
            StandardAcl acl = acl(random);
            if (!known.add(acl)) {
                continue; // the controller writes none twice
            }
            Uuid id = new Uuid(0, ids.size() + 100);
            ids.add(id);
            authorizer.addAcl(id, acl);
            out.println(String.join("\t", "acl", code(acl.resourceType().code()), code(acl.patternType().code()), acl.resourceName(),
                acl.principal(), acl.host(), code(acl.operation().code()), code(acl.permissionType().code())));
        }
        List<Integer> left = new ArrayList<>();
        for (int n = 0; n < ids.size(); n++) {
            left.add(n);
        }
        for (int n = random.nextInt(8); n > 0 && !left.isEmpty(); n--) {
            int gone = left.remove(random.nextInt(left.size()));
            authorizer.removeAcl(ids.get(gone));
            out.println("drop\t" + gone);
        }
        authorizer.completeInitialLoad();
        for (int n = 0; n < REQUESTS; n++) {
            if (random.nextInt(8) == 0) {
                anyRequest(random, out, authorizer);
            } else {
                request(random, out, authorizer, audit);
            }
        }
    }

    private static void request(Random random, PrintWriter out, StandardAuthorizer authorizer, ByteArrayOutputStream audit)
        throws Exception {
        ResourceType kind = kind(random);
        String name = pick(random, NAMES) + (random.nextInt(3) == 0 ? pick(random, NAMES) : "");
        String user = user(random);
        String peer = pick(random, PEERS);
        AclOperation operation = operation(random, 3);
        audit.reset();
        Action action = new Action(operation, new ResourcePattern(kind, name, PatternType.LITERAL), 1, true, true);
        AuthorizationResult result = authorizer.authorize(context(user, peer), List.of(action)).get(0);
        String line = audit.toString(StandardCharsets.UTF_8).strip();
        String rule = line.substring(line.indexOf(" based on rule ") + " based on rule ".length());
        out.println(String.join("\t", "ask", code(kind.code()), name, user, peer, code(operation.code()), result.name(), rule));
    }

    private static void anyRequest(Random random, PrintWriter out, StandardAuthorizer authorizer) throws Exception {
        ResourceType kind = kind(random);
        String user = user(random);
        String peer = pick(random, PEERS);
        AclOperation operation = operation(random, 3);
        AuthorizationResult result = authorizer.authorizeByResourceType(context(user, peer), operation, kind);
        out.println(String.join("\t", "any", code(kind.code()), user, peer, code(operation.code()), result.name()));
    }

    private static StandardAcl acl(Random random) {
        return new StandardAcl(kind(random), pick(random, NAMES), random.nextBoolean() ? PatternType.LITERAL : PatternType.PREFIXED,
            pick(random, USERS), pick(random, HOSTS), operation(random, 2),
            random.nextInt(3) == 0 ? AclPermissionType.DENY : AclPermissionType.ALLOW);
    }

    /** Topics for the most part, so that ACLs meet. */
    private static ResourceType kind(Random random) {
        return ResourceType.fromCode((byte) (random.nextInt(3) > 0 ? 2 : 2 + random.nextInt(6)));
    }

    private static AclOperation operation(Random random, int from) {
        return AclOperation.fromCode((byte) (random.nextBoolean() ? 3 + random.nextInt(2) : from + random.nextInt(16 - from)));
    }

    /** Who asks is not everyone: with that name Apache Kafka fails. */
    private static String user(Random random) {
        String user = random.nextInt(20) == 0 ? "User:root" : pick(random, USERS);
        return user.equals("User:*") ? "User:a" : user;
    }

    private static String pick(Random random, String[] of) {
        return of[random.nextInt(of.length)];
    }

    private static String code(byte code) {
        return String.valueOf(code);
    }

    private static AuthorizableRequestContext context(String user, String peer) throws Exception {
        KafkaPrincipal principal = SecurityUtils.parseKafkaPrincipal(user);
        InetAddress address = InetAddress.getByName(peer);
        return new AuthorizableRequestContext() {
            @Override public String listenerName() { return "PLAINTEXT"; }
            @Override public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
            @Override public KafkaPrincipal principal() { return principal; }
            @Override public InetAddress clientAddress() { return address; }
            @Override public int requestType() { return 1; }
            @Override public int requestVersion() { return 1; }
            @Override public String clientId() { return "c"; }
            @Override public int correlationId() { return 1; }
        };
    }
}
