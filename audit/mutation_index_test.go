package audit

import "strings"

// indexMutations spoil the index.
func indexMutations() []mutation {
	const (
		norm   = "language_model.model.layers.2.input_layernorm.weight"
		packed = "language_model.model.layers.2.block_sparse_moe.experts.0.w1.weight_packed"
	)
	index := []string{"index"}
	reindex := func(change func(k *kit, x *indexDoc)) func(k *kit) {
		return func(k *kit) { k.reindex(func(x *indexDoc) { change(k, x) }) }
	}
	text := func(old, with string) func(k *kit) { return func(k *kit) { k.replace(indexName, old, with) } }
	escape := func(to string) func(k *kit) {
		return reindex(func(k *kit, x *indexDoc) { x.find(k, norm).file = to })
	}
	return []mutation{
		{name: "index cut", do: func(k *kit) { k.edit(indexName, func(b []byte) []byte { return b[:len(b)/2] }) },
			want: []string{"IX001 error index"}, refetch: index},
		{name: "index empty", do: func(k *kit) { k.text(indexName, "") }, want: []string{"FS012 error index"}, refetch: index},
		{name: "index a git lfs pointer", do: func(k *kit) { k.text(indexName, lfsText) }, want: []string{"FS005 error index"}, refetch: index},
		{name: "index a web page", do: func(k *kit) { k.text(indexName, "<html><body>503</body></html>") }, want: []string{"FS006 error index"}, refetch: index},
		{name: "index a list", do: func(k *kit) { k.text(indexName, `["model-00001-of-000011.safetensors"]`) }, want: []string{"IX001 error index"}, refetch: index},
		{name: "index without a weight map", do: text("weight_map", "weight-map"), want: []string{"IX001 error index"}, refetch: index},
		{name: "index not UTF-8", do: text("\"weight_map\"", "\"x\xff\": 1, \"weight_map\""), want: []string{"IX001 error index"}, refetch: index},
		{name: "index with a value that is no string", do: reindex(func(k *kit, x *indexDoc) {
			x.text = func(s string) string {
				return strings.Replace(s, `"`+norm+`": "`+shard(3)+`"`, `"`+norm+`": 3`, 1)
			}
		}), want: []string{"IX001 error index L2.input_layernorm.weight"}, refetch: index},
		{name: "total_size no number", do: reindex(func(k *kit, x *indexDoc) { x.total = `"many"` }), want: []string{"IX001 error index"}, refetch: index},
		{name: "duplicate name in the index", do: reindex(func(k *kit, x *indexDoc) { x.pairs = append(x.pairs, pair{norm, shard(3)}) }),
			want: []string{"IX002 error index L2.input_layernorm.weight"}, refetch: index},
		{name: "duplicate name in the index with another file first", do: reindex(func(k *kit, x *indexDoc) {
			x.pairs = append([]pair{{norm, shard(4)}}, x.pairs...)
		}), want: []string{"IX002 error index L2.input_layernorm.weight"}, refetch: index},
		{name: "two weight maps", do: text("\"weight_map\"", "\"weight_map\": {}, \"weight_map\""), want: []string{"IX002 error index"}, refetch: index},
		{name: "index names a tensor that no shard has", do: reindex(func(k *kit, x *indexDoc) {
			x.pairs = append(x.pairs, pair{"language_model.model.layers.2.extra.weight", shard(3)})
		}), want: []string{"IX003 error #3 L2.extra.weight"}, refetch: []string{"#3"}},
		{name: "tensor renamed in its shard", do: func(k *kit) {
			k.rehead(shard(3), func(h *header) { h.find(k, norm).name = "renamed" })
		}, want: []string{"IX003 error #3 L2.input_layernorm.weight", "IX004 error #3 renamed"}, refetch: []string{"#3"}},
		{name: "tensor taken out of its shard", do: func(k *kit) { k.rewrite(shard(3), func(b *body) { b.take(norm) }) },
			want: []string{"IX003 error #3 L2.input_layernorm.weight"}, refetch: []string{"#3"}},
		{name: "index names another shard", do: reindex(func(k *kit, x *indexDoc) { x.find(k, norm).file = shard(5) }),
			want: []string{"IX003 error #5 L2.input_layernorm.weight"}, says: []string{"it is in " + shard(3)}},
		{name: "index lacks a tensor", do: reindex(func(k *kit, x *indexDoc) { x.drop(norm) }),
			want: []string{"IX004 error #3 L2.input_layernorm.weight"}},
		{name: "index lacks a packed tensor", do: reindex(func(k *kit, x *indexDoc) { x.drop(packed) }),
			want: []string{"IX004 error #3 L2.E0.w1.weight_packed"}},
		{name: "tensor in two shards", do: func(k *kit) {
			var p piece
			k.rewrite(shard(3), func(b *body) { p = *b.find(norm) })
			k.rewrite(shard(4), func(b *body) { b.tensors = append(b.tensors, p) })
		}, want: []string{"IX005 error #4 L2.input_layernorm.weight"}},
		{name: "wrong total_size", do: reindex(func(k *kit, x *indexDoc) { x.add(k, 1) }),
			want: []string{"IX006 error index"}, refetch: index, says: []string{"29,960,641", "29,960,640"}},
		{name: "total_size counts headers", do: reindex(func(k *kit, x *indexDoc) { x.total = "30083640" }),
			want: []string{"IX006 error index"}, refetch: index},
		{name: "total_size as a float", do: reindex(func(k *kit, x *indexDoc) { x.total += ".0" })},
		{name: "index without total_size", do: reindex(func(k *kit, x *indexDoc) {
			x.text = func(s string) string { return strings.Replace(s, "total_size", "total_sice", 1) }
		})},
		{name: "index in another order with other fields", do: reindex(func(k *kit, x *indexDoc) {
			for i, j := 0, len(x.pairs)-1; i < j; i, j = i+1, j-1 {
				x.pairs[i], x.pairs[j] = x.pairs[j], x.pairs[i]
			}
			x.text = func(s string) string { return strings.Replace(s, "{", `{"made_by": ["somebody", {"a": 1.5}],`, 1) }
		})},
		{name: "no index", do: func(k *kit) { k.remove(indexName) }, want: []string{"IX008 info"}},
		{name: "no index and a number missing", do: func(k *kit) { k.remove(indexName, shard(7)) },
			want: []string{"IX007 error #7", "IX008 info"}, refetch: []string{"#7"}, says: []string{"number 7 of 11"}},
		{name: "weight map leaves the directory", do: escape("../../etc/passwd"),
			want: []string{"FS010 error ../../etc/passwd"}},
		{name: "weight map leaves the directory by a plain parent", do: escape(".."), want: []string{"FS010 error .."}},
		{name: "weight map is absolute", do: escape("/etc/passwd"), want: []string{"FS010 error /etc/passwd"}},
		{name: "weight map with back-slashes", do: escape(`..\..\secret`), want: []string{`FS010 error ..\..\secret`}},
		{name: "weight map leaves the directory at level metadata", do: escape("../../etc/passwd"), opts: Options{Level: LevelMetadata},
			want: []string{"FS010 error ../../etc/passwd"}},
		{name: "index names a shard that does not exist", do: reindex(func(k *kit, x *indexDoc) { x.find(k, norm).file = "other.safetensors" }),
			want: []string{"FS002 error other.safetensors"}, refetch: []string{"other.safetensors"}},
		{name: "metadata level without shards", opts: Options{Level: LevelMetadata}, do: func(k *kit) {
			for n := 1; n <= shards; n++ {
				k.remove(shard(n))
			}
		}},
		{name: "metadata level with a duplicate name", opts: Options{Level: LevelMetadata},
			do:   reindex(func(k *kit, x *indexDoc) { x.pairs = append(x.pairs, pair{norm, shard(3)}) }),
			want: []string{"IX002 error index L2.input_layernorm.weight"}, refetch: index},
		{name: "metadata level with a name too few", opts: Options{Level: LevelMetadata}, do: reindex(func(k *kit, x *indexDoc) { x.drop(norm) }),
			want: []string{"MD001 error L2.input_layernorm.weight"}},
		{name: "metadata level with a name too many", opts: Options{Level: LevelMetadata},
			do:   reindex(func(k *kit, x *indexDoc) { x.pairs = append(x.pairs, pair{"stranger", shard(3)}) }),
			want: []string{"MD002 error #3 stranger"}},
		{name: "metadata level with a scale too few", opts: Options{Level: LevelMetadata},
			do:   reindex(func(k *kit, x *indexDoc) { x.drop(strings.Replace(packed, "packed", "scale", 1)) }),
			want: []string{"QT001 error #3 L2.E0.w1.weight_packed"}, refetch: []string{"#3"}},
	}
}
