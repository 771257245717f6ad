// Package steps runs the first minute's steps and tells what each found, as ../../steps.py does.
package steps

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

const (
	Topic   = "first"
	Records = 20
)

// Step is one of the steps; it is given the broker's address and returns what it found.
type Step struct {
	Name string
	Do   func(bootstrap string) (any, error)
}

var input = bufio.NewReader(os.Stdin)

func say(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

// Run tells what each step finds, and at the end the releases of the modules.
func Run(modules []string, all []Step) {
	for _, step := range all {
		bootstrap := os.Args[1]
		if step.Name == "nowhere" {
			bootstrap = os.Args[2]
		}
		said, err := step.Do(bootstrap)
		if err != nil {
			said = map[string]string{"error": fmt.Sprintf("%T: %v", err, err)}
		}
		say(map[string]any{"step": step.Name, "said": said})
	}
	built, _ := debug.ReadBuildInfo()
	var releases []string
	for _, module := range built.Deps {
		if slices.Contains(modules, module.Path) {
			releases = append(releases, strings.TrimPrefix(module.Path, "github.com/")+" "+module.Version)
		}
	}
	say(map[string]any{"release": strings.Join(releases, ", ")})
}

// OverRestart writes and reads before and after a restart of the broker. The functions keep their
// producer and their consumer; read returns the offsets of the next records.
func OverRestart(write func() error, read func(count int) ([]int64, error)) (any, error) {
	if err := write(); err != nil {
		return nil, err
	}
	before, err := read(2 * Records)
	if err != nil {
		return nil, err
	}
	say(map[string]any{"restart": true})
	if _, err := input.ReadString('\n'); err != nil {
		return nil, err
	}
	if err := write(); err != nil {
		return nil, err
	}
	after, err := read(Records)
	if err != nil {
		return nil, err
	}
	return []int64{int64(len(before)), int64(len(after)), after[len(after)-1]}, nil
}

// Shown is the names of topics as a step says them: sorted, without the broker's own.
func Shown(names []string) []string {
	shown := []string{}
	for _, name := range names {
		if !strings.HasPrefix(name, "__") {
			shown = append(shown, name)
		}
	}
	slices.Sort(shown)
	return shown
}
