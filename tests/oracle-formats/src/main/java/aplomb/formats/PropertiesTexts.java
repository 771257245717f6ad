package aplomb.formats;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;

/** What Java reads out of odd properties files: a line each, `input key=value key=value`, in hexadecimal; the
 * input is Latin-1, what was read is UTF-8. */
final class PropertiesTexts {
    private PropertiesTexts() { }

    private static final String[] PIECES = {
        "a", "b", "=", ":", " ", "\t", "\f", "\\", "\\\\", "\n", "\r", "\r\n", "#", "!", "\\u0041", "\\u00e9", "\\t", "\\n",
        "\\ ", "\\=", "\u00e9", "\\u12", "key", "value",
    };

    static void write(Path out) throws IOException {
        Random random = new Random(7);
        List<String> lines = new ArrayList<>();
        for (int n = 0; n < 700; n++) {
            StringBuilder text = new StringBuilder();
            for (int length = random.nextInt(14); length > 0; length--)
                text.append(PIECES[random.nextInt(PIECES.length)]);
            lines.add(hex(text.toString(), StandardCharsets.ISO_8859_1) + parsed(text.toString()));
        }
        Files.write(out, lines);
    }

    private static String parsed(String text) throws IOException {
        Properties properties = new Properties();
        try {
            properties.load(new ByteArrayInputStream(text.getBytes(StandardCharsets.ISO_8859_1)));
        } catch (IllegalArgumentException malformedEscape) {
            return " refused";
        }
        StringBuilder entries = new StringBuilder();
        TreeMap<String, String> sorted = new TreeMap<>();
        properties.forEach((key, value) -> sorted.put((String) key, (String) value));
        sorted.forEach((key, value) -> entries.append(' ').append(hex(key, StandardCharsets.UTF_8)).append('=').append(hex(value, StandardCharsets.UTF_8)));
        return entries.toString();
    }

    private static String hex(String text, Charset charset) {
        return HexFormat.of().formatHex(text.getBytes(charset));
    }
}
