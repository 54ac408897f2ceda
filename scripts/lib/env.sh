# Shared by .ci/run, interop/run, interop/quant/run and scripts/bench/*: where
# things outside the checkout are kept, and how the pinned tools get there.
# Sourced by bash.

CACHE=${CKPT_CI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ckpt-ci}
GOLANGCI_VERSION=v2.15.0

export GOTOOLCHAIN=local
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin

# golangci prints the path of the pinned linter. It is built once for each
# version of the linter and of Go, outside of the module: none of its
# dependencies become ours.
golangci() {
	local dir
	dir=$CACHE/golangci-lint-$GOLANGCI_VERSION-$(go env GOVERSION)
	if [ ! -x "$dir/golangci-lint" ]; then
		mkdir -p "$dir"
		GOBIN=$dir go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$GOLANGCI_VERSION" \
			2> >(grep -v '^go: downloading' >&2)
	fi
	echo "$dir/golangci-lint"
}

# python_env FILE prints the Python of a virtual environment that holds the
# requirements of FILE. It is named by the hash of that file and marked when it
# is complete, so a broken installation is made anew.
python_env() {
	local requirements=$1 key dir
	key=$( (cat "$requirements"; python3 --version) | sha256sum | cut -c1-16)
	dir=$CACHE/venv-$key
	if [ ! -e "$dir/complete" ]; then
		mkdir -p "$CACHE"
		rm -rf "$dir"
		python3 -m venv "$dir" >&2
		"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: -r "$requirements" >&2
		touch "$dir/complete"
	fi
	echo "$dir/bin/python"
}

# device_runtimes installs what runs devices without their hardware, where it is
# missing and apt-get may: PoCL, an OpenCL device on the processor, and the
# runtime of HIP, which answers that there is no device.
device_runtimes() {
	local libraries
	libraries=$(ldconfig -p)
	if grep -q libOpenCL <<<"$libraries" && grep -q libamdhip64 <<<"$libraries" && ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1; then
		return
	fi
	local apt="timeout 600 apt-get -qq -o DPkg::Lock::Timeout=120"
	{ $apt update && DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends ocl-icd-libopencl1 pocl-opencl-icd libamdhip64-5; } \
		>/dev/null 2>&1 || echo "no device runtimes: apt-get could not install them" >&2
}

LLAMA_VERSION=0.3.36 # of llama-cpp-python, which carries llama.cpp 0c1e57098

# ggml_build NAME "FLAGS" FILE ... prints the path of NAME: the files and ggml's
# quantizers, from the source distribution of llama-cpp-python, made by gcc with
# these flags. The sources are fetched once, and NAME is built once for each
# compiler, flags and content of the files.
ggml_build() {
	local name=$1 flags=$2 source=$CACHE/llama-cpp-python-$LLAMA_VERSION dir
	shift 2
	if [ ! -e "$source/complete" ]; then
		rm -rf "$source"
		mkdir -p "$source"
		python3 -m pip download --quiet --disable-pip-version-check --no-deps \
			--no-binary llama-cpp-python "llama-cpp-python==$LLAMA_VERSION" -d "$source" >&2
		tar -xzf "$source"/llama_cpp_python-*.tar.gz -C "$source" --strip-components=1 --wildcards '*/vendor/llama.cpp/ggml/*'
		rm "$source"/llama_cpp_python-*.tar.gz
		touch "$source/complete"
	fi
	dir=$CACHE/ggml-$( (cat "$@"; gcc --version | head -n 1; echo "$LLAMA_VERSION $name $flags") | sha256sum | cut -c1-16)
	if [ ! -e "$dir/complete" ]; then
		rm -rf "$dir"
		mkdir -p "$dir"
		# shellcheck disable=SC2086
		gcc $flags -I"$source/vendor/llama.cpp/ggml/include" -I"$source/vendor/llama.cpp/ggml/src" -o "$dir/$name" \
			"$source/vendor/llama.cpp/ggml/src/ggml-quants.c" "$@" -lm >&2
		touch "$dir/complete"
	fi
	echo "$dir/$name"
}
