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
