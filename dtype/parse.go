package dtype

// Parse finds a safetensors dtype by its exact name, case included.
func Parse(name string) (Type, bool) {
	t := bySafetensors(name)
	return t, t != Invalid
}

// ParseBytes is Parse without the copy.
func ParseBytes(name []byte) (Type, bool) {
	t := bySafetensors(string(name)) // the compiler does not allocate here: the string does not escape
	return t, t != Invalid
}

// ParseGGML finds a GGML type by its exact name.
func ParseGGML(name string) (Type, bool) {
	for t := Invalid + 1; t < numTypes; t++ {
		if table[t].ggml >= 0 && table[t].name == name {
			return t, true
		}
	}
	return Invalid, false
}

// FromGGML finds a type by its GGML number. Unknown numbers and the removed
// ones (4, 5, 31–33, 36–38) are not found: forks reuse 40 and above, so a
// number is never guessed.
func FromGGML(n uint32) (Type, bool) {
	for t := Invalid + 1; t < numTypes; t++ {
		if g := table[t].ggml; g >= 0 && uint32(g) == n {
			return t, true
		}
	}
	return Invalid, false
}

// RemovedGGML says whether n is the number of a type that GGML once had.
func RemovedGGML(n uint32) bool {
	switch n {
	case 4, 5, 31, 32, 33, 36, 37, 38:
		return true
	}
	return false
}

func bySafetensors(name string) Type {
	switch name {
	case "BOOL":
		return BOOL
	case "F4":
		return F4
	case "F6_E2M3":
		return F6_E2M3
	case "F6_E3M2":
		return F6_E3M2
	case "U8":
		return U8
	case "I8":
		return I8
	case "F8_E5M2":
		return F8_E5M2
	case "F8_E4M3":
		return F8_E4M3
	case "F8_E8M0":
		return F8_E8M0
	case "F8_E4M3FNUZ":
		return F8_E4M3FNUZ
	case "F8_E5M2FNUZ":
		return F8_E5M2FNUZ
	case "I16":
		return I16
	case "U16":
		return U16
	case "F16":
		return F16
	case "BF16":
		return BF16
	case "I32":
		return I32
	case "U32":
		return U32
	case "F32":
		return F32
	case "C64":
		return C64
	case "F64":
		return F64
	case "I64":
		return I64
	case "U64":
		return U64
	}
	return Invalid
}
