//! A recording by hand, for tests: async-profiler's and the JDK's events with few fields.

/// Types of the recording: name, number, fields as (name, type's number, pooled, array).
type Described = (&'static str, i64, &'static [(&'static str, i64, bool, bool)]);

const TYPES: &[Described] = &[
    ("long", 10, &[]),
    ("int", 11, &[]),
    ("boolean", 12, &[]),
    ("java.lang.String", 13, &[]),
    (
        "java.lang.Thread",
        20,
        &[("osName", 13, false, false), ("osThreadId", 10, false, false), ("javaName", 13, false, false)],
    ),
    ("jdk.types.Symbol", 21, &[("string", 13, false, false)]),
    ("java.lang.Class", 22, &[("name", 21, true, false)]),
    ("jdk.types.Method", 23, &[("type", 22, true, false), ("name", 21, true, false)]),
    ("jdk.types.StackFrame", 24, &[("method", 23, true, false), ("lineNumber", 11, false, false)]),
    ("jdk.types.StackTrace", 25, &[("truncated", 12, false, false), ("frames", 24, false, true)]),
    ("jdk.types.ThreadState", 26, &[("name", 13, false, false)]),
    (
        "profiler.WallClockSample",
        WALL_SAMPLE,
        &[
            ("startTime", 10, false, false),
            ("sampledThread", 20, true, false),
            ("stackTrace", 25, true, false),
            ("state", 26, true, false),
            ("samples", 11, false, false),
            ("timeSpan", 10, false, false),
        ],
    ),
    (
        "jdk.JavaMonitorEnter",
        MONITOR,
        &[
            ("startTime", 10, false, false),
            ("duration", 10, false, false),
            ("eventThread", 20, true, false),
            ("stackTrace", 25, true, false),
            ("previousOwner", 20, true, false),
        ],
    ),
    (
        "jdk.FileWrite",
        FILE_WRITE,
        &[
            ("startTime", 10, false, false),
            ("duration", 10, false, false),
            ("eventThread", 20, true, false),
            ("stackTrace", 25, true, false),
            ("path", 13, false, false),
        ],
    ),
];

const STRING: i64 = 13;
pub(super) const THREAD: i64 = 20;
const WALL_SAMPLE: i64 = 30;
const MONITOR: i64 = 31;
const FILE_WRITE: i64 = 32;

/// Ticks of a second, and when the recording begins.
pub(super) const TICKS_PER_SECOND: i64 = 1_000_000;
pub(super) const START_TICKS: i64 = 5_000_000;
pub(super) const START_UNIX_MS: i64 = 1_700_000_000_000;

/// Threads of the recording, whose numbers of the kernel are these and a hundred.
pub(super) const HANDLER: i64 = 1;
pub(super) const READER: i64 = 2;
/// Stacks of the recording: an append that writes, a monitor that is entered.
pub(super) const APPEND: i64 = 1;
pub(super) const ENTER: i64 = 2;
/// States of the recording.
pub(super) const RUNNABLE: i64 = 1;
pub(super) const SLEEPING: i64 = 2;

/// A chunk under construction.
#[derive(Clone, Debug)]
pub(super) struct ChunkBuilder {
    pub(super) bytes: Vec<u8>,
    last_constants: usize,
}

impl ChunkBuilder {
    /// With a header, of which only the size is to be written, and metadata.
    pub(super) fn new() -> Self {
        let mut bytes = b"FLR\0\x00\x02\x00\x01".to_vec();
        let words = [0, 0, 68, START_UNIX_MS * 1_000_000, 2_000_000_000, START_TICKS, TICKS_PER_SECOND];
        words.iter().for_each(|word: &i64| bytes.extend(word.to_be_bytes()));
        bytes.extend([0, 0, 0, 1]);
        let mut builder = Self { bytes, last_constants: 0 };
        builder.event(0, &metadata());
        builder
    }

    /// One with a wait of each kind, finished.
    pub(super) fn whole() -> Vec<u8> {
        let mut chunk = Self::new();
        chunk.wall(0, HANDLER, APPEND, RUNNABLE, 1);
        chunk.wall(300, HANDLER, APPEND, RUNNABLE, 1);
        chunk.wall(100, READER, ENTER, SLEEPING, 5);
        chunk.monitor(400, 50, READER, HANDLER);
        chunk.file_write(390, 60, HANDLER, "/data/t-0/0.log");
        chunk.constants();
        chunk.finished()
    }

    pub(super) fn event(&mut self, type_id: i64, body: &[u8]) -> usize {
        let at = self.bytes.len();
        let mut id = Vec::new();
        long(&mut id, type_id);
        let size = (4 + id.len() + body.len()) as u32;
        // Padded to four bytes, as the JDK does it.
        let padded = [size | 0x80, size >> 7 | 0x80, size >> 14 | 0x80, size >> 21 & 0x7f];
        self.bytes.extend(padded.map(|byte| byte as u8));
        self.bytes.extend(id);
        self.bytes.extend(body);
        at
    }

    pub(super) fn wall(&mut self, at_ms: i64, thread: i64, stack: i64, state: i64, samples: i64) {
        let span = (samples - 1) * 20 * 1000;
        self.numbers(WALL_SAMPLE, &[ticks(at_ms), thread, stack, state, samples, span], None);
    }

    pub(super) fn monitor(&mut self, at_ms: i64, length_ms: i64, thread: i64, owner: i64) {
        self.numbers(MONITOR, &[ticks(at_ms), length_ms * 1000, thread, ENTER, owner], None);
    }

    pub(super) fn file_write(&mut self, at_ms: i64, length_ms: i64, thread: i64, path: &str) {
        self.numbers(FILE_WRITE, &[ticks(at_ms), length_ms * 1000, thread, APPEND], Some(path));
    }

    fn numbers(&mut self, type_id: i64, numbers: &[i64], path: Option<&str>) {
        let mut body = Vec::new();
        numbers.iter().for_each(|number| long(&mut body, *number));
        path.into_iter().for_each(|path| text(&mut body, path));
        self.event(type_id, &body);
    }

    /// A list of all constants.
    pub(super) fn constants(&mut self) {
        let names = [
            "",
            "sun/nio/ch/FileDispatcherImpl",
            "write0",
            "org/apache/kafka/storage/internals/log/UnifiedLog",
            "append",
            "ObjectMonitor::enter",
        ];
        let mut pools = vec![(STRING, 1)];
        let mut body = Vec::new();
        // A text that is referred to: the reader's name.
        long(&mut body, 77);
        text(&mut body, "reader");
        let mut all = vec![(pools.remove(0), body)];
        let mut body = Vec::new();
        for thread in [HANDLER, READER] {
            long(&mut body, thread);
            text(&mut body, "data-plane-kafk");
            long(&mut body, 100 + thread);
            if thread == HANDLER {
                text(&mut body, "data-plane-kafka-request-handler-0");
            } else {
                body.extend([2, 77]);
            }
        }
        all.push(((THREAD, 2), body));
        let mut body = Vec::new();
        for (number, name) in names.iter().enumerate() {
            long(&mut body, number as i64);
            text(&mut body, name);
        }
        all.push(((21, names.len() as i64), body));
        // Classes: 1 and 2; the VM's functions are in the class 3, which has no name.
        all.push(((22, 3), vec![1, 1, 2, 3, 3, 0]));
        all.push(((23, 3), vec![1, 1, 2, 2, 2, 4, 3, 3, 5]));
        all.push(((25, 2), vec![APPEND as u8, 0, 2, 1, 0, 2, 9, ENTER as u8, 0, 2, 3, 0, 2, 9]));
        let mut body = Vec::new();
        for (state, name) in [(RUNNABLE, "STATE_RUNNABLE"), (SLEEPING, "STATE_SLEEPING")] {
            long(&mut body, state);
            text(&mut body, name);
        }
        all.push(((26, 2), body));
        let pools: Vec<(i64, i64, Vec<u8>)> =
            all.into_iter().map(|((id, count), body)| (id, count, body)).collect();
        self.checkpoint(&pools);
    }

    /// A list of constants: types' numbers, how many there are, and them.
    pub(super) fn checkpoint(&mut self, pools: &[(i64, i64, Vec<u8>)]) {
        let back = match self.last_constants {
            0 => 0,
            last => last as i64 - self.bytes.len() as i64,
        };
        let mut body = Vec::new();
        [START_TICKS, 0, back].iter().for_each(|number| long(&mut body, *number));
        body.push(0);
        long(&mut body, pools.len() as i64);
        for (type_id, count, constants) in pools {
            long(&mut body, *type_id);
            long(&mut body, *count);
            body.extend(constants);
        }
        self.last_constants = self.event(1, &body);
    }

    /// The chunk with its size, and where its last constants are.
    pub(super) fn finished(mut self) -> Vec<u8> {
        let (size, constants) = (self.bytes.len() as i64, self.last_constants as i64);
        self.put(8, size);
        self.put(16, constants);
        self.bytes
    }

    /// Overwrites a word of the header.
    pub(super) fn put(&mut self, at: usize, word: i64) {
        self.bytes[at..at + 8].copy_from_slice(&word.to_be_bytes());
    }
}

fn ticks(ms: i64) -> i64 {
    START_TICKS + ms * 1000
}

pub(super) fn long(out: &mut Vec<u8>, value: i64) {
    let mut rest = value.cast_unsigned();
    for _ in 0..8 {
        if rest < 0x80 {
            break;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    out.push(3);
    long(out, text.len() as i64);
    out.extend(text.bytes());
}

fn metadata() -> Vec<u8> {
    let mut texts: Vec<String> = Vec::new();
    let mut tree = Vec::new();
    let mut number = |text: &str| {
        let known = texts.iter().position(|each| each == text);
        known.unwrap_or_else(|| {
            texts.push(text.to_owned());
            texts.len() - 1
        }) as i64
    };
    let mut element = |name: &str, attributes: &[(&str, &str)], children: usize| {
        long(&mut tree, number(name));
        long(&mut tree, attributes.len() as i64);
        for (key, value) in attributes {
            long(&mut tree, number(key));
            long(&mut tree, number(value));
        }
        long(&mut tree, children as i64);
    };
    element("root", &[], 2);
    element("metadata", &[], TYPES.len());
    for (name, id, fields) in TYPES {
        element("class", &[("name", name), ("id", &id.to_string())], fields.len());
        for (name, of, pooled, array) in *fields {
            let of = of.to_string();
            let mut attributes = vec![("class", of.as_str()), ("name", *name)];
            attributes.extend(pooled.then_some(("constantPool", "true")));
            attributes.extend(array.then_some(("dimension", "1")));
            // The JDK's fields have annotations.
            element("field", &attributes, 1);
            element("annotation", &[("class", "99")], 0);
        }
    }
    element("region", &[("locale", "en_US")], 0);
    let mut body = Vec::new();
    [START_TICKS, 0, 1, texts.len() as i64].iter().for_each(|word| long(&mut body, *word));
    texts.iter().for_each(|each| text(&mut body, each));
    body.extend(tree);
    body
}
