# `make` lists the verbs. Each sets up what it needs, does nothing twice, and says what it does.

PYTHON ?= python3
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 20
EXAMPLES ?= 20
LOWTIDE_WERROR ?= OFF

VENV := .venv
PY := $(VENV)/bin/python

BUILD_PACKAGES := build-essential cmake ninja-build pkg-config liburing-dev libfmt-dev libcli11-dev \
  nlohmann-json3-dev libxsimd-dev python3-venv python3-dev
TEST_PACKAGES := ccache libgtest-dev libgmock-dev libbenchmark-dev strace btrfs-progs squashfs-tools erofs-utils
BENCH_PACKAGES := fio
FUZZ_PACKAGES := clang libclang-rt-14-dev

# Folders too, so that a deleted file counts as a change.
SOURCES := CMakeLists.txt pyproject.toml $(shell find cmake include src python \
  -name __pycache__ -prune -o -name '_core.pyi' -o -name '*_test.cpp' -o -name '*_bench.cpp' -o -name '*_fuzz.cpp' \
  -o -print 2>/dev/null)
CPP_FILES = $(shell find include src python -name '*.h' -o -name '*.cpp')
PY_PATHS = $(wildcard python tests examples benchmarks) tools/check_layers tools/torch_without_cuda

VENV_STAMP := $(VENV)/.build-tools-installed
DEV_STAMP := $(VENV)/.tools-installed
BUILD_STAMP := $(VENV)/.lowtide-installed
TORCH_VENV := .venv-torch
TORCH_STAMP := $(TORCH_VENV)/.tools-installed
CLIENTS_VENV := .venv-clients
CLIENTS_STAMP := $(CLIENTS_VENV)/.tools-installed
# Tests that start, limit, measure or interrupt processes want the machine for themselves; the others share it.
ALONE := tests/memory tests/faults
PARALLEL_PYTEST := -n $(JOBS) --dist worksteal $(ALONE:%=--ignore=%) --ignore=tests/torch --ignore=tests/clients
PIP_BUILD := --no-build-isolation --no-deps \
  --config-settings=cmake.define.LOWTIDE_WERROR=$(LOWTIDE_WERROR)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
# Compiled objects are shared by builds and clones, wherever these are. Looked up late: setup installs it.
export CMAKE_CXX_COMPILER_LAUNCHER = $(shell command -v ccache)
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
# A step starts only when the one it needs has ended; each uses all cores itself.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup build-packages build test test-full test-torch test-clients test-array-api ctest demo bench doctor-matrix stress lint format asan tsan fuzz wheel clean

help:  ## this list
	@echo "usage: make VERB"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

setup:  ## install the system packages that are missing (apt, as root or with sudo)
	@tools/apt_install $(BUILD_PACKAGES) $(TEST_PACKAGES)

build-packages:
	@tools/apt_install $(BUILD_PACKAGES)

build: setup $(DEV_STAMP) $(BUILD_STAMP)  ## .venv with lowtide and its command installed

# Order-only: a newer system package does not make the environment stale.
$(VENV_STAMP): requirements-build.txt | build-packages
	@echo "== $(VENV): what builds and runs lowtide"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --requirement requirements-build.txt
	@touch $@

$(DEV_STAMP): requirements-dev.txt $(VENV_STAMP) | setup
	@echo "== $(VENV): tools for tests and style"
	@$(PY) -m pip install --quiet --requirement requirements-dev.txt
	@touch $@

$(BUILD_STAMP): $(VENV_STAMP) $(SOURCES)
	@echo "== lowtide: build and install into $(VENV)"
	@tools/show_build build/install.log $(PY) -m pip install --verbose --force-reinstall $(PIP_BUILD) \
	  --config-settings=build-dir=build/py .
	@touch $@

test: build ctest  ## C++ and Python tests; left out: the rest of the matrices (test-full), torch, other programs (test-clients)
	@echo "== pytest, $(JOBS) at a time"
	@$(PY) -m pytest $(PARALLEL_PYTEST) tests
	@echo "== pytest, one after the other: $(ALONE)"
	@$(PY) -m pytest $(ALONE)

test-full:  ## as test, with every case of the matrices of memory and kill tests
	@LOWTIDE_FULL=1 $(MAKE) --no-print-directory test

test-torch: build $(TORCH_STAMP)  ## the tests that need PyTorch, which it installs beside .venv (half a GB to download)
	@echo "== pytest with torch"
	@$(TORCH_VENV)/bin/python -m pytest tests/torch
	@$(TORCH_VENV)/bin/python -m pytest --quiet tests/test_docs.py -k lowtide.torch

test-clients: test-torch $(CLIENTS_STAMP)  ## Dask, scikit-learn, xarray, zarr and others, in an environment of their own; test-torch too
	@echo "== pytest with the programs of others"
	@$(CLIENTS_VENV)/bin/python -m pytest tests/clients

