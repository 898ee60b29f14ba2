// Package stream is a partition of a stream: a deterministic state machine over one log. Publishes are checked against
// what is applied and what is in flight, appended, and applied once the log says that they are safe; only then are
// they acknowledged and seen by consumers, who live in the partition. Configuration changes, deletes, purges and the
// progress of consumers are records of the same log, so that nothing on disk can contradict it.
//
// All state belongs to whoever runs the partition's turn; see mailbox.
package stream

import (
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/consumer"
	"godwit/stream/segment"
	"godwit/stream/sequence"
	"godwit/stream/vfs"
)

var (
	// ErrClosed: the partition is closed or being deleted.
	ErrClosed = errors.New("stream: partition is closed")
	// ErrFailed: a write failed; nothing is accepted any more, what is stored can still be read.
	ErrFailed = errors.New("stream: partition failed")
)

const (
	batchCountMax  = 1024      // messages in one batch of the log
	batchBytesMax  = 512 << 10 // bytes, unless one message is larger
	recordMax      = 32 << 20  // bytes of one stored message
	maxBatchBytes  = 2*recordMax + 1<<20
	littleBytes    = 64 << 10 // what may be synced by the sender itself
	mailboxBytes   = 32 << 20 // of a stream; see mailbox.bound
	mailboxLeast   = 2 << 20  // of one partition among several
	progressEvery  = 100 * time.Millisecond
	tickMin        = 5 * time.Millisecond // timers are no finer
	checkpointWait = 30 * time.Second
	checkpointSize = 64 << 20 // bytes of log; see checkpointing.limit
)

// Output takes what a partition sends. Only the partition's turn uses it.
type Output interface {
	consumer.Output
	// Flush hands over what was gathered.
	Flush()
	// Rest gives back memory because there has been nothing to send for a while.
	Rest()
}

// Hooks are told what the surroundings of a partition have to know. Calls come from the turn and must not wait.
type Hooks interface {
	consumer.Events
	Auditor
	// ConsumerFound, ConsumerAdded and ConsumerRemoved: requests for the consumer are to be routed here, or no more.
	ConsumerFound(c *consumer.Consumer) // in the log
	ConsumerAdded(c *consumer.Consumer)
	ConsumerRemoved(c *consumer.Consumer)
	// Failed: the partition accepts nothing any more.
	Failed(err error)
	// Damaged: stored bytes are not what was written; the messages in them are lost.
	Damaged(err error)
}

// Quota is the storage that the partition's account and server grant. It is safe for concurrent use.
type Quota interface {
	// Limited says whether Admit ever refuses.
	Limited() bool
	// Admit says why so many more bytes may not be stored; nil if they may.
	Admit(bytes int64) *jsapi.Error
	// Used tells of bytes stored, or removed if negative.
	Used(bytes int64)
}

// Options configures a Partition. Zero values mean the default written at the field.
type Options struct {
	Dir       string     // required
	FS        vfs.FS     // default: the operating system
	Key       [32]byte   // identifies the partition; the same at every Open
	Sync      SyncPolicy // default SyncAlways
	SyncEvery time.Duration
	Scheduler *segment.Scheduler // default: one of the log's own
	Cache     *segment.Cache     // likewise
	Pace      *segment.Pace      // likewise

	Stats        *Stats             // counts for monitoring, shared by all partitions; nil counts nothing
	SegmentBytes int64              // default: the log's
	Tails        *segment.Tails     // memory for recent messages; default: the log's own
	TailBytes    int64              // most of it for this partition; default: the log's
	Config       jsapi.StreamConfig // as created; a newer one in the log wins
	Created      time.Time
	Domain       string
	AckPlace     string // "<domain>.<account>." in the subjects of acknowledgements and flow control; default: none
	// Consumers returns the bounds of the account and server for consumer configurations; default: none.
	Consumers func() consumer.Limits
	Out       Output // required
	Refusals  Output // required; used under a lock by senders whose work is refused
	Hooks     Hooks  // required
	Quota     Quota  // required
	Batches   BatchLimits

	// A partition of a stream with several. Share returns what the parts of a consumer share; idle is told of one that nobody
	// has used for long.
	numbers sequence.Scheme
	share   func(c *consumer.Consumer) *consumer.Shared
	idle    func(name string)

	DefaultMaxConsumers int // bound of the consumers if neither the stream nor the account sets one; default 1000
}

func (o *Options) consumerLimits() consumer.Limits {
	if o.Consumers == nil {
		return consumer.Limits{}
	}
	return o.Consumers()
}

