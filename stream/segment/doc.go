// Package segment is the log of one partition: append-only segment files of checksummed batches, with sparse indexes,
// checkpoints of derived state, group commit, recovery, and readers.
//
// One owner at a time appends and flushes. Readers (Cursor, Read) run beside it on any goroutine: what was appended
// lately they find in shared immutable blocks of memory, the rest they read from the files themselves and verify.
//
// # Files
//
// All numbers are little endian. hash means HighwayHash-64 keyed by Options.Key, over everything in its scope that
// follows it. In the directory of a log lie:
//
//	<base>.log, <base>-<serial>.log   a segment; base is the first sequence it can hold, 20 digits; the serial number is
//	                                  added if an older segment has the same base (it holds no messages)
//	<same>.index, <same>.timeindex    derived from the segment; rebuilt if missing or damaged
//	<index>.checkpoint                derived state of the owner after the batch with that Raft index; two are kept, which
//	<index>-2.checkpoint              may be of the same index
//	mark                              lower bound of what is durable, and the first segment that still counts
//	erasing                           batches that are being overwritten; see Erase
//	*.tmp                             left by a crash, removed
//	<base>.void                       a segment of which nothing verifies, put aside instead of being removed; see ErrWrongKey
//
// # Segment
//
// A segment begins with a head of 128 bytes, then batches follow each other without gaps. Zeros behind the last batch
// of the last segment are room written ahead and no damage.
//
//	0   hash u64         over [8, 128)
//	8   magic "GODWITSG"
//	16  format u32 = 3; generation u32. Earlier formats: 1, and 2 if it was rewritten, have long heads of batches only, and
//	    nothing is appended to them any more
//	24  serial u64       number of the segment in its log, from 1
//	32  base u64         sequence of the first message it can hold
//	40  first u64        Raft index of its first batch
//	48  created i64      leader's clock, ns
//	56  durable u64      highest Raft index known to be durable when this was written
//	64  prevEnd u64      where the segment before ends; what lies behind that there is void. 0: there was none
//	72  zeros; of a segment that was rewritten: end of its batches i64, index of the last one before that u64, largest
//	    time of a message i64, messages u64, zeros
//
// The generation grows whenever a tail was cut. What is appended after a cut goes to a new segment, so bytes of the cut
// tail never stand between or behind newer batches.
//
// # Batch
//
// A batch is the unit of write, of checksum and of Raft entry.
//
//	0   hash u64         over [8, length)
//	8   length u32       of the whole batch
//	12  kind u8, format u8 = 1, attributes u8 (the owner's), flags u8 (bit 0: body is one S2 block; bit 1: and then zeros
//	    and the block's length u32)
//	16  index u64        Raft index, 1 more than that of the batch before
//	24  term u64
//	32  time i64         leader's clock, ns
//	40  base u64         sequence of the first message; of other kinds the next sequence to be assigned
//	48  durable u64      highest Raft index known to be durable when this was composed
//	56  count u32        messages
//	60  head u32         CRC-32C of [8, 60), started from a secret of the key: the head can be trusted without the body
//	64  body             records (AppendRecord), or the owner's own bytes
//
// Of at most 4096 bytes it has a short head, mostly of 22 to 24 bytes, which is verified with the whole:
//
//	0   hash u64         over [8, length)
//	8   length u16
//	10  lowest byte of the index u8
//	11  tag u8           bit 7: the head is short, which no long one has there; 5 and 6: kind; 3 and 4: flags; 2: durable is index-1; 1:
//	                     more follows; 0: zero
//	12  time i64
//	20  index/256 uvarint, base-index zigzag varint
//	    more u8          which of these follow, in this order, or are else: 1 attributes u8 (0), 2 term uvarint (1), 4 count uvarint
//	                     (1 of messages, else 0), 8 index-durable uvarint (as bit 2 of the tag says, or nothing is said)
//	    body
//
// What is durable is not repeated in each short head: at most 16 in a row say nothing of it, if there is nothing new.
//
// # Rewritten and missing segments
//
// What is reflected in both kept checkpoints and held by neither is needed by nobody. A sealed segment in which that is
// most is replaced by a file of the same name without it: batches without messages are left out, so that indexes have
// gaps; batches lose dead messages at their beginning and end; between others an empty record keeps the place of one. The
// head of such a file counts more than what an older checkpoint says of the segment. A segment with nothing else in it is
// left out of the checkpoints, and its files go when both do so; segments that lie before the one in which a checkpoint
// ends and are not mentioned by it are left-overs.
//
// # Torn or damaged
//
// A crash leaves batches that were never durable in any state; disks damage those that were. Which one a broken batch
// is, follows from evidence that it had been durable: the durable field of any intact batch or segment head that was
// written later, a checkpoint at or behind it, or the mark. With evidence it is damage: reported, left as it is, and
// everything else in the log stays readable. Without, the log is cut there, and everything behind it, which was not
// durable either, goes too.
//
// With SyncAlways a segment is made durable before the first byte of the next is written, so there is always evidence
// for all but the last. The lazy policies sync a full segment in the background and give evidence from then on.
package segment
