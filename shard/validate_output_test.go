package shard

import (
	"bytes"
	"errors"
	"testing"
)

// A plan whose moves are right and whose outputs are described falsely is
// refused: consumers shape tensors by what it says.
func TestReadRefusesFalseDescriptions(t *testing.T) {
	c, m := openAt(t, mini(t), "auto")
	for _, topology := range []Topology{{TP: 2}, {TP: 4, EP: 2, PP: 2}} {
		p := planOf(t, c, m, topology, Options{})
		for name, lie := range map[string]func(o *Output) bool{
			"an axis below none":       func(o *Output) bool { o.Axis = -2; return true },
			"an axis beyond the shape": func(o *Output) bool { o.Axis = len(o.Shape); return true },
			"the other axis": func(o *Output) bool {
				if o.Axis < 0 || len(o.Shape) < 2 || o.Stack > 0 {
					return false
				}
				o.Axis = (o.Axis + 1) % len(o.Shape)
				return true
			},
			"no axis": func(o *Output) bool {
				split := o.Axis >= 0 && (o.Axis > 0 || o.Stack == 0) && o.Shape[o.Axis] != o.Global[o.Axis]
				o.Axis = whole
				return split && topology.EP < 2
			},
			"fewer global axes":    func(o *Output) bool { o.Global = o.Global[1:]; return true },
			"more global axes":     func(o *Output) bool { o.Global = append([]uint64{1}, o.Global...); return true },
			"a larger global axis": func(o *Output) bool { o.Global[max(o.Axis, 0)] *= 2; return true },
			"an empty global axis": func(o *Output) bool { o.Global[0] = 0; return true },
			"a huge global axis":   func(o *Output) bool { o.Global[len(o.Global)-1] = 1 << 63; return true },
			"a transform":          func(o *Output) bool { o.Transform = "exp"; return true },
		} {
			told := 0
			for i := range p.Program.Templates {
				for k := range p.Program.Templates[i].Outputs {
					q := clone(t, p)
					if !lie(&q.Program.Templates[i].Outputs[k]) {
						continue
					}
					told++
					var b bytes.Buffer
					if err := q.Write(&b, false); err != nil {
						t.Fatal(err)
					}
					if _, err := Read(&b); !errors.Is(err, ErrFormat) {
						t.Errorf("%v, %s: template %d, output %+v: %v", topology, name, i, q.Program.Templates[i].Outputs[k], err)
					}
					if q.Prove().OK() {
						t.Errorf("%v, %s: template %d is proven", topology, name, i)
					}
				}
			}
			if told == 0 && (name != "no axis" || topology.EP < 2) {
				t.Errorf("%v: there is no place for %s", topology, name)
			}
		}
	}
}