// SyncPolicy says when what was appended counts as safe.
type SyncPolicy = segment.SyncPolicy

// Partition is one partition. All methods are safe for concurrent use.
type Partition struct {
	opts    Options
	name    string
	log     *segment.Log
	report  *segment.Report
	box     mailbox
	batches *sync.Pool
	clock   func() int64 // ns since 1970
	inFlush atomic.Bool  // the turn is inside Flush: it will see what becomes durable
	failure atomic.Pointer[error]
	timer   *time.Timer
	rang    atomic.Bool    // the timer has fired since it was set
	saves   sync.WaitGroup // checkpoints being written, segments being rewritten, messages being erased

	refuse struct {
		sync.Mutex
		out Output
	}

	stats stats // readable by anybody

	// What follows belongs to the turn.
	state
	out   Output
	now   int64  // the clock at the beginning of the turn, ns since 1970
	stamp int64  // the same for batches; never goes back
	next  uint64 // sequence that the next message gets
	index uint64 // of the last batch appended
	safe  uint64 // index up to which all is as safe as the sync policy promises

	flights  flights
	lastID   []byte // message id of the last message proposed
	flying   struct{ msgs, bytes int64 }
	recent   recent
	commands int  // in flight
	applying bool // what is in flight is being applied: commands wait in later
	later    []*command
	creating int  // of them, those that create consumers
	expiring bool // one of them removes old messages
	appended bool // something was appended in this turn

	members members
	keep    retention
	sched   schedule
	ckpt    checkpointing
	audits  audits
	reclaim reclaiming
	erase   erasing
	ack     ackWriter
	found   []found // batches that Open found behind the checkpoint

	transform   atomic.Pointer[subject.Transform] // of the subjects published on; written by the turn, read by senders
	republisher *republisher                      // nil: nothing is sent on
	live        bool                              // what is applied is new, not found in the log

	// Scratch.
	proposing []*PubBatch // those of the batch being put together
	cut       cut         // of the one being judged
	totals    totals

	open      openBatches
	parts     [][]byte // their records
	body, rec []byte   // progress
	head      []byte   // header blocks
	wanted    []wanted // direct gets

	bulks   []*bulk // direct gets of many messages that are being answered
	backups []*Backup

	failed  bool
	hurt    bool          // some of what is stored cannot be read: counts may be too high
	drained chan struct{} // set once the partition is closing: closed when nothing is in flight
	ended   bool          // drained is closed
}

// stats are numbers for monitoring, written by the turn.
type stats struct {
	msgs, bytes, consumers atomic.Uint64
	first, last            atomic.Uint64
}

// Open opens or creates a partition and replays its log. Nothing may be asked of it before Start.
func Open(o Options) (*Partition, error) {
	p := &Partition{opts: o, name: o.Config.Name, out: o.Out, batches: newBatchPool(), clock: func() int64 { return time.Now().UnixNano() }}
	p.refuse.out = o.Refusals
	p.subjects.seed = maphash.MakeSeed()
	p.state.init(p, o)
	p.keep.sweep.at = 1
	p.reclaim = reclaiming{stop: make(chan struct{}), tried: map[uint64]uint64{}}
	p.box.turn, p.box.bound = p.turn, mailboxBytes
	if n := int(o.numbers.Partitions); n > 1 {
		p.box.bound = max(mailboxBytes/n, mailboxLeast)
	}
	p.ack.init(o.Config.Name, o.Domain, o.numbers)
	p.timer = time.AfterFunc(time.Hour, p.ring)
	p.timer.Stop()
	p.sched.init()
	p.open.init(o.Batches)
	log, report, err := segment.Open(segment.Options{
		Dir: o.Dir, FS: o.FS, Key: o.Key, SegmentBytes: o.SegmentBytes, MaxBatchBytes: maxBatchBytes,
		Sync: o.Sync, SyncEvery: o.SyncEvery, Scheduler: o.Scheduler, Cache: o.Cache, Pace: o.Pace, Tails: o.Tails, TailBytes: o.TailBytes,
		Restore: p.restore, Replay: p.replay, OnDurable: p.durable, OnFailure: p.fail, OnIdle: p.rest,
	})
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", p.name, err)
	}
	p.log, p.report = log, report
	for _, d := range report.Damage {
		p.damaged(&segment.CorruptError{Path: d.Path, Position: d.Position, Reason: d.Reason})
	}
	if err := p.rerun(); err != nil {
		return nil, errors.Join(fmt.Errorf("open stream %s: %w", p.name, err), log.Close())
	}
	return p, nil
}

