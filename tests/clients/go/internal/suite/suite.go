// Package suite is what the Go clients of the end-to-end suite share: the command line, the session, the records that a run
// sends, and the lines it prints. The command line is the same for every client: see tests/clients/README.md.
package suite

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Verbs are a client's commands; each prints its lines through Print.
type Verbs struct {
	Produce func(Options) error
	Consume func(Options) error
	Group   func(Options) error
	// Copy reads as a member of a group, and writes what it has read and the offsets in transactions.
	Copy func(Options) error
	// Transfer takes from one partition and gives to another in transactions, until it is told to end; nil for a client that does not.
	Transfer func(Options) error
}

// Run takes one command from the arguments, or with the verb "session" many: JSON arrays on standard input, each answered by
// its lines and then by {"end":true}.
func Run(verbs Verbs) {
	arguments := os.Args[1:]
	if len(arguments) == 1 && arguments[0] == "session" {
		session(verbs)
		return
	}
	err := verbs.run(arguments)
	flush()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func session(verbs Verbs) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var arguments []string
		err := json.Unmarshal(lines.Bytes(), &arguments)
		if err == nil {
			err = verbs.run(arguments)
		}
		end := map[string]any{"end": true}
		if err != nil {
			end["error"] = err.Error()
		}
		Print(end)
		flush()
	}
}

func (verbs Verbs) run(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("a verb is required")
	}
	options, err := parse(arguments[1:])
	if err != nil {
		return err
	}
	switch arguments[0] {
	case "produce":
		return verbs.Produce(options)
	case "consume":
		return verbs.Consume(options)
	case "group":
		return verbs.Group(options)
	case "copy":
		return verbs.Copy(options)
	case "transfer":
		if verbs.Transfer != nil {
			return verbs.Transfer(options)
		}
	}
	return fmt.Errorf("unknown verb %q", arguments[0])
}

// Options are `--name value` pairs and a few bare flags.
type Options map[string]string

var flags = map[string]bool{"--idempotent": true, "--headers": true, "--tombstones": true}

func parse(arguments []string) (Options, error) {
	options := Options{}
	for i := 0; i < len(arguments); i++ {
		name := arguments[i]
		if flags[name] {
			options[name] = "true"
			continue
		}
		i++
		if i == len(arguments) {
			return nil, fmt.Errorf("%s needs a value", name)
		}
		options[name] = arguments[i]
	}
	return options, nil
}

// Has says whether the option was given.
func (o Options) Has(name string) bool { _, ok := o[name]; return ok }

// Number is the option's value, or otherwise when it was not given; a value that is no number ends the program.
func (o Options) Number(name string, otherwise int64) int64 {
	if !o.Has(name) {
		return otherwise
	}
	number, err := strconv.ParseInt(o[name], 10, 64)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	return number
}

// Bootstrap is the list of the brokers' addresses.
func (o Options) Bootstrap() []string { return strings.Split(o["--bootstrap"], ",") }

// Text is the option's value, or otherwise when it was not given.
func (o Options) Text(name, otherwise string) string {
	if o.Has(name) {
		return o[name]
	}
	return otherwise
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Value is what record seq carries: printable, even records hardly compress, odd ones do. Nil is a tombstone.
func (o Options) Value(seq int) []byte {
	if o.Has("--tombstones") && seq%5 == 3 {
		return nil
	}
	mask := uint32(63)
	if seq%2 == 1 {
		mask = 3
	}
	state := uint32(o.Number("--seed", 0))*0x9E3779B1 + uint32(seq) + 1
	if state == 0 {
		state = 1
	}
	value := make([]byte, o.Number("--size", 100))
	for i := range value {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		value[i] = alphabet[state&mask]
	}
	return value
}

// Key is what record seq is keyed by; nil without --key-prefix.
func (o Options) Key(seq int) []byte {
	if !o.Has("--key-prefix") {
		return nil
	}
	return []byte(o["--key-prefix"] + strconv.Itoa(seq))
}

// Header is one header of a record; a nil value is a null.
type Header struct {
	Key   string
	Value []byte
}

// Headers are what every record of the run carries; none without --headers.
func (o Options) Headers() []Header {
	if !o.Has("--headers") {
		return nil
	}
	return []Header{
		{"seed", []byte(strconv.FormatInt(o.Number("--seed", 0), 10))},
		{"twice", []byte("first")},
		{"twice", []byte("second")},
		{"empty", []byte{}},
		{"none", nil},
		{"größe", []byte("日本語")},
	}
}

// Consumed is one record as read.
type Consumed struct {
	Topic     string      `json:"topic,omitempty"`
	Partition int32       `json:"partition"`
	Offset    int64       `json:"offset"`
	Timestamp int64       `json:"timestamp"`
	Key       *string     `json:"key"`
	ValueSHA  *string     `json:"value_sha"`
	Headers   [][]*string `json:"headers"`
}

// PrintRecord prints a record as read; without a topic where there is only one.
func PrintRecord(topic string, partition int32, offset, timestamp int64, key, value []byte, headers []Header) {
	line := Consumed{Topic: topic, Partition: partition, Offset: offset, Timestamp: timestamp, Key: text(key), Headers: [][]*string{}}
	if value != nil {
		sum := sha256.Sum256(value)
		digest := hex.EncodeToString(sum[:])
		line.ValueSHA = &digest
	}
	for _, header := range headers {
		line.Headers = append(line.Headers, []*string{&header.Key, text(header.Value)})
	}
	Print(line)
}

func text(bytes []byte) *string {
	if bytes == nil {
		return nil
	}
	s := string(bytes)
	return &s
}

// PrintAcknowledged prints where a record went, or why it did not.
func PrintAcknowledged(partition int32, offset int64, seq int, err error) {
	if err != nil {
		Print(map[string]any{"seq": seq, "error": err.Error()})
		return
	}
	Print(map[string]any{"partition": partition, "offset": offset, "seq": seq})
}

var (
	printing sync.Mutex
	out      = bufio.NewWriter(os.Stdout)
)

// Print writes one JSON line; callbacks may call it from any goroutine.
func Print(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	printing.Lock()
	defer printing.Unlock()
	out.Write(line)
	out.WriteByte('\n')
}

func flush() {
	printing.Lock()
	defer printing.Unlock()
	out.Flush()
}

// IsCommitted says of a transaction, counted from 0, how it is to end: every third one is aborted, and what is in it done again.
func IsCommitted(transaction int) bool { return transaction%3 != 1 }

// PrintEnd tells of a transaction that has ended.
func PrintEnd(committed bool, records int) {
	PrintNow(map[string]any{"committed": committed, "records": records})
}

// PrintNow prints a line that somebody waits for.
func PrintNow(line any) {
	Print(line)
	flush()
}
