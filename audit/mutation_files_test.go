package audit

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"
)

const lfsText = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 16990911504\n"

func zipped(name string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.Create("archive/" + name)
	f.Write(bytes.Repeat([]byte("\x80\x02}q\x00."), 100))
	w.Close()
	return b.Bytes()
}

// fileMutations spoil the contents of weight files.
func fileMutations() []mutation {
	const html = "<!DOCTYPE html>\n<html><head><title>503 Service Unavailable</title></head><body></body></html>\n"
	return []mutation{
		{name: "missing shard", do: func(k *kit) { k.remove(shard(3)) },
			want: []string{"FS002 error #3"}, refetch: []string{"#3"}},
		{name: "three missing shards", do: func(k *kit) { k.remove(shard(2), shard(3), shard(9)) },
			want: []string{"FS002 error x3 #2"}, refetch: []string{"#2", "#3", "#9"}},
		{name: "shard cut by 100 bytes", do: func(k *kit) { k.edit(shard(3), func(b []byte) []byte { return b[:len(b)-100] }) },
			want:    []string{"FS003 error #3 L2.E9.w3.weight_scale"},
			refetch: []string{"#3"}, says: []string{"ends 100 bytes early"}},
		{name: "shard cut in the middle", do: func(k *kit) { k.edit(shard(3), func(b []byte) []byte { return b[:len(b)/2] }) },
			want: []string{"FS003 error #3 L2.self_attn.o_proj.weight"}, refetch: []string{"#3"}},
		{name: "shard cut behind its header", do: func(k *kit) {
			k.edit(shard(3), func(b []byte) []byte { return b[:8+binary.LittleEndian.Uint64(b)] })
		}, want: []string{"FS003 error #3 L2.block_sparse_moe.gate.e_score_correction_bias"}, refetch: []string{"#3"}},
		{name: "shard cut in its header", do: func(k *kit) { k.edit(shard(3), func(b []byte) []byte { return b[:1000] }) },
			want: []string{"ST002 error #3"}, refetch: []string{"#3"}},
		{name: "shard cut in its length", do: func(k *kit) { k.edit(shard(3), func(b []byte) []byte { return b[:5] }) },
			want: []string{"ST001 error #3"}, refetch: []string{"#3"}},
		{name: "bytes after the last tensor", do: func(k *kit) { k.edit(shard(3), func(b []byte) []byte { return append(b, "sixteen bytes..."...) }) },
			want: []string{"FS004 error #3"}, refetch: []string{"#3"}, says: []string{"16 bytes follow"}},
		{name: "git lfs pointer", do: func(k *kit) { k.text(shard(4), lfsText) },
			want: []string{"FS005 error #4"}, refetch: []string{"#4"},
			says: []string{"sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393", "16990911504"}},
		{name: "every shard a git lfs pointer", do: func(k *kit) {
			for n := 1; n <= shards; n++ {
				k.text(shard(n), lfsText)
			}
		}, want: []string{"FS005 error x11 #1"}, refetch: []string{"#1", "#2", "#3", "#4", "#5", "#6", "#7", "#8", "#9", "#10", "#11"}},
		{name: "web page", do: func(k *kit) { k.text(shard(4), html) },
			want: []string{"FS006 error #4"}, refetch: []string{"#4"}, says: []string{"a web page"}},
		{name: "error message in JSON", do: func(k *kit) { k.text(shard(4), `{"error":"Repository not found"}`) },
			want: []string{"FS006 error #4"}, refetch: []string{"#4"}, says: []string{"Repository not found"}},
		{name: "error message in words", do: func(k *kit) { k.text(shard(4), "Entry not found") },
			want: []string{"FS006 error #4"}, refetch: []string{"#4"}, says: []string{"Entry not found"}},
		{name: "zip", do: func(k *kit) { k.write(shard(4), zipped("data.pkl")) },
			want: []string{"FS007 error #4"}, refetch: []string{"#4"}, says: []string{"zip"}},
		{name: "GGUF", do: func(k *kit) { k.text(shard(4), "GGUF\x03\x00\x00\x00"+strings.Repeat("\x00", 64)) },
			want: []string{"FS007 error #4"}, refetch: []string{"#4"}, says: []string{"GGUF"}},
		{name: "gzip", do: func(k *kit) { k.text(shard(4), "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"+strings.Repeat("x", 64)) },
			want: []string{"FS007 error #4"}, refetch: []string{"#4"}, says: []string{"gzip"}},
		{name: "pickle", do: func(k *kit) { k.text(shard(4), "\x80\x02}q\x00(X\x05\x00\x00\x00helloq\x01K\x01u.") },
			want: []string{"FS007 error #4"}, refetch: []string{"#4"}, says: []string{"pickle"}},
		{name: "empty file", do: func(k *kit) { k.text(shard(4), "") },
			want: []string{"FS012 error #4"}, refetch: []string{"#4"}},
		{name: "file of zero bytes", do: func(k *kit) { k.edit(shard(4), func(b []byte) []byte { clear(b); return b }) },
			want: []string{"FS019 error #4", "ST005 error #4"}, refetch: []string{"#4"}},
		{name: "first block of zero bytes", do: func(k *kit) { k.edit(shard(4), func(b []byte) []byte { clear(b[:4096]); return b }) },
			want: []string{"FS019 error #4", "ST005 error #4"}, refetch: []string{"#4"}, says: []string{"the rest of the file may be good"}},
		{name: "a length of zero alone", do: func(k *kit) { k.edit(shard(4), func(b []byte) []byte { clear(b[:8]); return b }) },
			want: []string{"ST005 error #4"}, refetch: []string{"#4"}},
		{name: "two shards swapped", do: func(k *kit) {
			k.rename(shard(10), "x")
			k.rename(shard(11), shard(10))
			k.rename("x", shard(11))
		}, want: []string{"IX003 error x18 #10 mm_projector.post_norm.weight"}},
		{name: "one shard in the place of another", do: func(k *kit) { k.write(shard(3), k.read(shard(2))) },
			want:    []string{"IX003 error x124 #3 L2.E0.w1.weight_packed", "IX005 error x124 #3 L1.E0.w1.weight_packed"},
			refetch: []string{"#3"}},
	}
}

