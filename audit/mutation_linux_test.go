package audit

import (
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// systemMutations put in the place of files what only a system like Linux has.
func systemMutations() []mutation {
	const blob = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
	return []mutation{
		{name: "FIFO in place of a shard", do: func(k *kit) { k.fifo(shard(3)) }, want: []string{"FS015 error #3"}, refetch: []string{"#3"}, says: []string{"FIFO"}},
		{name: "FIFO in place of the index", do: func(k *kit) { k.fifo(indexName) }, want: []string{"FS015 error index"}},
		{name: "FIFO in place of the config", do: func(k *kit) { k.fifo("config.json") },
			gone: []string{"SE001", "CF005"}, add: []string{"CF005 warning x6 chat_template.jinja"}, want: []string{"FS015 error config.json"}},
		{name: "FIFO that no index names", do: func(k *kit) { k.fifo("extra.safetensors") }, want: []string{"FS015 error extra.safetensors"}},
		{name: "link to a FIFO", do: func(k *kit) { k.fifo("pipe"); k.link("pipe", shard(3)) }, want: []string{"FS015 error #3"}, refetch: []string{"#3"}},
		{name: "FIFO in place of a companion", do: func(k *kit) { k.fifo("generation_config.json") },
			gone: []string{"CF005"}, add: []string{"CF005 warning x6 chat_template.jinja"},
			want: []string{"FS015 error generation_config.json"}, refetch: []string{"generation_config.json"}},
		{name: "socket in place of a shard", do: func(k *kit) { k.socket(shard(3)) }, want: []string{"FS015 error #3"}, refetch: []string{"#3"}, says: []string{"socket"}},
		{name: "device in place of a shard", do: func(k *kit) { k.link("/dev/zero", shard(3)) }, want: []string{"FS015 error #3"}, refetch: []string{"#3"}, says: []string{"device"}},
		{name: "dangling link in place of a shard", do: func(k *kit) { k.link("gone", shard(3)) },
			want: []string{"FS009 error #3"}, refetch: []string{"#3"}, says: []string{"leads to gone"}},
		{name: "dangling link that no index names", do: func(k *kit) { k.link("gone", "extra.safetensors") },
			want: []string{"FS009 error extra.safetensors"}},
		{name: "dangling link in place of the config", do: func(k *kit) { k.link("gone", "config.json") },
			gone: []string{"SE001", "CF005"}, add: []string{"CF005 warning x6 chat_template.jinja"},
			want: []string{"FS009 error config.json"}, refetch: []string{"config.json"}},
		{name: "dangling link in place of the index", do: func(k *kit) { k.link("gone", indexName) },
			want: []string{"FS009 error index"}, refetch: []string{"index"}},
		{name: "dangling link in place of a companion", do: func(k *kit) { k.link("gone", "chat_template.jinja") },
			gone: []string{"CF005"}, add: []string{"CF005 warning x6 configuration_kimi_k3.py"},
			want: []string{"FS009 error chat_template.jinja"}, refetch: []string{"chat_template.jinja"}},
		{name: "links in a circle", do: func(k *kit) { k.link(shard(4), shard(3)); k.link(shard(3), shard(4)) },
			want: []string{"FS009 error x2 #3"}, refetch: []string{"#3", "#4"}},
		{name: "link to a file outside", do: func(k *kit) {
			k.outside(shard(3), "elsewhere.safetensors")
		}, want: []string{"FS020 info #3"}, says: []string{"elsewhere.safetensors"}},
		{name: "link to a file of the directory", do: func(k *kit) { k.rename(shard(3), "store"); k.link("store", shard(3)) }},
		{name: "hub blobs", do: func(k *kit) { k.hub(shard(3), blob) }},
		{name: "hub blob that is gone", do: func(k *kit) { k.hub(shard(3), blob); k.remove("../../blobs/" + blob) },
			want: []string{"FS009 error #3"}, refetch: []string{"#3"}, says: []string{"blobs/" + blob}},
		{name: "hub blob that is a link into a shared store", do: func(k *kit) {
			k.hub(shard(3), blob)
			store := filepath.Join(k.TB.TempDir(), "store")
			k.check(os.Rename(k.path("../../blobs/"+blob), store))
			k.check(os.Symlink(store, k.path("../../blobs/"+blob)))
		}},
		{name: "hole in a shard", do: func(k *kit) { k.remove("ckpt-synth.json"); k.punch(shard(3), 1<<20, 1<<20) },
			want: []string{"FS018 warning #3"}, says: []string{"1,048,576 of", "tensors"}},
		{name: "holes over half a shard", do: func(k *kit) { k.remove("ckpt-synth.json"); k.punch(shard(3), 1<<20, 2<<20) },
			want: []string{"FS018 error #3"}, refetch: []string{"#3"}},
		{name: "hole in a checkpoint of synth", do: func(k *kit) { k.punch(shard(3), 1<<20, 2<<20) },
			want: []string{"FS018 info #3"}},
		{name: "hole where the header should be", do: func(k *kit) { k.remove("ckpt-synth.json"); k.punch(shard(3), 0, 1<<20) },
			want: []string{"FS019 error #3", "ST005 error #3"}, refetch: []string{"#3"}},
	}
}

func (k *kit) fifo(name string) {
	k.Helper()
	k.remove(name)
	k.check(unix.Mkfifo(k.path(name), 0o644))
}

// socket binds one in the directory. A path of a test is longer than an
// address may be, so a link to the directory shortens it.
func (k *kit) socket(name string) {
	k.Helper()
	k.remove(name)
	short, err := os.MkdirTemp("", "s")
	k.check(err)
	k.Cleanup(func() { os.RemoveAll(short) })
	k.check(os.Symlink(k.dir, filepath.Join(short, "d")))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "d", name), Net: "unix"})
	k.check(err)
	k.Cleanup(func() { l.Close() })
}

// outside moves a file out of the directory and links to it.
func (k *kit) outside(name, as string) {
	k.Helper()
	to := filepath.Join(k.TB.TempDir(), as)
	k.check(os.Rename(k.path(name), to))
	k.link(to, name)
}

// hub makes the directory a snapshot of the hub cache with one file among the
// blobs.
func (k *kit) hub(name, blob string) {
	k.Helper()
	repo := filepath.Join(k.TB.TempDir(), "models--org--name")
	rev := filepath.Join(repo, "snapshots", "0123456789abcdef0123456789abcdef01234567")
	k.check(os.MkdirAll(filepath.Join(repo, "blobs"), 0o755))
	k.check(os.MkdirAll(filepath.Dir(rev), 0o755))
	k.check(os.Rename(k.dir, rev))
	k.dir = rev
	k.rename(name, "../../blobs/"+blob)
	k.link("../../blobs/"+blob, name)
}

// punch gives a copy of a file a hole.
func (k *kit) punch(name string, off, n int64) {
	k.Helper()
	k.write(name, k.read(name))
	f, err := os.OpenFile(k.path(name), os.O_RDWR, 0)
	k.check(err)
	defer f.Close()
	k.check(f.Sync())
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n); err != nil {
		skip(k.TB, "this file system makes no holes: %v", err)
	}
}
