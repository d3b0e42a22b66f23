// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"
#include "common/dtype.h"

#include <cstddef>
#include <cstdint>

namespace headroom::kernels {

// Kernels that do one thing as fast as the device can, one launch each. Sizes in bytes, multiples of 16.

enum class ReadMethod { kLoads, kBulkCopies };  // bulk copies: sm_90 on

bool supports(ReadMethod method);

// Reads every byte once. `sink` is one word that is never written in practice; it keeps the reads alive.
void read_memory(ReadMethod method, const void* source, std::size_t bytes, unsigned* sink, Stream stream);
void write_memory(void* target, std::size_t bytes, Stream stream);
void copy_memory(void* target, const void* source, std::size_t bytes, Stream stream);

// Reads a buffer `passes` times past L1: from L2 where it fits there.
void read_repeatedly(const void* source, std::size_t bytes, int passes, unsigned* sink, Stream stream);

// Every multiprocessor reads its shared memory; returns the bytes that one launch reads on the whole device.
double read_shared(int rounds, unsigned* sink, Stream stream);

// Register-to-register mma.sync on every multiprocessor; returns the operations (2 per multiply-add) of one
// launch. bf16, fp16, or fp8 from sm_89 on.
double multiply_in_registers(DType type, int rounds, float* sink, Stream stream);

void launch_empty(Stream stream);
// One thread adds 1 to a word of memory: the least a kernel in a chain can do.
void launch_increment(unsigned* word, Stream stream);

}  // namespace headroom::kernels
