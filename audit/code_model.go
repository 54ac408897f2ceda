package audit

const fetchConfig = "hf download REPO config.json --local-dir DIR --force-download"

func configCodes() []Code {
	return []Code{
		{
			ID: "CF001", Severity: Error, Level: LevelMetadata, Format: FormatSafetensors,
			Title:       "config.json missing",
			Cause:       "Only the weights were downloaded or copied.",
			Consequence: "No engine knows what the tensors make up, and the audit cannot compare them with a profile.",
			Cure:        "Fetch config.json at the revision of the weights.",
			Command:     fetchConfig,
		},
		{
			ID: "CF002", Severity: Error, Level: LevelMetadata, Format: FormatSafetensors,
			Title:       "config.json invalid, or a number in it out of bounds",
			Cause:       "The file is cut off, was edited by hand, names a field twice, or holds a count that no model can have (negative, or beyond every bound).",
			Consequence: "Engines fail at start, or size their memory by the number and fail later.",
			Cure:        "Fetch config.json again. If it was edited on purpose, mend the named field.",
			Command:     fetchConfig,
		},
		{
			ID: "CF003", Severity: Error, Level: LevelMetadata, Format: FormatSafetensors,
			Title: "config differs from the profile", Detail: " (field, expected, actual)",
			Cause:       "The config belongs to another model or revision, was edited, or the profile that was asked for is not this model's.",
			Consequence: "An engine builds another model than the one that was trained: it stops at a shape that does not fit or, where only a constant differs, answers with fluent nonsense.",
			Cure:        "Fetch config.json again. If the change is intended, audit without the profile or with one of your own.",
			Command:     fetchConfig + "; ckpt audit --profile none DIR",
		},
		{
			ID: "CF004", Severity: Warning, Level: LevelMetadata, Format: FormatSafetensors,
			Title: "quantization_config contradicts the tensors", Detail: " (what the profile records as the release's own, as K3's ignore list, is none)",
			Cause:       "The config promises scales that were never written, names as unquantized what is packed, or leaves a plain layer out of its ignore list. A converter wrote one and not the other.",
			Consequence: "Engines take the config's word: they wait for scales that are not there, or decode plain weights as packed ones.",
			Cure:        "Fetch config.json at the revision of the weights. If you converted them, have the converter write quantization_config again.",
			Command:     fetchConfig,
		},
		{
			ID: "CF005", Severity: Warning, Level: LevelMetadata, Format: FormatSafetensors,
			Title: "companion file missing", Detail: " (tokenizer, generation config, code)",
			Cause:       "Only weights and config were downloaded or copied.",
			Consequence: "The weights can be loaded; serving text needs the tokenizer, and without generation_config.json the sampling defaults are the engine's.",
			Cure:        "Fetch everything but the weights.",
			Command:     "hf download REPO --exclude '*.safetensors' --local-dir DIR",
		},
		{
			ID: "CF006", Severity: Info, Level: LevelMetadata, Format: FormatSafetensors,
			Title:       "config.json is not the official file",
			Cause:       "The sizes are those of the official release and the bytes are not: the file was edited, formatted anew, or comes from another revision.",
			Consequence: "None on its own: what matters to the model is compared field by field (CF003).",
			Cure:        "Nothing needs to be done. To have the official file, fetch it again.",
			Command:     "sha256sum DIR/config.json; " + fetchConfig,
		},
		{
			ID: "CF007", Severity: Warning, Level: LevelMetadata, Format: FormatSafetensors,
			Title:       "tie_word_embeddings contradicts the tensors",
			Detail:      ": head missing though untied, or both present though tied (level values compares their bytes); a head that the profile demands is MD001",
			Cause:       "An exporter dropped the head because it took it for a copy of the embedding, wrote both although one is a copy, or relied on a default of tie_word_embeddings that has changed since.",
			Consequence: "Head missing though untied: the output layer keeps random values. Both though tied: one of them is ignored, and if they differ the engine's choice decides what the model says.",
			Cure:        "State tie_word_embeddings in config.json as the weights have it; the finding says which default was assumed.",
			Command:     "ckpt ls DIR --tensor '*lm_head*' --tensor '*embed_tokens*' --all",
		},
	}
}

