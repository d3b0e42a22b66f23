// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"
#include "spec/ceilings.h"
#include "spec/precision.h"
#include "spec/source.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// Parameters of the kernel models (`ceiling_parameters()` in spec/ceilings.h): fitted, measured or
/// estimated.
struct MeasuredCeilings {
    std::map<std::string, Fact<double>> values;  ///< by dotted name, base units
};

/// What a family of devices shares (`hwprofiles/generations/`).
struct Generation {
    std::string name;
    std::string title;
    std::vector<Source> sources;
    /// Dense FLOP per clock and SM of the widest unit for a type: the bound that no peak may exceed.
    std::map<ElementType, Fact<double>> matrix_flop_per_clock;
    /// Copies that the L2 holds of what all SMs read: its partitions, if each caches for its own SMs.
    std::optional<Fact<double>> l2_copies;
    /// The kernels of the family (`kernels:`), for devices that were not measured themselves.
    MeasuredCeilings kernels;
    /// The device that `kernels` were fitted on: its SMs, clock and memory bandwidth; the others are zero.
    std::optional<Peaks> measured_on;
    /// Values found for this family itself where `kernels` are another's; they hold on all its devices.
    MeasuredCeilings own;
};

struct MemorySystem {
    Fact<Bytes> nominal;   ///< as marketed
    Fact<Bytes> capacity;  ///< as the driver reports it; what the tool uses
    Fact<Bandwidth> bandwidth;
    std::optional<Fact<Bytes>> bus_width;      ///< bytes per transfer
    std::optional<Fact<Bandwidth>> data_rate;  ///< per pin
    std::optional<Fact<Bytes>> l2;
};

struct ComputeUnits {
    Fact<double> sms;
    Fact<Frequency> clock;  ///< the clock that the peaks are quoted at
    std::optional<Fact<Bytes>> sram_per_sm;
    std::optional<Fact<Bytes>> sram_per_block;
    std::optional<Fact<Bytes>> registers_per_sm;
    std::map<ElementType, Fact<FlopRate>> dense;
    std::map<ElementType, Fact<FlopRate>> sparse;  ///< 2:4 structured sparsity; never used as a peak
};

/// A link's bandwidth is per GPU and direction.
struct Link {
    std::string name;
    Fact<Bandwidth> per_direction;
    std::optional<Fact<double>> domain;  ///< GPUs that it joins
};

/// One device (`hwprofiles/`).
struct Hardware {
    std::string name;
    std::string title;
    std::string vendor;
    std::string file;
    std::vector<Source> sources;
    Generation generation;
    MemorySystem memory;
    ComputeUnits compute;
    std::optional<Link> scale_up;
    std::optional<Link> pcie;
    std::optional<Link> network;
    std::optional<Fact<Watts>> tdp;
    MeasuredCeilings ceilings;  ///< what was measured or fitted on the device itself
    Ceilings reach;             ///< `peaks_of` it, with the generation's and the device's values
};

/// Datasheet rates in the form that the kernel models take. 8 and 4-bit matrix rates fall back on the wider
/// type.
Peaks peaks_of(const Hardware& hardware);

/// The generation's values as far as they carry over, overlaid by the device's own.
Ceilings ceilings_of(const Hardware& hardware);

/// The dense peak for a type, or that of the nearest type that can stand in for it (bf16 by fp16, fp8 by 16
/// bits: weights are then widened on the way), or nothing. `computed` says which one it was.
struct Peak {
    ElementType computed;
    FlopRate rate;
};
std::optional<Peak> dense_peak(const Hardware& hardware, ElementType wanted);

/// FLOP per byte at which compute and memory bandwidth bind alike.
Intensity ridge_point(const Hardware& hardware, ElementType type);

}  // namespace headroom
