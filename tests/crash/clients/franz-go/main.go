// The franz-go client of the crash tests: a producer that goes on whatever happens to its broker, readers that check every byte,
// and a creator and deleter of topics. See ../README.md for the command line, which the Java producer shares.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	verbs := map[string]func(options) error{"load": load, "read": read, "follow": follow, "churn": churn, "topics": topics}
	if len(os.Args) < 2 || verbs[os.Args[1]] == nil {
		fail(fmt.Errorf("a verb is required: load, read, follow, churn or topics"))
	}
	given, err := parseOptions(os.Args[2:])
	if err != nil {
		fail(err)
	}
	err = verbs[os.Args[1]](given)
	stdout.flush()
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// options are `--name value` pairs.
type options map[string]string

func parseOptions(arguments []string) (options, error) {
	given := options{}
	for i := 0; i < len(arguments); i += 2 {
		if i+1 == len(arguments) || !strings.HasPrefix(arguments[i], "--") {
			return nil, fmt.Errorf("%s: options are pairs of --name and value", arguments[i])
		}
		given[arguments[i][2:]] = arguments[i+1]
	}
	return given, nil
}

func (o options) number(name string, otherwise int64) int64 {
	text, ok := o[name]
	if !ok {
		return otherwise
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		fail(fmt.Errorf("--%s: %w", name, err))
	}
	return number
}

// partitions are those of "--partitions 0,2,4" or "--partitions 0-999".
func (o options) partitions() []int32 {
	var all []int32
	for _, part := range strings.Split(o["partitions"], ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseInt(first, 10, 32)
		if err != nil {
			fail(fmt.Errorf("--partitions: %w", err))
		}
		to, err := strconv.ParseInt(last, 10, 32)
		if err != nil {
			fail(fmt.Errorf("--partitions: %w", err))
		}
		for partition := from; partition <= to; partition++ {
			all = append(all, int32(partition))
		}
	}
	return all
}

// client is a client that finds a restarted broker again within a fraction of a second.
func (o options) client(more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(o["bootstrap"], ",")...),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }),
	}, more...)...)
}

// lines writes JSON lines; several goroutines may.
type lines struct {
	mutex sync.Mutex
	out   *bufio.Writer
}

var stdout = newLines(os.Stdout)

func newLines(out io.Writer) *lines { return &lines{out: bufio.NewWriterSize(out, 1<<16)} }

func (l *lines) print(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.out.Write(text)
	l.out.WriteByte('\n')
}

func (l *lines) flush() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := l.out.Flush(); err != nil {
		fail(err)
	}
}

// flushOften lets a test see lines soon after they were printed.
func (l *lines) flushOften() {
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			l.flush()
		}
	}()
}

// stopped is closed when standard input ends: the test wants no more.
func stopped() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	return done
}

// now is the time in milliseconds, comparable with that of other processes of this machine.
func now() int64 { return time.Now().UnixMilli() }
