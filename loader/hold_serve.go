package loader

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"ckpt/internal/unixsock"
	"ckpt/loader/client"
)

// serve speaks with one client until it goes.
func (h *Hold) serve(c *unixsock.Conn) {
	defer h.leave(c)
	pid := c.Peer().PID
	ranks, err := h.handOver(c)
	switch {
	case errors.Is(err, errGone):
		return
	case err != nil:
		h.event(HoldEvent{Refused, pid, ranks, err})
		return
	}
	h.event(HoldEvent{Attached, pid, ranks, nil})
	<-c.Gone()
	h.event(HoldEvent{Left, pid, ranks, nil})
}

// errGone: the client went away without a word, as somebody does who only looks
// whether anyone is there.
var errGone = errors.New("nothing was asked")

// handOver gives a client what it asks for and waits until it has it.
func (h *Hold) handOver(c *unixsock.Conn) (ranks []int, err error) {
	if err := c.SetDeadline(time.Now().Add(askWithin)); err != nil {
		return nil, err
	}
	line, _, err := c.Receive(client.MaxLine, 0)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errGone
		}
		return nil, err
	}
	ask, err := client.ParseRequest(line)
	if err != nil {
		return nil, refuse(c, err)
	}
	ranks, err = h.manifests.choose(ask.Ranks)
	if err != nil {
		return ask.Ranks, refuse(c, err)
	}
	if err := h.answer(c, ranks); err != nil {
		return ranks, err
	}
	if err := c.SetDeadline(time.Now().Add(commitWithin)); err != nil {
		return ranks, err
	}
	line, _, err = c.Receive(client.MaxLine, 0)
	if err != nil {
		return ranks, fmt.Errorf("before it committed: %w", err)
	}
	commit, err := client.ParseCommit(line)
	switch {
	case err != nil:
	case commit.Commit != h.manifests.head.Hold:
		err = fmt.Errorf("%w: commits %.60q, which is not this hold", client.ErrProtocol, commit.Commit)
	case !h.commit(c):
		err = errors.New("the hold ends")
	}
	if err != nil {
		return ranks, refuse(c, err)
	}
	if err := send(c, client.Committed{Committed: true}); err != nil {
		return ranks, err
	}
	return ranks, c.SetDeadline(time.Time{})
}

// refuse tells a client why it gets nothing, and gives that back.
func refuse(c *unixsock.Conn, why error) error {
	if err := send(c, client.Answer{Error: why.Error()}); err != nil {
		return errors.Join(why, err)
	}
	return why
}

func send(c *unixsock.Conn, line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return c.Send(text)
}

// answer sends the manifest and fresh handles of the arenas.
func (h *Hold) answer(c *unixsock.Conn, ranks []int) (err error) {
	handles, err := h.manifests.export(ranks)
	defer func() {
		for _, x := range handles {
			err = errors.Join(err, x.Close())
		}
	}()
	if err != nil {
		return refuse(c, err)
	}
	manifest, size, err := h.manifests.write(ranks, handles)
	if err != nil {
		return refuse(c, err)
	}
	defer func() { err = errors.Join(err, manifest.Close()) }()
	files := []*os.File{manifest}
	for _, x := range handles {
		if x.File != nil {
			files = append(files, x.File)
		}
	}
	text, err := json.Marshal(client.Answer{Schema: client.Schema, ManifestBytes: size, Descriptors: len(files)})
	if err != nil {
		return err
	}
	return c.Send(text, files...)
}
