# Thin front of CMake and Ninja. PREFIX and DESTDIR are honoured by install and uninstall.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
.DEFAULT_GOAL := all

BUILD ?= build
PREFIX ?= /usr/local
export DESTDIR

RUN_TESTS = tools/run_tests.sh $(BUILD)

.PHONY: all setup demo check check-long check-gpu bench figures coverage install uninstall format lint docs reliability

all: $(BUILD)/build.ninja
	@cmake --build $(BUILD)

# Set-up is called only where a tool or library is missing.
$(BUILD)/build.ninja: CMakeLists.txt
	@tools/configure.sh $(BUILD) $(CMAKE_FLAGS)

setup:
	@tools/setup.sh all

demo:
	@tools/demo.sh --announce $(BUILD)
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target polyad_command
	@tools/demo.sh $(BUILD)

check:
	@tools/setup.sh check || echo "polyad: testing with what is here" >&2
	@tools/configure.sh $(BUILD) $(CMAKE_FLAGS)
	@cmake --build $(BUILD)
	@$(RUN_TESTS) -LE 'gpu|long'

check-long:
	@tools/setup.sh all || echo "polyad: testing with what is here" >&2
	@tools/configure.sh $(BUILD) $(CMAKE_FLAGS)
	@cmake --build $(BUILD)
	@tools/run_long.sh $(if $(LONG_SECONDS),--seconds $(LONG_SECONDS)) $(BUILD)

check-gpu: all
	@$(RUN_TESTS) -L gpu

# The papers' figures from what was measured (bench/paper_figures/measure.py makes the archive).
FIGURES_FROM ?= bench/results/h200/figures.json
figures:
	@python3 bench/paper_figures/draw.py $(FIGURES_FROM) $(BUILD)/figures --results bench/results

bench: all
	@bench/run.sh $(BUILD)

coverage:
	@tools/coverage.sh build-coverage

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

uninstall:
	@cmake -D MANIFEST=$(BUILD)/install_manifest.txt -P cmake/uninstall.cmake

format:
	@tools/sources.sh | xargs clang-format -i

lint: all
	@tools/lint.sh $(BUILD)

docs:
	@tools/docs.sh $(BUILD)

# Records the figures of docs/reliability.md and writes the page.
reliability: all
	@POLYAD_FIGURES=$(CURDIR)/tests/figures $(RUN_TESTS) -R '^(kill|fault|limits|numbers)_' -LE long
	@tools/reliability.py
