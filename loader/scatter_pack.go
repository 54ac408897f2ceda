package loader

import "time"

// packer is the second slot: rows are packed into it, and copied from there as
// one run. It has two halves; one is filled while the other is on its way.
type packer struct {
	halves [2][]byte
	events [2][]Event
	half   int
	used   int
}

// room gives n bytes, which stay as they are until the copies from them are
// done. n is at most half of what the packer has.
func (p *packer) room(s *scatterer, n int) ([]byte, error) {
	if p.used+n > len(p.halves[p.half]) {
		for d := range s.queues {
			e, err := s.queues[d].Record()
			if err != nil {
				return nil, err
			}
			p.events[p.half] = append(p.events[p.half], e)
		}
		p.half, p.used = 1-p.half, 0
		if err := await(p.events[p.half]); err != nil {
			return nil, err
		}
		p.events[p.half] = p.events[p.half][:0]
	}
	dst := p.halves[p.half][p.used : p.used+n]
	p.used += (n + 63) &^ 63
	return dst, nil
}

// close waits for what is under way.
func (p *packer) close() error {
	if p == nil {
		return nil
	}
	for _, list := range p.events {
		if err := await(list); err != nil {
			return err
		}
	}
	return nil
}

// pollPause is how long a worker that has nothing else to do sleeps between two
// looks at an event.
const pollPause = 20 * time.Microsecond

func await(list []Event) error {
	for _, e := range list {
		for {
			done, err := e.Done()
			if err != nil {
				return err
			}
			if done {
				break
			}
			time.Sleep(pollPause)
		}
	}
	return nil
}

// packRows puts the rows of a rectangle one behind the other.
func packRows(dst []byte, r Rect) {
	src := r.Src
	switch r.Run {
	case 1:
		for i := range r.Rows {
			dst[i] = src[i*r.Stride]
		}
	case 2:
		for i := range r.Rows {
			*(*[2]byte)(dst[2*i:]) = [2]byte(src[i*r.Stride:])
		}
	case 4:
		for i := range r.Rows {
			*(*[4]byte)(dst[4*i:]) = [4]byte(src[i*r.Stride:])
		}
	case 6:
		for i := range r.Rows {
			*(*[6]byte)(dst[6*i:]) = [6]byte(src[i*r.Stride:])
		}
	case 8:
		for i := range r.Rows {
			*(*[8]byte)(dst[8*i:]) = [8]byte(src[i*r.Stride:])
		}
	case 16:
		for i := range r.Rows {
			*(*[16]byte)(dst[16*i:]) = [16]byte(src[i*r.Stride:])
		}
	case 32:
		for i := range r.Rows {
			*(*[32]byte)(dst[32*i:]) = [32]byte(src[i*r.Stride:])
		}
	default:
		for i := range r.Rows {
			copy(dst[i*r.Run:(i+1)*r.Run], src[i*r.Stride:])
		}
	}
}
