// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/timing.h"
#include "decode_attention/decode_attention.h"
#include "measure/case.h"

#include <functional>
#include <memory>

namespace headroom::kernels {

// Device memory full of normally distributed values, allocated once and shared by all cases: large enough
// that random pages miss the TLB as they do in service, and never zeros (zeros run faster than data).
class DataPool {
  public:
    // `bytes` 0: 36 GB, or 40 % of the device's memory if that is less.
    explicit DataPool(std::size_t bytes = 0);

    void* data() const { return buffer_.data(); }
    std::size_t bytes() const { return buffer_.bytes(); }
    // Makes the whole pool values of this type, if it is not already.
    void fill(DType type);

  private:
    DeviceBuffer buffer_;
    bool filled_ = false;
    DType type_ = DType::kBf16;
};

// A case with its operands in place.
struct PreparedCase {
    Launch launch;
    int rotation = 1;  // launches until the same data come again
    std::function<double()>
        sample_error;  // relative error of part of the last output against the CPU; empty: none
};

// Throws DeviceError if the operands do not fit the pool or the device lacks the operator.
PreparedCase prepare(const Case& c, DataPool& pool, const DecodePlanOptions& plan = {});

}  // namespace headroom::kernels
