package names

// Cache is one goroutine's way into a Table: it remembers the patterns it has
// met, so that the table's lock is taken once a pattern and not once a name.
type Cache struct {
	table *Table
	known map[string]uint32
	buf   []byte
}

// NewCache returns an empty cache of t.
func (t *Table) NewCache() *Cache {
	return &Cache{table: t, known: map[string]uint32{}}
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
	id, ok := c.known[string(text)]
	if !ok {
		id = c.table.intern(text, slots)
		if len(c.known) < maxCached {
			c.known[string(text)] = id
		}
	}
	return Key{id, n}
}
