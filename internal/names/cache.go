package names

// Cache is one goroutine's way into a Table: it remembers the patterns it has
// met, so that the table's lock is taken once a pattern and not once a name.
// Files repeat their patterns in order, expert after expert, so it first tries
// the pattern that followed the last one before.
type Cache struct {
	table *Table
	known map[string]int // of local
	local []follower
	last  int // of local
	buf   []byte
}

// follower is a pattern that was met, and the one that came after it.
type follower struct {
	text string
	id   uint32
	next int // of local
}

// NewCache returns an empty cache of t.
func (t *Table) NewCache() *Cache {
	return &Cache{table: t, known: map[string]int{}, local: []follower{{}}}
}

// maxCached bounds what a cache remembers: a file whose names share no pattern
// would otherwise be kept twice.
const maxCached = 1 << 12

// Intern is Table.Intern.
func (c *Cache) Intern(name []byte) Key {
	text, n, slots := Split(c.buf[:0], name)
	c.buf = text
	if slots == 0 {
		return Key{c.table.intern(text, 0), n}
	}
	if next := c.local[c.last].next; next != 0 && c.local[next].text == string(text) {
		c.last = next
		return Key{c.local[next].id, n}
	}
	return Key{c.find(text, slots), n}
}

// find is the pattern of text, by name; it learns what follows what.
func (c *Cache) find(text []byte, slots int) uint32 {
	at, ok := c.known[string(text)]
	if !ok {
		id := c.table.intern(text, slots)
		if len(c.local) > maxCached {
			return id
		}
		at = len(c.local)
		c.local = append(c.local, follower{text: string(text), id: id})
		c.known[c.local[at].text] = at
	}
	c.local[c.last].next = at
	c.last = at
	return c.local[at].id
}
