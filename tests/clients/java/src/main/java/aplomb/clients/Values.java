package aplomb.clients;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * What record {@code seq} of a run with {@code seed} carries. Every client of the suite computes the same bytes, and
 * tests/clients/python/suite.py says what is expected: printable text, so that line-based clients can send it; even records hardly
 * compress, odd ones do.
 */
final class Values {
    private static final byte[] ALPHABET =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".getBytes(StandardCharsets.US_ASCII);

    private Values() {}

    static byte[] value(int seed, int seq, int size, boolean tombstones) {
        if (tombstones && seq % 5 == 3) {
            return null;
        }
        int mask = seq % 2 == 0 ? 63 : 3;
        int state = seed * 0x9E3779B1 + seq + 1;
        if (state == 0) {
            state = 1;
        }
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            state ^= state << 13;
            state ^= state >>> 17;
            state ^= state << 5;
            bytes[i] = ALPHABET[state & mask];
        }
        return bytes;
    }

    static List<Header> headers(int seed) {
        return List.of(
            header("seed", Integer.toString(seed)),
            header("twice", "first"),
            header("twice", "second"),
            header("empty", ""),
            header("none", null),
            header("größe", "日本語"));
    }

    private static Header header(String key, String value) {
        return new RecordHeader(key, value == null ? null : value.getBytes(StandardCharsets.UTF_8));
    }

    static String sha256(byte[] bytes) {
        if (bytes == null) {
            return null;
        }
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }
}
