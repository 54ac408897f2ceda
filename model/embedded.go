package model

import (
	"embed"
	"fmt"
	"sync"
)

//go:embed profiles/*.json
var profileFiles embed.FS

// embedded lists the profiles of this build, the most particular first: where
// two fit equally well, the earlier one is taken. Each is parsed once, when it
// is first asked for.
var embedded = []embeddedProfile{
	lazily("kimi-k3"),
	lazily("kimi-linear"),
	lazily("kimi-linear-mxfp4"),
	lazily("llama"),
}

type embeddedProfile struct {
	name string
	load func() *Profile
}

// lazily gives a profile that is read when it is first needed. One that does
// not parse is a fault of this build, which a test finds.
func lazily(name string) embeddedProfile {
	return embeddedProfile{name, sync.OnceValue(func() *Profile {
		data, err := profileFiles.ReadFile("profiles/" + name + ".json")
		if err == nil {
			var p *Profile
			if p, err = ParseProfile(data); err == nil {
				return p
			}
		}
		panic(fmt.Sprintf("embedded profile %s: %v", name, err))
	})}
}

// Embedded gives the profiles of this build.
func Embedded() []*Profile {
	profiles := make([]*Profile, len(embedded))
	for i, e := range embedded {
		profiles[i] = e.load()
	}
	return profiles
}

// Names gives the names of the embedded profiles without parsing them.
func Names() []string {
	list := make([]string, len(embedded))
	for i, e := range embedded {
		list[i] = e.name
	}
	return list
}

// Named gives an embedded profile by its name.
func Named(name string) (*Profile, bool) {
	for _, e := range embedded {
		if e.name == name {
			return e.load(), true
		}
	}
	return nil, false
}
