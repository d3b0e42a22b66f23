// SPDX-License-Identifier: Apache-2.0
#include "io/mapping_yaml.h"

#include "io/catalogue.h"
#include "io/index_expression.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/core.h>

namespace headroom {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSchema = "headroom.mapping/1";
constexpr std::int64_t kLargestTile = std::int64_t{1} << 40;

// Sizes given from outside the computation, by name: --set, then the mapping's own.
struct Given {
    const Overrides& set;
    std::map<std::string, std::string> sizes;
    std::set<std::string> taken;

    std::optional<std::string> find(const std::string& name) {
        if (const auto found = set.find(name); found != set.end()) {
            taken.insert(name);
            return found->second;
        }
        if (const auto found = sizes.find(name); found != sizes.end()) return found->second;
        return std::nullopt;
    }
};

template <class T>
std::vector<std::string> names_of(const std::vector<T>& all) {
    std::vector<std::string> names;
    for (const T& item : all) names.push_back(item.name);
    return names;
}

// The index of a named thing, or a fault at `key`.
template <class T>
int lookup(const std::vector<T>& all, const std::string& name, std::string_view what, MapReader& map,
           std::string_view key) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].name == name) return static_cast<int>(i);
    }
    map.fault(key, fmt::format("no {} \"{}\"", what, name), did_you_mean(name, names_of(all)));
    return -1;
}

void read_dimensions(MapReader map, Given& given, Computation& c) {
    const SizeOf known = [&](const std::string& name) -> std::optional<std::int64_t> {
        for (const LoopDimension& d : c.dimensions) {
            if (d.name == name) return d.size;
        }
        return std::nullopt;
    };
    for (const auto& [name, text] : map.scalars()) {
        const auto replaced = given.find(name);
        const auto size = parse_size(replaced.value_or(text), known);
        if (const auto* bad = std::get_if<ParseFault>(&size)) {
            if (given.set.count(name) > 0) refuse("--set", name, bad->message, bad->suggestion);
            map.fault(name, bad->message, bad->suggestion);
            continue;
        }
        c.dimensions.push_back({name, std::get<std::int64_t>(size)});
    }
    if (c.dimensions.size() > kMostDimensions)
        map.fault("", fmt::format("more than {} dimensions", kMostDimensions));
    map.done();
}

Access read_index(const Computation& c, int tensor, const std::string& text, MapReader& map,
                  std::string_view key) {
    Access access{tensor, {}};
    const auto axes = parse_index(text, c.dimensions);
    if (const auto* bad = std::get_if<ParseFault>(&axes)) {
        map.fault(key, bad->message, bad->suggestion);
    } else {
        access.axes = std::get<std::vector<Axis>>(axes);
    }
    return access;
}

void read_tensors(MapReader map, Computation& c) {
    for (auto& [name, entry] : map.maps()) {
        NestTensor t;
        t.name = name;
        t.type = entry.choice<ElementType>("type", kElementTypes);
        t.shape = read_index(c, static_cast<int>(c.tensors.size()), entry.text("index"), entry, "index");
        entry.done();
        c.tensors.push_back(std::move(t));
    }
    map.done();
}

// "Q", with the index that it was declared with, or "X[n, c, y + r]".
std::optional<Access> read_operand(const Computation& c, const std::string& text, MapReader& map,
                                   std::string_view key) {
    const auto bracket = text.find('[');
    const int tensor = lookup(c.tensors, trimmed(text.substr(0, bracket)), "tensor", map, key);
    if (tensor < 0) return std::nullopt;
    const Access& declared = c.tensors[static_cast<std::size_t>(tensor)].shape;
    if (bracket == std::string::npos) return declared;
    if (text.back() != ']') {
        map.fault(key, fmt::format("\"{}\" lacks its closing bracket", text));
        return std::nullopt;
    }
    const std::string inside = text.substr(bracket + 1, text.size() - bracket - 2);
    Access access = read_index(c, tensor, inside, map, key);
    if (access.axes.size() != declared.axes.size()) {
        map.fault(key, fmt::format("\"{}\" has {} indices, it was declared with {}", text, access.axes.size(),
                                   declared.axes.size()));
        return std::nullopt;
    }
    return access;
}

