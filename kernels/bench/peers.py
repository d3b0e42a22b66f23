# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's attention back ends on the shapes of the `flash` and `standard` suites.

usage: peers.py [OURS]   where OURS is the file that `headroom_kernel_bench time flash,standard OURS` wrote;
with it the ratio of our rate to each peer's is printed.
"""
import json
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

# dtype, batch, query heads, KV heads, head_dim, tokens, causal
SHAPES = [
    ("bf16", 2, 16, 16, 128, 8192, False),
    ("bf16", 1, 16, 16, 128, 16384, True),
    ("bf16", 8, 16, 16, 128, 2048, False),
    ("bf16", 8, 16, 16, 128, 2048, True),
    ("bf16", 8, 32, 8, 128, 2048, True),
    ("bf16", 2, 32, 32, 64, 8192, False),
    ("bf16", 1, 32, 32, 64, 16384, True),
    ("bf16", 2, 8, 8, 256, 8192, False),
    ("fp16", 1, 8, 8, 128, 8192, False),
]
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def median_seconds(call, launches=4, replays=11):
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            call()
    graph.replay()
    times = []
    for _ in range(replays):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3 / launches)
    return sorted(times)[len(times) // 2]


def name(dtype, batch, hq, hk, d, tokens, causal, op="flash_attention"):
    return f"{op} {dtype} b{batch} h{hq}/{hk} d{d} q{tokens} c{tokens}" + (" causal" if causal else "")


def ours():
    if len(sys.argv) < 2:
        return {}
    with open(sys.argv[1]) as file:
        cases = json.load(file)["cases"]
    return {name(c["dtype"], c["batch"], c["query_heads"], c["kv_heads"], c["head_dim"], c["query_tokens"], c["causal"],
                 c["operator"]): c["median_s"] for c in cases}


def unfused(q, k, v, scale):
    return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * scale, dim=-1), v)


def main():
    measured = ours()
    torch.manual_seed(0)
    for dtype, batch, hq, hk, d, tokens, causal in SHAPES:
        q = torch.randn(batch, hq, tokens, d, device="cuda", dtype=TYPES[dtype])
        k, v = (torch.randn(batch, hk, tokens, d, device="cuda", dtype=TYPES[dtype]) for _ in range(2))
        flop = 4 * batch * hq * tokens * (tokens + 1 if causal else 2 * tokens) / 2 * d
        label = name(dtype, batch, hq, hk, d, tokens, causal)
        line = f"{label:58s}"
        mine = measured.get(label)
        if mine:
            line += f" ours {flop / mine * 1e-12:6.1f}"
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            try:
                with sdpa_kernel(backend):
                    seconds = median_seconds(lambda: torch.nn.functional.scaled_dot_product_attention(
                        q, k, v, is_causal=causal, enable_gqa=hq != hk))
                line += f"  {backend.name.split('_')[0].lower()} {flop / seconds * 1e-12:6.1f} TFLOP/s"
                if mine:
                    line += f" (ours/peer {seconds / mine:.3f})"
            except RuntimeError as error:
                line += f"  {backend.name}: {str(error).splitlines()[0][:60]}"
        print(line, flush=True)
    for tokens in (8192, 16384):
        q, k, v = (torch.randn(1, 8, tokens, 128, device="cuda", dtype=torch.float16) for _ in range(3))
        seconds = median_seconds(lambda: unfused(q, k, v, 128**-0.5), launches=2)
        label = name("fp16", 1, 8, 8, 128, tokens, False, "standard_attention")
        mine = measured.get(label)
        print(f"{label:58s} torch unfused {seconds * 1e3:.3f} ms" +
              (f", ours {mine * 1e3:.3f} ms (peer/ours {seconds / mine:.2f})" if mine else ""), flush=True)


if __name__ == "__main__":
    main()
