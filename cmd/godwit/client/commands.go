package client

import "github.com/urfave/cli/v2"

// Commands are all of them.
func (t *Tool) Commands() []*cli.Command {
	return []*cli.Command{t.pub(), t.sub(), t.request(), t.reply(), t.stream(), t.consumer(), t.kv(), t.object(), t.server(), t.bench(), t.contexts(), t.completion()}
}
