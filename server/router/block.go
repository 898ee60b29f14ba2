package router

import (
	"math/bits"
	"sync"
)

// Block is a pooled piece of memory: a read buffer or a chunk of outgoing frames. Its length is a power of two. A
// block has one owner, who may give it away and who finally releases it.
type Block struct{ B []byte }

const (
	maxPooled = 20 // blocks above 1 MiB are left to the garbage collector
	minPooled = 9  // smaller ones are not worth a class
)

var blockPools [maxPooled + 1]sync.Pool // by the logarithm of the size; shared by all servers of a process

// NewBlock returns a block of at least n bytes. Its contents are undefined.
func NewBlock(n int) *Block {
	class := max(bits.Len(uint(n-1)), minPooled)
	if class <= maxPooled {
		if bl, _ := blockPools[class].Get().(*Block); bl != nil {
			return bl
		}
	}
	return &Block{B: make([]byte, 1<<class)}
}

// Release gives the block back. Nobody may use it afterwards.
func (bl *Block) Release() {
	if class := bits.Len(uint(len(bl.B) - 1)); class <= maxPooled {
		blockPools[class].Put(bl)
	}
}
