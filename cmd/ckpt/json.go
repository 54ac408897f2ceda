package main

import (
	"bytes"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// jsonForm is how documents look: indented, and the same every time.
func jsonForm() []json.Options {
	return []json.Options{jsontext.WithIndent("  "), json.Deterministic(true)}
}

// writeJSON writes one document with a line feed behind it.
func writeJSON(w io.Writer, doc any) error {
	return json.MarshalEncode(jsontext.NewEncoder(w, jsonForm()...), doc)
}

// writeDocument writes one document: the fields of head, and a list that may
// be long and is never in memory as a whole.
func writeDocument[T any](w io.Writer, head any, name string, list iter.Seq[T]) error {
	fields, err := json.Marshal(head)
	if err != nil {
		return err
	}
	e := jsontext.NewEncoder(w, jsonForm()...)
	d := jsontext.NewDecoder(bytes.NewReader(fields))
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := e.WriteToken(token); err != nil {
			return err
		}
	}
	if err := writeTokens(e, jsontext.String(name), jsontext.BeginArray); err != nil {
		return err
	}
	for item := range list {
		if err := json.MarshalEncode(e, item); err != nil {
			return err
		}
	}
	return writeTokens(e, jsontext.EndArray, jsontext.EndObject)
}

func writeTokens(e *jsontext.Encoder, tokens ...jsontext.Token) error {
	for _, t := range tokens {
		if err := e.WriteToken(t); err != nil {
			return err
		}
	}
	return nil
}
