// Package model knows families of models as data: which tensors they have,
// under which names, of which types and shapes, as functions of config.json.
// [Match] finds the profile that fits a checkpoint; [Profile.Instantiate]
// gives a profile the sizes of a config, and [Instance.Bind] ties the names of
// a checkpoint to its families.
//
// # Layout
//
// A profile is a JSON file ("schema": "ckpt.profile/v1"), embedded or the
// user's own. In the order in which its parts may refer to each other:
//
//   - sections: where parts of the config may stand ("text_config" or the top)
//   - fields: values of the config by name, each with bounds
//   - let: numbers computed from them
//   - sets: layers by range or by a list of the config, and partitions of them
//   - require and checks: what holds for every member of the family
//   - families: name patterns over layers {i}, experts {e} and blocks {b}, with
//     dtypes, shapes, roles, split axes and the names that an engine gives them
//   - memory: what layers keep of a sequence, by kind of layer, and what passes
//     through while tokens are computed
//   - release: the official release, by the fields that tell it, with hashes
//
// Sizes are expressions over 64-bit integers: + - *, exact division /, %,
// comparisons, ! && ||, min, max, ceildiv, len and product of a list and at for
// one of its entries.
// Prefixes ({lm} in "{lm}model.norm.weight") are discovered in the names.
//
// The tensors of a family are numbered without gaps, so that a set of them is
// a bitmap and a name is a pattern and three numbers (package names).
//
// A reading ("schema": "ckpt.reading/v1") is a profile without tensors: it
// knows the caches of a family from its config alone ([ReadMemory]).
//
// # Limits
//
// A profile has at most 8 MiB, a config 4 MiB, an instance 50 million tensors
// and 16,384 layers. Every integer of a config has bounds in its profile, and
// what leaves them is a [ConfigProblem] before anything is allocated for it.
//
// # Concurrency
//
// Profiles, configs, instances and bindings are immutable once made and may be
// shared.
package model