func quantCodes() []Code {
	return []Code{
		{
			ID: "QT001", Severity: Error, Level: LevelMetadata, Format: FormatSafetensors,
			Title:       "packed tensor without its scale",
			Cause:       "A converter wrote the codes and not their scales, or under a name that nothing pairs with them.",
			Consequence: "The codes cannot be decoded. Engines that go on leave the scales at 1 or at random values: garbage with green health.",
			Cure:        "Fetch the shard that should hold the scale. If it never did, convert again.",
			Command:     "ckpt ls DIR --tensor 'NAME*' --all; " + fetchAgain,
		},
		{
			ID: "QT002", Severity: Error, Level: LevelMetadata, Format: FormatSafetensors,
			Title:       "scale without its packed tensor",
			Cause:       "The packed tensor was dropped, renamed or stored unpacked while its scale stayed.",
			Consequence: "A weight is missing, or an engine applies the scale to a tensor that is not packed.",
			Cure:        "Fetch the shard that should hold the packed tensor. If it never did, convert again.",
			Command:     "ckpt ls DIR --tensor 'NAME*' --all; " + fetchAgain,
		},
		{
			ID: "QT003", Severity: Error, Level: LevelHeaders, Format: FormatSafetensors,
			Title:       "scale shape does not fit",
			Cause:       "The scales were made for another block size (K/16 in place of K/32), another axis, or a tensor of other dimensions.",
			Consequence: "Every block gets the scale of another one: fluent nonsense, or a crash in the kernel.",
			Cure:        "Fetch both tensors' shards at one revision, or convert again. MX formats have one scale for 32 values along the row.",
			Command:     "ckpt ls DIR --tensor 'NAME*' --all",
		},
		{
			ID: "QT004", Severity: Error, Level: LevelHeaders, Format: FormatSafetensors,
			Title:       "scale dtype unexpected",
			Cause:       "The scales are of a type that the packing does not use: E4M3 or BF16 where the format has E8M0 exponents stored as U8 or F8_E8M0.",
			Consequence: "Read as what they are not, scales are off by orders of magnitude: exponents read as plain numbers gave weights 450,000 times too large.",
			Cure:        "Fetch the shard again, or convert again with the scheme that the config names.",
			Command:     "ckpt ls DIR --tensor 'NAME*' --all",
		},
		{
			ID: "QT005", Severity: Error, Level: LevelValues, Format: FormatSafetensors,
			Title:       "scale 255 (NaN)",
			Cause:       "The quantizer met a NaN or an infinity, or divided by a zero maximum; 255 is the only E8M0 code that is no number.",
			Consequence: "All 32 values of the block are NaN, and so is every output of the layer.",
			Cure:        "Fetch the file again. If it comes the same, the source of the conversion has values that are not finite.",
			Command:     fetchAgain,
		},
		{
			ID: "QT006", Severity: Warning, Level: LevelValues, Format: FormatSafetensors,
			Title:       "scale magnitudes implausible",
			Cause:       "The scales of a tensor lie far from those of its family: wrong bytes, another encoding, or scales of another tensor.",
			Consequence: "The layer's weights are far too large or too small.",
			Cure:        "Compare with the same tensor of a neighbouring layer. Fetch the file again if it stands out.",
			Command:     fetchAgain,
		},
	}
}

