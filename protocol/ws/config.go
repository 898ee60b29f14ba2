package ws

// Config is what the two sides of a connection have agreed on, and the limits of this one.
type Config struct {
	// Client is set on the side that opened the connection: it masks what it sends, and gets nothing masked.
	Client bool
	// NoMasking lets the client's frames be unmasked.
	NoMasking bool
	// Deflate allows compressed messages in both directions, each compressed on its own.
	Deflate bool
	// MaxMessage returns the most bytes that a compressed message of the peer may become. It is asked once per
	// message, and must be there if Deflate is set. Messages that are not compressed need no limit: they are passed on piece by piece.
	MaxMessage func() int64
	// FrameMax bounds the payload of sent frames, in bytes; 0 does not.
	FrameMax int
	// Unsplit exempts compressed messages from FrameMax.
	Unsplit bool
}

const (
	// compressAbove is the size of the largest message that is not compressed.
	compressAbove = 64
	// maxCompressed bounds the compressed bytes of one message, however large it may become.
	maxCompressed = 64 << 20
	// inputFactor bounds the compressed bytes of a message as a multiple of what it may become: padding.
	inputFactor = 8
)
