package audit

var valueCodes = []Code{
	{
		ID: "VA001", Severity: Error, Level: LevelValues,
		Title:       "NaN",
		Cause:       "The training diverged, a converter divided by zero, or bytes were damaged; a wrong type read over good bytes shows NaN as well.",
		Consequence: "Everything computed from the value is NaN: the model answers with one token for ever, or with nothing.",
		Cure:        "Fetch the file again. If it comes the same, convert again from a source that is finite.",
		Command:     fetchAgain,
	},
	{
		ID: "VA002", Severity: Error, Level: LevelValues,
		Title:       "Inf",
		Cause:       "A value overflowed its type when it was converted (F32 or BF16 to F16, anything to FP8), or bytes were damaged.",
		Consequence: "Products with it are infinite or NaN.",
		Cure:        "Fetch the file again. If you converted it, use a type with the range (BF16) or saturate on purpose.",
		Command:     fetchAgain,
	},
	{
		ID: "VA003", Severity: Error, Level: LevelValues,
		Title:       "tensor all zero",
		Cause:       "The data was never written: a hole, a failed copy, a tool that wrote through a link or saved over the file it was reading.",
		Consequence: "The layer gives nothing, and no loader complains.",
		Cure:        "Fetch the file again.",
		Command:     fetchAgain,
	},
	{
		ID: "VA004", Severity: Warning, Level: LevelValues,
		Title:       "tensor constant",
		Cause:       "All elements have one value: a parameter that was initialised and never trained or loaded, or a fill pattern.",
		Consequence: "Harmless for some norms and biases; a projection that is constant carries no information.",
		Cure:        "Compare with the same tensor of a neighbouring layer. Fetch the file again if only this one is constant.",
		Command:     "ckpt cat DIR TENSOR --format text; " + fetchAgain,
	},
	{
		ID: "VA005", Severity: Warning, Level: LevelValues,
		Title:       "magnitude implausible for its role",
		Cause:       "The values are far larger or smaller than such a tensor ever has: a wrong type, a lost scale, swapped bytes, or packed codes read as numbers.",
		Consequence: "The model's output is likely wrong.",
		Cure:        "Compare with the same tensor of a neighbouring layer. Fetch the file again if it stands out; if you converted it, look at its scales.",
		Command:     fetchAgain,
	},
}

var hashCodes = []Code{
	{
		ID: "HS001", Severity: Error, Level: LevelHash,
		Title:       "hash differs from the reference",
		Cause:       "The file's SHA-256 is not that of the release, the manifest or the blob's name: the disk or the transfer changed it, a tool edited it, or it is of another revision.",
		Consequence: "These are not the bytes that were published, even where every other check passes.",
		Cure:        "Fetch the file again. If files that were good go bad on one disk, replace the disk.",
		Command:     "sha256sum FILE; " + fetchAgain,
	},
	{
		ID: "HS002", Severity: Info, Level: LevelHash,
		Title:       "no reference hash to compare with",
		Cause:       "No profile knows this release, there is no manifest, and the file is no blob of the hub's cache.",
		Consequence: "Nothing can be said about the file's integrity, so that an audit at level hash is incomplete.",
		Cure:        "Keep the hashes of a copy that you trust and compare with those, or audit a copy in the hub's cache.",
		Command:     "sha256sum DIR/*.safetensors",
	},
}
