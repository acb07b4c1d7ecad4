internal import Commands
internal import HTTPClient
internal import NIOHTTP1

/// The answer to a GET or HEAD of a file, as a server of HTTP would give it (RFC 9110, sections 13 and 14).
/// Pure.
///
/// Its strong `ETag` is `"<inode>-<size>-<time of modification in nanoseconds>"`. One range is served; a list of
/// ranges gets the whole file.
struct FileAnswer: Sendable, Equatable {
    /// 200, 206, 304, 405 or 416.
    let status: Int
    let fields: [HTTPField]
    /// The bytes of the file that are the body; empty for HEAD.
    let range: Range<Int64>

    /// - Parameters:
    ///   - fields: of the request.
    ///   - type: the media type of the file.
    ///   - now: the wall clock.
    init(method: HTTPMethod, _ fields: HTTPHeaders, _ file: SourceIdentity, type: String, now: Timestamp) {
        let tag = Self.tag(of: file)
        let modified = HTTPDate.text(Timestamp(milliseconds: file.modified / 1_000_000))
        var answer = [
            HTTPField("ETag", tag), HTTPField("Last-Modified", modified), HTTPField("Date", HTTPDate.text(now)),
            HTTPField("Accept-Ranges", "bytes"),
        ]
        func end(_ status: Int, _ range: Range<Int64> = 0..<0, _ more: HTTPField...) -> FileAnswer {
            FileAnswer(status, answer + more, method == .HEAD ? 0..<0 : range)
        }
        guard method == .GET || method == .HEAD else {
            self = end(405, 0..<0, HTTPField("Allow", "GET, HEAD"))
            return
        }
        if Self.isUnchanged(fields, tag: tag, file) {
            self = end(304)
            return
        }
        answer.append(HTTPField("Content-Type", type))
        let condition = fields.first(name: "if-range")
        let asked = condition.map { $0 == tag || $0 == modified } ?? true ? fields.first(name: "range") : nil
        switch asked.flatMap({ Self.range($0, size: file.size) }) {
        case nil: self = end(200, 0..<file.size, HTTPField("Content-Length", "\(file.size)"))
        case .unsatisfiable?: self = end(416, 0..<0, HTTPField("Content-Range", "bytes */\(file.size)"))
        case .bytes(let range)?:
            self = end(
                206, range,
                HTTPField("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"),
                HTTPField("Content-Length", "\(range.count)"))
        }
    }

    private init(_ status: Int, _ fields: [HTTPField], _ range: Range<Int64>) {
        (self.status, self.fields, self.range) = (status, fields, range)
    }

    static func tag(of file: SourceIdentity) -> String { "\"\(file.inode)-\(file.size)-\(file.modified)\"" }

    /// `If-Modified-Since` counts only without `If-None-Match` (section 13.1.3).
    private static func isUnchanged(_ fields: HTTPHeaders, tag: String, _ file: SourceIdentity) -> Bool {
        let tags = fields[canonicalForm: "if-none-match"]
        guard tags.isEmpty else { return tags.contains { $0 == "*" || $0 == tag || $0 == "W/\(tag)" } }
        guard let since = fields.first(name: "if-modified-since").flatMap({ HTTPDate.timestamp($0) }) else {
            return false
        }
        return file.modified / 1_000_000_000 <= since.milliseconds / 1000
    }

    private enum ByteRange {
        case bytes(Range<Int64>)
        case unsatisfiable
    }

    /// - Returns: nil for another unit, several ranges, or text of another form: the field is ignored then.
    private static func range(_ text: String, size: Int64) -> ByteRange? {
        let unit = "bytes="
        guard text.beginsWithBytes(of: unit), !text.contains(",") else { return nil }
        let ends = text.dropFirst(unit.utf8.count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy(\.isDigit) }) else { return nil }
        switch (Int64(ends[0]), Int64(ends[1])) {
        case (nil, let count?) where ends[0].isEmpty:
            return count == 0 || size == 0 ? .unsatisfiable : .bytes(max(size - count, 0)..<size)
        case (let start?, nil) where ends[1].isEmpty:
            return start < size ? .bytes(start..<size) : .unsatisfiable
        case (let start?, let last?) where start <= last:
            return start < size ? .bytes(start..<min(last, size - 1) + 1) : .unsatisfiable
        default: return nil
        }
    }
}