// directoryMutations change what lies beside and around the weight files.
func directoryMutations() []mutation {
	return []mutation{
		{name: "no such path", path: "missing", do: func(k *kit) {}, gone: []string{"CF005", "SE001"},
			want: []string{"FS001 error"}, says: []string{"nothing at this path"}},
		{name: "empty directory", path: "sub", do: func(k *kit) { k.dirs("sub") }, gone: []string{"CF005", "SE001"},
			want: []string{"FS001 error"}, says: []string{"holds no safetensors files"}},
		{name: "directory of other things", path: "sub", do: func(k *kit) { k.dirs("sub"); k.text("sub/notes.txt", "hello") },
			gone: []string{"CF005", "SE001"}, want: []string{"FS001 error"}},
		{name: "partial download in place", do: func(k *kit) { k.rename(shard(3), shard(3)+".incomplete") },
			want: []string{"FS008 error #3"}, refetch: []string{"#3"}, says: []string{".incomplete"}},
		{name: "browser download in place", do: func(k *kit) { k.rename(shard(3), shard(3)+".crdownload") },
			want: []string{"FS008 error #3"}, refetch: []string{"#3"}},
		{name: "partial download beside the set", do: func(k *kit) { k.text(shard(3)+".incomplete", "x") },
			want: []string{"FS008 warning " + shard(3) + ".incomplete"}},
		{name: "partial download of a companion", do: func(k *kit) { k.text("tokenizer.json.part", "x") },
			want: []string{"FS008 warning tokenizer.json.part"}},
		{name: "partial download in the cache of the client", do: func(k *kit) {
			k.dirs(".cache/huggingface/download")
			k.text(".cache/huggingface/download/abc.incomplete", "x")
		}, want: []string{"FS008 warning .cache/huggingface/download/abc.incomplete"}},
		{name: "download in the cache of the client has not ended", do: func(k *kit) {
			k.dirs(".cache/huggingface/download")
			k.text(".cache/huggingface/download/abc.incomplete", "x")
			k.remove(shard(5))
		}, want: []string{"FS002 error #5", "FS008 error .cache/huggingface/download/abc.incomplete"}, refetch: []string{"#5"}},
		{name: "aria2 control file beside a whole shard", do: func(k *kit) { k.text(shard(3)+".aria2", "\x00\x01") },
			want: []string{"FS008 warning " + shard(3) + ".aria2"}},
		{name: "aria2 control file beside a cut shard", do: func(k *kit) {
			k.text(shard(3)+".aria2", "\x00\x01")
			k.edit(shard(3), func(b []byte) []byte { return b[:len(b)-100] })
		}, want: []string{"FS003 error #3 L2.E9.w3.weight_scale", "FS008 error " + shard(3) + ".aria2"}, refetch: []string{"#3"}},
		{name: "extra weight file", do: func(k *kit) { k.write("extra.safetensors", k.read(shard(10))) },
			want: []string{"FS013 warning extra.safetensors"}},
		{name: "extra weight file that is empty", do: func(k *kit) { k.text("extra.safetensors", "") },
			want: []string{"FS012 error extra.safetensors"}},
		{name: "case twins", do: func(k *kit) { k.text("readme.md", "a"); k.text("README.md", "b") },
			want: []string{"FS014 warning readme.md"}},
		{name: "case twin of a shard", do: func(k *kit) { k.write(strings.ToUpper(shard(10)[:1])+shard(10)[1:], k.read(shard(10))) },
			want: []string{"FS013 warning Model-00010-of-000011.safetensors", "FS014 warning #10"}},
		{name: "directory in place of a shard", do: func(k *kit) { k.remove(shard(3)); k.dirs(shard(3)) },
			want: []string{"FS015 error #3"}, refetch: []string{"#3"}, says: []string{"directory"}},
		{name: "pickle beside the weights", do: func(k *kit) { k.write("pytorch_model.bin", zipped("data.pkl")) },
			want: []string{"SE002 warning pytorch_model.bin"}},
		{name: "code without auto_map", do: func(k *kit) {
			k.edit("config.json", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"auto_map"`), []byte(`"old_map"`)) })
			k.text("modeling_kimi_k3.py", "import os\n")
		}, gone: []string{"SE001", "CF005"}, want: []string{"SE001 info modeling_kimi_k3.py"}, add: []string{"CF005 warning x5 chat_template.jinja"}},
		{name: "all companions", do: func(k *kit) {
			for _, name := range []string{"chat_template.jinja", "configuration_kimi_k3.py", "generation_config.json", "modeling_kimi_k3.py",
				"modeling_kimi_linear.py", "preprocessor_config.json", "tiktoken.model", "tokenizer_config.json", "tokenization_kimi.py"} {
				k.text(name, "{}")
			}
		}, gone: []string{"CF005"}},
	}
}

// dirs makes a directory and those above it.
func (k *kit) dirs(name string) { k.Helper(); k.check(mkdirAll(filepath.Join(k.dir, name))) }
