// SPDX-License-Identifier: Apache-2.0
#include "io/line_reader.h"

#include "base/diagnostic.h"
#include "io/map_reader.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include <zlib.h>
#include <zstd.h>

namespace headroom {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;
constexpr std::size_t kLongestLine = std::size_t{1} << 28;

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
struct FreeZstd {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Members (gzip) and frames (zstd) may follow one another in a file, as parallel compressors write them.
class Decompressor {
  public:
    Decompressor(std::string path, std::FILE* file) : path_(std::move(path)), file_(file), input_(kChunk) {
        filled_ = std::fread(input_.data(), 1, input_.size(), file_);
        const auto* head = reinterpret_cast<const unsigned char*>(input_.data());
        if (filled_ >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
            kind = "gzip";
            if (inflateInit2(&gzip_, 15 + 16) != Z_OK) refuse(path_, "", "zlib cannot be started");
        } else if (filled_ >= 4 && std::memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0) {
            kind = "zstd";
            zstd_.reset(ZSTD_createDCtx());
        }
    }
    ~Decompressor() {
        if (kind == "gzip") inflateEnd(&gzip_);
    }
    Decompressor(const Decompressor&) = delete;
    Decompressor& operator=(const Decompressor&) = delete;

    // Writes up to `room` bytes; 0 only at the end.
    std::size_t read(char* out, std::size_t room) {
        if (kind.empty()) return read_plain(out, room);
        std::size_t written = 0;
        while (written == 0) {
            if (used_ == filled_ && !fill()) {
                if (!between_) refuse(path_, "", kind + " data ends in the middle");
                return 0;
            }
            written = kind == "gzip" ? read_gzip(out, room) : read_zstd(out, room);
        }
        return written;
    }

    std::string kind;

  private:
    bool fill() {
        used_ = 0;
        filled_ = std::fread(input_.data(), 1, input_.size(), file_);
        return filled_ > 0;
    }

    std::size_t read_plain(char* out, std::size_t room) {
        if (used_ < filled_) {
            const std::size_t n = std::min(room, filled_ - used_);
            std::memcpy(out, input_.data() + used_, n);
            used_ += n;
            return n;
        }
        return std::fread(out, 1, room, file_);
    }

    std::size_t read_gzip(char* out, std::size_t room) {
        if (between_) inflateReset(&gzip_);
        gzip_.next_in = reinterpret_cast<Bytef*>(input_.data() + used_);
        gzip_.avail_in = static_cast<uInt>(filled_ - used_);
        gzip_.next_out = reinterpret_cast<Bytef*>(out);
        gzip_.avail_out = static_cast<uInt>(room);
        const int code = inflate(&gzip_, Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            refuse(path_, "", "damaged gzip data");
        used_ = filled_ - gzip_.avail_in;
        between_ = code == Z_STREAM_END;
        return room - gzip_.avail_out;
    }

    std::size_t read_zstd(char* out, std::size_t room) {
        ZSTD_inBuffer in{input_.data(), filled_, used_};
        ZSTD_outBuffer to{out, room, 0};
        const std::size_t left = ZSTD_decompressStream(zstd_.get(), &to, &in);
        if (ZSTD_isError(left)) {
            refuse(path_, "", std::string("damaged zstd data: ") + ZSTD_getErrorName(left));
        }
        used_ = in.pos;
        between_ = left == 0;
        return to.pos;
    }

    std::string path_;
    std::FILE* file_;
    std::vector<char> input_;
    std::size_t used_ = 0, filled_ = 0;
    bool between_ = false;  // at the end of a member or frame, where the file may end too
    z_stream gzip_{};
    std::unique_ptr<ZSTD_DCtx, FreeZstd> zstd_;
};

}  // namespace

struct LineReader::State {
    explicit State(const std::string& name) : path(name), file(open(name)), data(name, file.get()) {
        buffer.resize(kChunk);
    }

    static std::FILE* open(const std::string& name) {
        std::error_code ignored;
        if (std::filesystem::is_directory(name, ignored)) refuse_unreadable(name);
        std::FILE* opened = std::fopen(name.c_str(), "rb");
        if (opened == nullptr) refuse_unreadable(name);
        return opened;
    }

    // Moves the unfinished line to the front and reads more behind it; false at the end of the data.
    bool refill() {
        std::memmove(buffer.data(), buffer.data() + begin, end - begin);
        end -= begin;
        begin = 0;
        if (end == buffer.size()) {
            if (buffer.size() >= kLongestLine) refuse(path, "", "a line is longer than 256 MiB");
            buffer.resize(buffer.size() * 2);
        }
        const std::size_t n = data.read(buffer.data() + end, buffer.size() - end);
        end += n;
        return n > 0;
    }

    std::string path;
    std::unique_ptr<std::FILE, CloseFile> file;
    Decompressor data;
    std::vector<char> buffer;
    std::size_t begin = 0, end = 0;
    std::int64_t line = 0, bytes = 0;
};

LineReader::LineReader(const std::string& path) : state_(std::make_unique<State>(path)) {}
LineReader::~LineReader() = default;
LineReader::LineReader(LineReader&&) noexcept = default;

bool LineReader::next(std::string_view& line) {
    State& s = *state_;
    std::size_t searched = 0;
    for (;;) {
        const char* from = s.buffer.data() + s.begin;
        const std::size_t held = s.end - s.begin;
        const void* found = held > searched ? std::memchr(from + searched, '\n', held - searched) : nullptr;
        std::size_t length = held;
        if (found != nullptr) {
            length = static_cast<std::size_t>(static_cast<const char*>(found) - from);
            s.begin += length + 1;
        } else {
            searched = held;
            if (s.refill()) continue;
            if (held == 0) return false;
            from = s.buffer.data() + s.begin;
            s.begin = s.end;
        }
        ++s.line;
        s.bytes += static_cast<std::int64_t>(length) + 1;
        if (length > 0 && from[length - 1] == '\r') --length;
        line = std::string_view(from, length);
        if (s.line == 1 && line.substr(0, 3) == "\xef\xbb\xbf") line.remove_prefix(3);  // UTF-8 mark
        return true;
    }
}

std::int64_t LineReader::line_number() const { return state_->line; }
std::int64_t LineReader::bytes() const { return state_->bytes; }
const std::string& LineReader::compression() const { return state_->data.kind; }

}  // namespace headroom