// Start begins work. Consumers that Open found are reported to Hooks.
func (p *Partition) Start() {
	p.activate()
	p.box.wake()
}

// Report says what opening the log found.
func (p *Partition) Report() *segment.Report { return p.report }

// Close handles what is waiting, writes a checkpoint and closes the log. Requests that wait hear of the shutdown.
func (p *Partition) Close() error { return p.shut(true) }

// Abandon closes the partition because its stream is deleted: requests that wait hear that, and nothing is saved.
func (p *Partition) Abandon() error { return p.shut(false) }

func (p *Partition) shut(keep bool) error {
	drained := make(chan struct{})
	ok := p.box.call(func() {
		if p.drained != nil {
			return // somebody else closes it
		}
		p.drained = drained
		p.endMembers(keep)
		p.dropDisabled(&jsapi.StreamConfig{}) // all
	}, true)
	if !ok {
		return ErrClosed
	}
	p.log.GiveUp()
	<-drained // what is in flight is answered first; a failing log fails it
	p.box.close()
	close(p.reclaim.stop)
	p.timer.Stop()
	p.saves.Wait()
	p.endErasing(keep)
	if keep && p.failure.Load() == nil {
		p.lastCheckpoint()
	}
	return p.log.Close()
}

// durable is called by the log's sync goroutine, or inside Flush.
func (p *Partition) durable(uint64) {
	if !p.inFlush.Load() {
		p.box.wake()
	}
}

// rest is called by the log when it has got no batch for a while.
func (p *Partition) rest() {
	p.box.call(func() {
		p.out.Rest()
		p.head, p.body, p.rec, p.wanted, p.parts = nil, nil, nil, nil, nil
	}, false)
}

// fail is called by the log when a write or sync failed.
func (p *Partition) fail(err error) {
	p.failure.CompareAndSwap(nil, &err)
	p.box.wake()
}

// damaged notes that some of what is stored cannot be read.
func (p *Partition) damaged(err error) {
	p.hurt = true
	p.opts.Hooks.Damaged(err)
}

// do runs f in the turn and waits for it.
func (p *Partition) do(f func()) error {
	done := make(chan struct{})
	if !p.box.call(func() { f(); close(done) }, true) {
		return ErrClosed
	}
	<-done
	return nil
}

// Publish gives a batch to the partition. mayWait says that the caller can be held up for a moment if there is too much
// work, and may do the work itself; a partition's turn cannot.
func (p *Partition) Publish(b *PubBatch, mayWait bool) { p.publish(b, mayWait, mayWait) }

func (p *Partition) publish(b *PubBatch, mayWait, inline bool) {
	if len(b.ends) == 0 {
		p.free(b)
		return
	}
	if err := p.noRoom(); err != nil {
		p.refuseAll(b, err, "")
		return
	}
	if p.opts.Stats != nil {
		b.at = time.Now().UnixNano()
	}
	if !p.box.admit(b.Size(), mayWait) {
		p.opts.Stats.refused(len(b.ends))
		p.refuseAll(b, jsapi.Err(jsapi.ErrStreamTooManyRequests), overload)
		return
	}
	if !p.box.begin() {
		p.box.release(b.Size())
		p.refuseAll(b, jsapi.Err(jsapi.ErrStreamTooManyRequests), overload)
		return
	}
	p.box.mu.in.pubs = append(p.box.mu.in.pubs, b)
	p.box.end(inline)
}

// Ack gives acknowledgements to the partition. Nobody has to wait: they make room.
func (p *Partition) Ack(b *consumer.AckBatch, inline bool) {
	if p.box.begin() {
		p.box.mu.in.acks = append(p.box.mu.in.acks, b)
		p.box.end(inline)
	}
}

// Pull gives pull requests to the partition.
func (p *Partition) Pull(b *consumer.PullBatch, inline bool) {
	if p.box.begin() {
		p.box.mu.in.pulls = append(p.box.mu.in.pulls, b)
		p.box.end(inline)
	}
}

// Flow gives an answer to a flow control request to the partition; subject is copied. seq is the stream sequence up to
// which the client says it is, 0 if it does not say.
func (p *Partition) Flow(c *consumer.Consumer, subject []byte, seq uint64) {
	s := append([]byte{}, subject...)
	p.box.call(func() {
		if m := p.members.of(c); m != nil {
			c.FlowReply(s, seq, p.now)
			p.touch(m)
			p.ready(m)
		}
	}, true)
}
