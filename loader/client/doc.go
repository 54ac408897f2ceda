// Package client gives an engine the weights that another process holds: Attach
// connects to the socket of ckpt load --hold, maps the arenas of the ranks that it
// is asked for and checks that they are the right ones; Attachment.Tensor and
// Attachment.Bytes give their contents without a copy.
//
// # Protocol
//
// The socket carries lines of JSON, and descriptors beside the answer:
//
//	client  {"schema":"ckpt.handoff/v1","ranks":[3]}         all ranks without "ranks"
//	holder  {"schema":"ckpt.handoff/v1","manifest_bytes":N,"descriptors":K}
//	        with K descriptors: the manifest, then those that arenas name
//	client  {"commit":"HOLD"}                                once everything is mapped and checked
//	holder  {"committed":true}
//
// or, in place of an answer, {"error":"…"} and the end. From then on the
// connection is the lease: it ends when either side closes it or dies. The
// manifest and the arenas of host memory are sealed memory files, so that neither
// side can change them or take them from under the other.
//
// # Limits
//
// Linux only. Documents are bounded by MaxManifest and MaxLine. Memory of devices
// comes as handles that the engine opens with the runtime of the device.
//
// # Concurrency
//
// An Attachment may be used by several goroutines until it is closed.
package client
