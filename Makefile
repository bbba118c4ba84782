# Thin front of CMake and Ninja.
BUILD ?= build

.PHONY: all check
all: $(BUILD)/build.ninja
	@cmake --build $(BUILD)

$(BUILD)/build.ninja: CMakeLists.txt
	@cmake -S . -B $(BUILD) -G Ninja

check: all
	@ctest --test-dir $(BUILD) -LE 'gpu|long' --output-on-failure
