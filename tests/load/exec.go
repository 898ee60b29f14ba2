package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"godwit/tests/harness/child"
	"godwit/tests/load/fleet"
)

// execCommand runs any command against a fresh server and tells how much CPU each
// of the two used, for instance an official benchmark client.
func execCommand(args []string) error {
	var o fleet.Options
	var dir string
	var limit time.Duration
	f := flag.NewFlagSet("exec", flag.ExitOnError)
	f.StringVar(&o.Bin, "a", "", "server binary (required)")
	f.IntVar(&o.Nodes, "nodes", 1, "servers: 1 or 3")
	f.StringVar(&o.Sync, "sync", "default", "as for run")
	f.StringVar(&o.Extra, "extra-a", "", "more configuration text")
	f.StringVar(&dir, "dir", os.TempDir(), "where the fresh data directory is made")
	f.DurationVar(&limit, "limit", 3*time.Minute, "longest time for the command")
	f.Parse(args)
	if f.NArg() == 0 {
		return errors.New("no command given after --")
	}
	if err := fleet.CheckBinary(&o.Bin); err != nil {
		return err
	}
	scratch, err := fleet.NewScratch(dir, false)
	if err != nil {
		return err
	}
	defer scratch.Close()
	defer cleanOnSignal(scratch)()
	o.JetStream = true
	cluster, remove, err := scratch.Cluster(o)
	if err != nil {
		return err
	}
	defer remove()
	if err := cluster.Start(); err != nil {
		return err
	}
	if err := cluster.WaitServing(20 * time.Second); err != nil {
		return err
	}
	if o.Nodes > 1 {
		time.Sleep(3 * time.Second) // leaders get elected
	}
	cmd := exec.Command(f.Arg(0), f.Args()[1:]...)
	cmd.Env = append(os.Environ(), "NATS_URL=nats://"+cluster.Servers[0].Addr)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	before, start := cluster.CPU(), time.Now()
	command, err := child.Start(cmd)
	if err != nil {
		return err
	}
	timer := time.AfterFunc(limit, command.KillGroup)
	state := command.State()
	timer.Stop()
	took := time.Since(start)
	server := cluster.CPU() - before
	client := state.UserTime() + state.SystemTime()
	_, peak := cluster.RSS()
	fmt.Printf("\nwall %.2f s; CPU of the servers %.2f s, of the command %.2f s; server RSS %.0f MB\n",
		took.Seconds(), server.Seconds(), client.Seconds(), float64(peak)/1e6)
	if !state.Success() {
		return fmt.Errorf("%s: %v", f.Arg(0), state)
	}
	return nil
}
