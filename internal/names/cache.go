package names

// Cache is one goroutine's way into a Table. It remembers the patterns it has
// met, so that the table's lock is taken once a pattern and not once a name, and
// what came after what: files repeat their patterns expert after expert, so most
// names have the numbers of the one before and a tail that can be foretold.
type Cache struct {
	table    *Table
	known    map[string]int // of local, by text
	local    []local
	prefixes map[string]int // texts up to the last number
	last     int            // of local
	name     []byte         // the last name
	n        [Slots]uint32  // its numbers
	tail     int            // where it goes on behind its last number
	buf      []byte
}

// local is a pattern that was met.
type local struct {
	text   string
	id     uint32
	prefix int    // of Cache.prefixes
	tail   string // what follows the last number
	next   int    // of local: the pattern that came after this one
}

// NewCache returns an empty cache of t.
func (t *Table) NewCache() *Cache {
	return &Cache{table: t, known: map[string]int{}, prefixes: map[string]int{}, local: []local{{}}}
}

// maxCached bounds what a cache remembers: a file whose names share no pattern
// would otherwise be kept twice.
const maxCached = 1 << 12

// Intern is Table.Intern.
func (c *Cache) Intern(name []byte) Key {
	if id, ok := c.foretold(name); ok {
		return Key{id, c.n}
	}
	text, n, slots := Split(c.buf[:0], name)
	c.buf = text
	if slots == 0 {
		return Key{c.table.intern(text, 0), n}
	}
	id, at := c.find(text, slots)
	if at == 0 {
		return Key{id, n}
	}
	c.local[c.last].next = at
	c.last, c.n = at, n
	c.name = append(c.name[:0], name...)
	c.tail = len(name) - len(c.local[at].tail)
	return Key{id, n}
}

// foretold says whether name is the last one with another tail: the tail of the
// pattern that followed before. A pattern's tail has no number that would have
// to be taken out, so the same bytes split the same way.
func (c *Cache) foretold(name []byte) (uint32, bool) {
	next := c.local[c.last].next
	p := &c.local[next]
	if next == 0 || p.prefix != c.local[c.last].prefix || len(name) != c.tail+len(p.tail) ||
		string(name[:c.tail]) != string(c.name[:c.tail]) || string(name[c.tail:]) != p.tail {
		return 0, false
	}
	c.last = next
	return p.id, true
}

// find is the pattern of text by name; at is 0 where it is not remembered.
func (c *Cache) find(text []byte, slots int) (id uint32, at int) {
	if at, ok := c.known[string(text)]; ok {
		return c.local[at].id, at
	}
	id = c.table.intern(text, slots)
	if len(c.local) > maxCached {
		return id, 0
	}
	p := local{text: string(text), id: id}
	mark := lastMark(text)
	p.tail = p.text[mark+1:]
	prefix, ok := c.prefixes[p.text[:mark+1]]
	if !ok {
		prefix = len(c.prefixes)
		c.prefixes[p.text[:mark+1]] = prefix
	}
	p.prefix = prefix
	at = len(c.local)
	c.local = append(c.local, p)
	c.known[p.text] = at
	return id, at
}

func lastMark(text []byte) int {
	at := len(text) - 1
	for at >= 0 && text[at] != Mark {
		at--
	}
	return at
}