func modelCodes() []Code {
	return []Code{
		{
			ID: "MD001", Severity: Error, Level: LevelMetadata,
			Title:       "tensor of the profile missing",
			Cause:       "An exporter left out layers, heads or whole shards and rebuilt an index that is consistent with what was left; or the config has more layers than the weights.",
			Consequence: "The parameter keeps random values in engines that do not insist on it.",
			Cure:        "Fetch the index and the shards again. If the checkpoint was cut on purpose, its config has to say so.",
			Command:     "ckpt ls DIR; hf download REPO --local-dir DIR",
		},
		{
			ID: "MD002", Severity: Error, Level: LevelMetadata,
			Title:       "tensor the profile does not know",
			Cause:       "The checkpoint belongs to a variant of the family, carries training state or an adapter, or a converter renamed tensors.",
			Consequence: "Engines ignore it or refuse the checkpoint; a renamed tensor is also missing under its right name.",
			Cure:        "Compare the name with those of MD001: a pair is a renaming. For a variant, give a profile of its own.",
			Command:     "ckpt ls DIR; ckpt audit --profile FILE DIR",
		},
		{
			ID: "MD003", Severity: Error, Level: LevelHeaders,
			Title:       "shape differs from the profile",
			Cause:       "The weights were split, fused, transposed or padded for an engine, or belong to a model of another size than the config says.",
			Consequence: "Engines refuse the tensor or, where only the order of the dimensions differs, compute nonsense.",
			Cure:        "Fetch the file again. If it comes the same, the config and the weights are of different models.",
			Command:     fetchAgain,
		},
		{
			ID: "MD004", Severity: Error, Level: LevelHeaders,
			Title:       "dtype differs from the profile",
			Cause:       "A converter changed the type (F32 routing biases saved as BF16, packed U8 taken for FP8).",
			Consequence: "Precision that the model needs is lost, or bytes are read as another type.",
			Cure:        "Fetch the file again. If you converted the checkpoint, keep this family's type.",
			Command:     fetchAgain,
		},
		{
			ID: "MD005", Severity: Error, Level: LevelMetadata,
			Title:       "experts of a layer incomplete",
			Cause:       "An export with expert parallelism saved one rank's experts, a merge lost some, or the config counts more experts than the layer has.",
			Consequence: "Tokens that are routed to an absent expert get random or no output.",
			Cure:        "Fetch the layer's shard again. If you exported it, gather all ranks before saving.",
			Command:     fetchAgain,
		},
		{
			ID: "MD006", Severity: Warning, Level: LevelHeaders,
			Title:       "experts of a layer not one contiguous region",
			Cause:       "The experts of one layer are spread over the file or over several files, where the release keeps them in one run.",
			Consequence: "The values are right. Loading takes many small reads in place of few large ones.",
			Cure:        "Nothing needs to be done for correctness. The official files have one region a layer.",
			Command:     "ckpt ls FILE --all --sort offset",
		},
		{
			ID: "MD007", Severity: Error, Level: LevelMetadata,
			Title: "totals differ from the profile", Detail: " (tensors, bytes, shards)",
			Cause:       "Tensors, bytes or files are more or fewer than the release has. It follows from other findings, or the set is of another revision.",
			Consequence: "This is not the release that its config claims to be.",
			Cure:        "Mend the other findings first. If this one is left alone, fetch the index and look for a newer revision.",
			Command:     "hf download REPO --local-dir DIR",
		},
		{
			ID: "MD008", Severity: Info, Level: LevelMetadata,
			Title:       "header or index is not byte-identical to the official one",
			Cause:       "The file was saved again by another tool, or comes from another revision: names, shapes and types agree and the bytes of the header do not.",
			Consequence: "None on its own. Whether the weights are the official ones is then open until their hashes are compared.",
			Cure:        "Nothing needs to be done. To have the official file, fetch it again.",
			Command:     fetchAgain,
		},
		{
			ID: "MD009", Severity: Error, Level: LevelValues,
			Title: "padding that must be zero is not", Detail: " (A_log tail; level values)",
			Cause:       "A_log has one value a head and zeros behind them; here the tail holds values: it was trimmed after the split instead of before, saved with another layout, or the file is damaged.",
			Consequence: "Engines that take the first heads' values take the wrong ones.",
			Cure:        "Fetch the file again. If you converted it, keep A_log as it was stored.",
			Command:     "ckpt cat DIR TENSOR --format text; " + fetchAgain,
		},
	}
}
