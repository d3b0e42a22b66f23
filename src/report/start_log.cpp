// SPDX-License-Identifier: Apache-2.0
#include "report/start_log.h"

namespace headroom {

Report report(const StartLog& log, const LearnedEngine& engine) {
    Report r;
    r.json = envelope("engines");
    r.json["inputs"]["log"] = log.file;
    r.json["engine_version"] = log.version;
    r.json["model"] = log.model;
    r.json["base"] = engine.base;
    r.json["results"] = Json::array();
    const auto put = [&](const char* name, const std::optional<LogFact>& fact) {
        if (fact) r.json["results"].push_back({{"name", name}, {"value", fact->value}, {"line", fact->line}});
    };
    put("tp", log.tp);
    put("pp", log.pp);
    put("device_bytes", log.total);
    put("utilisation", log.utilisation);
    put("weight_bytes", log.weights);
    put("activation_bytes", log.activation);
    put("non_torch_bytes", log.non_torch);
    put("kv_bytes", log.kv);
    put("kv_tokens", log.kv_tokens);
    put("blocks", log.blocks);
    put("block_tokens", log.block_tokens);
    put("max_sequences", log.max_sequences);
    put("max_batched_tokens", log.max_batched_tokens);
    put("graph_bytes", log.graphs);
    r.json["learned"] = engine.learned;
    r.json["missing"] = engine.missing;
    r.json["yaml"] = engine.yaml;
    r.text = engine.yaml;
    return r;
}

}  // namespace headroom
