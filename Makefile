# The few verbs people expect; .ci/run is the whole of CI.
.PHONY: all build test race fuzz lint docs bench interop ci clean

all: build test

build: ## one binary in bin/; TAGS=nogpu makes it fully static, without devices
	CGO_ENABLED=0 go build -trimpath -tags "$(TAGS)" -o bin/ckpt ./cmd/ckpt

test:
	go test ./...

race:
	CGO_ENABLED=1 go test -race -short ./...

fuzz: ## every fuzz target for a moment; CKPT_FUZZ_BUDGET=600 for longer
	.ci/run fuzz

lint:
	.ci/run format vet lint

docs: ## what is generated: the table of audit codes
	go generate ./...

bench:
	scripts/bench/audit

interop: ## against the official Python package
	interop/run

ci:
	.ci/run

clean:
	rm -rf bin
