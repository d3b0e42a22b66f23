# SPDX-License-Identifier: Apache-2.0
# What the kernels are called with and how they cut their work: host code without CUDA, which the model of these
# kernels (validate/bundled) walks as well.
if(NOT TARGET headroom_kernel_shapes)
    add_library(headroom_kernel_shapes STATIC
        ${CMAKE_CURRENT_LIST_DIR}/decode_attention/decode_schedule.cpp
        ${CMAKE_CURRENT_LIST_DIR}/measure/case.cpp
        ${CMAKE_CURRENT_LIST_DIR}/measure/suites.cpp)
    target_include_directories(headroom_kernel_shapes PUBLIC ${CMAKE_CURRENT_LIST_DIR})
    target_compile_features(headroom_kernel_shapes PUBLIC cxx_std_20)
    target_link_libraries(headroom_kernel_shapes PUBLIC headroom_ops)
    target_compile_options(headroom_kernel_shapes PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
endif()