Statement read_statement(MapReader& map, const Computation& c) {
    Statement s;
    s.name = map.text("name");
    s.kind = map.choice<StatementKind>("kind", kStatementKinds);
    if (const auto output = read_operand(c, map.text("output"), map, "output")) s.output = *output;
    for (const std::string& text : map.texts("inputs")) {
        if (const auto input = read_operand(c, text, map, "inputs")) s.inputs.push_back(*input);
    }
    if (s.inputs.empty()) map.fault("inputs", "at least one tensor is needed");
    s.operations = map.count("operations", 0, 1000, 1);
    s.streamable = map.flag("streamable", false);
    for (const std::string& name : map.texts("rescales")) {
        const int tensor = lookup(c.tensors, name, "tensor", map, "rescales");
        if (tensor >= 0) s.rescales.push_back(tensor);
    }
    if (!s.rescales.empty() && !s.streamable) map.fault("rescales", "only a streamable reduction rescales");
    if (const std::string scan = map.text("scan", ""); !scan.empty())
        s.scan = lookup(c.dimensions, scan, "dimension", map, "scan");
    map.done();
    return s;
}

Computation read_computation(MapReader map, std::string name, Given& given) {
    Computation c;
    c.name = std::move(name);
    read_dimensions(map.map("dimensions"), given, c);
    read_tensors(map.map("tensors"), c);
    std::set<int> written;
    for (MapReader& entry : map.list("statements")) {
        Statement s = read_statement(entry, c);
        if (!written.insert(s.output.tensor).second)
            entry.fault("output", "is already the output of another statement");
        c.statements.push_back(std::move(s));
    }
    if (c.statements.empty()) map.fault("statements", "at least one is needed");
    map.done();
    return c;
}

void read_tiles(MapReader& mapping, Given& given, Mapping& m) {
    auto map = mapping.optional_map("tiles");
    if (!map) return;
    for (auto& [name, entry] : map->maps()) {
        TileFactor t;
        t.name = name;
        t.value = entry.count("value", 1, kLargestTile);
        t.granule = entry.count("granule", 1, kLargestTile, t.granule);
        t.searched = entry.flag("searched", true);
        if (const auto text = given.find(name)) {
            const auto value = parse_count(*text);
            const auto* bad = std::get_if<ParseFault>(&value);
            if (bad != nullptr) refuse("--set", name, bad->message, bad->suggestion);
            t.value = std::get<std::int64_t>(value);
            if (t.value < 1 || t.value > kLargestTile)
                refuse("--set", name, "a tile has at least one element");
        }
        entry.done();
        m.tiles.push_back(std::move(t));
    }
    map->done();
}

void read_homes(MapReader& mapping, const Computation& c, Mapping& m) {
    m.home.assign(c.tensors.size(), MemoryLevel::hbm);
    auto map = mapping.optional_map("home");
    if (!map) return;
    for (const auto& [level, name] : kMemoryLevels) {
        for (const std::string& tensor : map->texts(name)) {
            const int i = lookup(c.tensors, tensor, "tensor", *map, name);
            if (i >= 0) m.home[static_cast<std::size_t>(i)] = level;
        }
    }
    map->done();
}

// "i by bi", "blocks i by 64", "warps i by 16".
std::optional<Loop> read_loop(const std::string& text, const Computation& c, const Mapping& m,
                              MapReader& map) {
    std::vector<std::string> words = parts_of(text, ' ');
    words.erase(std::remove(words.begin(), words.end(), std::string()), words.end());
    Loop loop;
    for (const auto& [binding, name] : kLoopBindings) {
        if (words.size() != 4 || words.front() != name) continue;
        loop.over = binding;
        words.erase(words.begin());
        break;
    }
    if (words.size() != 3 || words[1] != "by") {
        map.fault("loops", fmt::format("\"{}\" is not \"[blocks|warps|time] DIMENSION by TILE\"", text));
        return std::nullopt;
    }
    loop.dimension = lookup(c.dimensions, words[0], "dimension", map, "loops");
    const auto count = parse_count(words[2]);
    if (const auto* size = std::get_if<std::int64_t>(&count)) {
        loop.size = *size;
        if (*size < 1) map.fault("loops", fmt::format("\"{}\": a tile has at least one element", text));
    } else {
        loop.factor = lookup(m.tiles, words[2], "tile factor", map, "loops");
    }
    if (loop.dimension < 0 || (loop.factor < 0 && loop.size < 1)) return std::nullopt;
    return loop;
}