test-array-api: build  ## the array API's own suite, from the folder that ARRAY_API_TESTS names (a clone of data-apis/array-api-tests)
	@test -d "$(ARRAY_API_TESTS)/array_api_tests" || { echo "set ARRAY_API_TESTS to the folder of a clone:" \
	  "git clone --recurse-submodules https://github.com/data-apis/array-api-tests"; exit 2; }
	@$(PY) -m pip install --quiet --requirement requirements-array-api.txt
	@cd "$(ARRAY_API_TESTS)" && ARRAY_API_TESTS_MODULE=lowtide ARRAY_API_TESTS_VERSION=2025.12 PYTHONDONTWRITEBYTECODE=1 \
	  $(CURDIR)/$(PY) -m pytest array_api_tests --quiet -p no:cacheprovider --disable-deadline --max-examples $(EXAMPLES) \
	  --skips-file $(CURDIR)/tests/array_api/skips.txt --xfails-file $(CURDIR)/tests/array_api/xfails.txt

# An environment that sees all that is in .venv, lowtide too, and what a file of requirements adds to it.
define beside_venv
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	@$(1)/bin/python -m pip install --quiet --no-deps --requirement $(2)
	@echo $(CURDIR)/$(VENV)/lib/python3.*/site-packages > $$(echo $(1)/lib/python3.*/site-packages)/lowtide.pth
endef

$(TORCH_STAMP): requirements-torch.txt tools/torch_without_cuda | $(DEV_STAMP)
	@echo "== $(TORCH_VENV): torch, without CUDA"
	$(call beside_venv,$(TORCH_VENV),requirements-torch.txt)
	@tools/torch_without_cuda $(TORCH_VENV)/lib/python3.*/site-packages/torch
	@touch $@

$(CLIENTS_STAMP): requirements-clients.txt | $(DEV_STAMP)
	@echo "== $(CLIENTS_VENV): the programs of others"
	$(call beside_venv,$(CLIENTS_VENV),requirements-clients.txt)
	@touch $@

ctest: setup
	@echo "== C++ tests"
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev
	@ctest --preset dev -j$(JOBS)

demo: build-packages $(BUILD_STAMP)  ## the headline, on real files
	@$(PY) -m examples.demo

bench: build  ## compare with the peers on this machine
	@tools/apt_install $(BENCH_PACKAGES)
	@$(PY) -m benchmarks

doctor-matrix: build  ## every scenario of the doctor's corpus, three times, as a confusion matrix
	@$(PY) -m tests.doctor.matrix

stress: build  ## eight threads, forks and Ctrl-C under a small budget, for ten minutes
	@$(PY) -m tests.stress --seconds 300 --budget 16MiB
	@$(PY) -m tests.stress --seconds 300 --budget 64MiB

lint: build  ## formatting, types, layers
	@echo "== clang-format"
	@$(VENV)/bin/clang-format --dry-run -Werror $(CPP_FILES)
	@echo "== ruff"
	@$(VENV)/bin/ruff check $(PY_PATHS)
	@$(VENV)/bin/ruff format --check $(PY_PATHS)
	@echo "== mypy"
	@cp -u $(VENV)/lib/python3*/site-packages/lowtide/_core.pyi python/lowtide/_core.pyi
	@$(VENV)/bin/mypy
	@echo "== layers"
	@tools/check_layers

format: $(DEV_STAMP)  ## rewrite the sources in the project's style
	@$(VENV)/bin/clang-format -i $(CPP_FILES)
	@$(VENV)/bin/ruff check --fix --quiet $(PY_PATHS)
	@$(VENV)/bin/ruff format $(PY_PATHS)

asan: setup  ## C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan
	@ctest --preset asan -j$(JOBS)

# Without address randomisation: gcc 12's runtime cannot place its shadow where newer kernels put the stack.
tsan: setup  ## C++ tests under ThreadSanitizer
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan
	@setarch --addr-no-randomize ctest --preset tsan -j$(JOBS)

fuzz: setup  ## each fuzz target for FUZZ_SECONDS, from fuzz/corpus; new inputs and findings go to build/fuzz
	@tools/apt_install $(FUZZ_PACKAGES)
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz
	@tools/run_fuzz build/fuzz $(FUZZ_SECONDS)

wheel: build-packages $(VENV_STAMP)  ## dist/lowtide-*.whl, which needs no library of the system's; checked in a clean environment
	@tools/show_build build/wheel.log $(PY) -m pip wheel --verbose $(PIP_BUILD) --wheel-dir dist \
	  --config-settings=build-dir=build/wheel --config-settings=cmake.define.LOWTIDE_STATIC=ON .
	@tools/check_wheel dist/lowtide-*-$$($(PY) -c 'import sys; print("cp%d%d" % sys.version_info[:2])')-*.whl

clean:  ## remove all that the other verbs made
	rm -rf build dist $(VENV) $(TORCH_VENV) $(CLIENTS_VENV) python/lowtide/_core.pyi .mypy_cache .ruff_cache .pytest_cache .hypothesis
