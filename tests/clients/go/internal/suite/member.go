package suite

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"
)

// Heartbeat is short because members learn of a rebalance from a heartbeat's answer.
const Heartbeat = 300 * time.Millisecond

// Partition is one of a topic's; it is written as [topic, number].
type Partition struct {
	Topic  string
	Number int32
}

// Member is what both programs share as members of a group: when they end, what they have read and not
// committed, and the lines that they print, each at once. Callbacks of several goroutines may use it.
type Member struct {
	Topics  []string
	Session time.Duration
	// Auto leaves commits to the library.
	Auto     bool
	until    string
	deadline time.Time

	lock        sync.Mutex
	uncommitted map[Partition]int64
}

// NewMember reads what all members are told.
func NewMember(o Options) *Member {
	return &Member{
		Topics:      strings.Split(o["--topic"], ","),
		Session:     time.Duration(o.Number("--session", 10_000)) * time.Millisecond,
		Auto:        o.Text("--commit", "sync") == "auto",
		until:       o["--until"],
		deadline:    time.Now().Add(time.Duration(o.Number("--timeout", 120)) * time.Second),
		uncommitted: map[Partition]int64{},
	}
}

// GoesOn says whether the file that ends the membership is not there yet.
func (m *Member) GoesOn() (bool, error) {
	if time.Now().After(m.deadline) {
		return false, fmt.Errorf("the file that ends the membership was not made in time")
	}
	_, err := os.Stat(m.until)
	return os.IsNotExist(err), nil
}

// Record prints one that was read.
func (m *Member) Record(at Partition, offset int64, timestamp time.Time, key, value []byte, headers []Header) {
	m.lock.Lock()
	m.uncommitted[at] = offset + 1
	m.lock.Unlock()
	PrintRecord(at.Topic, at.Number, offset, timestamp.UnixMilli(), key, value, headers)
	flush()
}

// Uncommitted are the next offsets that the program has to commit by itself.
func (m *Member) Uncommitted() map[Partition]int64 {
	m.lock.Lock()
	defer m.lock.Unlock()
	copied := map[Partition]int64{}
	for partition, offset := range m.uncommitted {
		if !m.Auto {
			copied[partition] = offset
		}
	}
	return copied
}

// Committed tells what was.
func (m *Member) Committed(offsets map[Partition]int64) {
	m.lock.Lock()
	rows := [][]any{}
	for partition, offset := range offsets {
		if m.uncommitted[partition] == offset {
			delete(m.uncommitted, partition)
		}
		rows = append(rows, []any{partition.Topic, partition.Number, offset})
	}
	m.lock.Unlock()
	say(map[string]any{"committed": rows})
}

// Assigned tells what came, when, and in which generation.
func (m *Member) Assigned(partitions map[string][]int32, generation int32) {
	rows, _ := list(partitions)
	say(map[string]any{"assigned": rows, "generation": generation, "at": now()})
}

// Gone tells what went, when, and how: "revoked" or "lost".
func (m *Member) Gone(how string, partitions map[string][]int32) {
	rows, keys := list(partitions)
	m.lock.Lock()
	for _, partition := range keys {
		delete(m.uncommitted, partition)
	}
	m.lock.Unlock()
	say(map[string]any{how: rows, "at": now()})
}

// now is the time in milliseconds, so that what several members say can be put in order.
func now() int64 { return time.Now().UnixMilli() }

// Error tells of a failure after which the member goes on.
func (m *Member) Error(err error) { say(map[string]any{"error": err.Error()}) }

func list(partitions map[string][]int32) ([][]any, []Partition) {
	keys := []Partition{}
	for topic, numbers := range partitions {
		for _, number := range numbers {
			keys = append(keys, Partition{topic, number})
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		return keys[i].Topic < keys[j].Topic || keys[i].Topic == keys[j].Topic && keys[i].Number < keys[j].Number
	})
	rows := [][]any{}
	for _, key := range keys {
		rows = append(rows, []any{key.Topic, key.Number})
	}
	return rows, keys
}

func say(line map[string]any) {
	Print(line)
	flush()
}