Nest read_nest(MapReader& map, const Computation& c, const Mapping& m) {
    Nest n;
    for (const std::string& text : map.texts("loops")) {
        if (const auto loop = read_loop(text, c, m, map)) n.loops.push_back(*loop);
    }
    if (auto stage = map.optional_map("stage")) {
        for (const auto& [level, name] : kMemoryLevels) {
            if (level == MemoryLevel::hbm || level == MemoryLevel::l2) continue;
            for (const std::string& tensor : stage->texts(name)) {
                const int i = lookup(c.tensors, tensor, "tensor", *stage, name);
                if (i >= 0) n.stages.push_back({i, level});
            }
        }
        stage->done();
    }
    n.buffers = map.count("buffers", 1, 16, 1);
    if (map.has("run")) {
        n.statement = lookup(c.statements, map.text("run"), "statement", map, "run");
        if (map.has("body")) map.fault("body", "a nest either runs a statement or holds other nests");
    }
    for (MapReader& inner : map.list("body")) {
        n.body.push_back(read_nest(inner, c, m));
        inner.done();
    }
    if (!map.has("run") && n.body.empty()) map.fault("body", "holds nothing; give run or body");
    return n;
}

std::string beside_or_shipped(const std::string& path, const std::string& data, const std::string& name) {
    const fs::path beside = fs::path(path).parent_path() / (name + ".yaml");
    std::error_code ignored;
    return fs::is_regular_file(beside, ignored) ? beside.string() : find_entry(data, "mappings", name);
}

// The computation of the file that `root` names, or its own.
Computation find_computation(MapReader& root, const std::string& path, const std::string& data,
                             const std::string& name, Given& given) {
    const std::string other = root.text("computation_of", "");
    if (other.empty()) return read_computation(root.map("computation"), name, given);
    if (auto sizes = root.optional_map("sizes")) {
        for (const auto& [size_name, text] : sizes->scalars()) given.sizes[size_name] = text;
    }
    const std::string file = beside_or_shipped(path, data, other);
    Faults faults(file);
    MapReader there = MapReader::parse(read_file(file), faults);
    if (!there.has("computation")) root.fault("computation_of", fmt::format("{} has no computation", file));
    Computation c = read_computation(there.map("computation"), other, given);
    faults.finish();
    const std::vector<std::string> known = names_of(c.dimensions);
    for (const auto& [size_name, text] : given.sizes) {
        if (std::find(known.begin(), known.end(), size_name) == known.end())
            root.fault("sizes", fmt::format("no dimension \"{}\"", size_name),
                       did_you_mean(size_name, known));
    }
    return c;
}

}  // namespace

MappedComputation read_mapping(const std::string& path, const std::string& data, const Overrides& overrides) {
    Faults faults(path);
    MapReader root = MapReader::parse(read_file(path), faults);
    if (root.text("schema") != kSchema) root.fault("schema", fmt::format("is not {}", kSchema));
    MappedComputation nest;
    Mapping& m = nest.mapping;
    m.name = root.text("name");
    m.title = root.text("title");
    Given given{overrides, {}, {}};
    nest.computation = find_computation(root, path, data, m.name, given);
    const Computation& c = nest.computation;
    faults.finish();  // loops and stages would only repeat faults of the names that they use
    MapReader mapping = root.map("mapping");
    read_tiles(mapping, given, m);
    read_homes(mapping, c, m);
    for (MapReader& entry : mapping.list("kernels")) {
        NestKernel k;
        k.name = entry.text("name");
        k.nest = read_nest(entry, c, m);
        entry.done();
        m.kernels.push_back(std::move(k));
    }
    if (m.kernels.empty()) mapping.fault("kernels", "at least one is needed");
    mapping.done();
    root.done();
    faults.finish();
    std::vector<std::string> known = names_of(c.dimensions);
    for (const TileFactor& t : m.tiles) known.push_back(t.name);
    for (const auto& [name, value] : overrides) {
        if (given.taken.count(name) == 0)
            refuse("--set", name, "no such dimension or tile factor in " + path, did_you_mean(name, known));
    }
    return nest;
}

}  // namespace headroom
