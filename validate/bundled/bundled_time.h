// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_attention/decode_schedule.h"
#include "measure/case.h"
#include "spec/hardware.h"

namespace headroom {

/// A launch of one of the kernels in kernels/, with the items that a decode is cut into on a device.
struct BundledShape {
    kernels::Case shape;
    kernels::DecodeSchedule schedule;  ///< of decodes; empty otherwise
};
BundledShape bundled_shape(const kernels::Case& shape, const Hardware& hardware);

/// One launch inside a graph, its operands cold, from the blocks that the kernel's own rules cut it into
/// (decode_schedule, stream_schedule, FlashTile) and `ceilings.bundled`:
///
///   read, write, copy  launch + bytes / rate
///   decode             launch + makespan of the items + merging of their parts
///   flash              launch + overlap(makespan of the query tiles, bytes / rate)
///   weights            launch + makespan of the blocks + summing of the splits; or the library's product,
///   where
///                      that is faster or the rows are more than the kernel takes
///   softmax            a copy of the scores
///   standard           two of the library's products and a softmax
///   mlp, loss          nothing: they are there for their traffic
Seconds bundled_time(const BundledShape& shape, const Ceilings& ceilings);

/// Datasheet floor: the bytes and operations that the algorithm needs at the least.
Seconds bundled_floor(const BundledShape& shape, const Peaks& peaks);

/// Bytes that cross the device's memory at the least.
Bytes bundled_bytes(const BundledShape& shape);

}  // namespace headroom
