# `make` lists the verbs. Each sets up what it needs, does nothing twice, and says what it does.

PYTHON ?= python3
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 20
LOWTIDE_WERROR ?= OFF

VENV := .venv
PY := $(VENV)/bin/python

BUILD_PACKAGES := build-essential cmake ninja-build pkg-config liburing-dev libfmt-dev libcli11-dev \
  nlohmann-json3-dev libgtest-dev libgmock-dev libbenchmark-dev python3-venv python3-dev
TEST_PACKAGES := strace
BENCH_PACKAGES := fio
FUZZ_PACKAGES := clang libclang-rt-14-dev

# Folders too, so that a deleted file counts as a change.
SOURCES := CMakeLists.txt pyproject.toml $(shell find cmake include src python \
  -name __pycache__ -prune -o -name '_core.pyi' -o -name '*_test.cpp' -o -name '*_bench.cpp' -o -name '*_fuzz.cpp' \
  -o -print 2>/dev/null)
CPP_FILES = $(shell find include src python -name '*.h' -o -name '*.cpp')
PY_PATHS = $(wildcard python tests examples benchmarks) tools/check_layers tools/torch_without_cuda

VENV_STAMP := $(VENV)/.tools-installed
BUILD_STAMP := $(VENV)/.lowtide-installed
TORCH_VENV := .venv-torch
TORCH_STAMP := $(TORCH_VENV)/.tools-installed
PIP_BUILD := --no-build-isolation --no-deps --config-settings=build-dir=build/py \
  --config-settings=cmake.define.LOWTIDE_WERROR=$(LOWTIDE_WERROR)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
# A step starts only when the one it needs has ended; each uses all cores itself.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup build test test-torch ctest demo bench lint format asan tsan fuzz wheel clean

help:  ## this list
	@echo "usage: make VERB"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

setup:  ## install the system packages that are missing (apt, as root or with sudo)
	@tools/apt_install $(BUILD_PACKAGES)

build: setup $(BUILD_STAMP)  ## .venv with lowtide and its command installed

# Order-only: a newer system package does not make the environment stale.
$(VENV_STAMP): requirements-dev.txt | setup
	@echo "== $(VENV): pinned tools"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --requirement requirements-dev.txt
	@touch $@

$(BUILD_STAMP): $(VENV_STAMP) $(SOURCES)
	@echo "== lowtide: build and install into $(VENV)"
	@$(PY) -m pip install --quiet --force-reinstall $(PIP_BUILD) .
	@touch $@

test: build ctest  ## every C++ and Python test
	@echo "== pytest"
	@if ls tests/test_*.py >/dev/null 2>&1; then $(PY) -m pytest tests; else echo "no Python tests yet"; fi

test-torch: build $(TORCH_STAMP)  ## the tests that need PyTorch, which it installs beside .venv (half a GB to download)
	@echo "== pytest with torch"
	@$(TORCH_VENV)/bin/python -m pytest tests/torch
	@$(TORCH_VENV)/bin/python -m pytest --quiet tests/test_docs.py -k lowtide.torch

# Sees all that is in .venv, lowtide too.
$(TORCH_STAMP): requirements-torch.txt tools/torch_without_cuda | $(VENV_STAMP)
	@echo "== $(TORCH_VENV): torch, without CUDA"
	@test -x $(TORCH_VENV)/bin/python || $(PYTHON) -m venv $(TORCH_VENV)
	@$(TORCH_VENV)/bin/python -m pip install --quiet --no-deps --requirement requirements-torch.txt
	@folder=$$(echo $(CURDIR)/$(TORCH_VENV)/lib/python3.*/site-packages) && \
	  echo $(CURDIR)/$(VENV)/lib/python3.*/site-packages > $$folder/lowtide.pth && \
	  tools/torch_without_cuda $$folder/torch
	@touch $@

ctest: setup
	@tools/apt_install $(TEST_PACKAGES)
	@echo "== C++ tests"
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev
	@ctest --preset dev -j$(JOBS)

demo: build  ## the headline, on real files
	@$(PY) -m examples.demo

bench: build  ## compare with the peers on this machine
	@tools/apt_install $(BENCH_PACKAGES)
	@$(PY) -m benchmarks

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

format: $(VENV_STAMP)  ## rewrite the sources in the project's style
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

wheel: setup $(VENV_STAMP)  ## dist/lowtide-*.whl
	@$(PY) -m pip wheel --quiet $(PIP_BUILD) --wheel-dir dist .
	@ls dist/*.whl

clean:  ## remove all that the other verbs made
	rm -rf build dist $(VENV) $(TORCH_VENV) python/lowtide/_core.pyi .mypy_cache .ruff_cache .pytest_cache .hypothesis
