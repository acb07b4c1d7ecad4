internal import Commands
internal import HTTPClient
internal import NIOHTTP1
internal import Transfers

/// The head of a final answer.
struct DownloadAnswer: Sendable {
    /// The maximum bytes of a media type that are remembered; longer ones are cut.
    private static let maxTypeBytes = 80

    let status: Int
    let fields: HeaderFields
    /// Whether a redirect led to the server that gave the answer.
    let wasRedirected: Bool

    init(status: Int, fields: HeaderFields, wasRedirected: Bool = false) {
        self.status = status
        self.fields = fields
        self.wasRedirected = wasRedirected
    }

    init(_ head: HTTPResponseHead, wasRedirected: Bool) {
        self.init(
            status: Int(head.status.code), fields: HeaderFields(head.headers), wasRedirected: wasRedirected)
    }

    /// Bytes of the body; nil where the head does not tell.
    var length: Int64? { isChunked ? nil : fields.first("content-length").flatMap { Self.count($0) } }

    /// Whether the end of the body can be told from a lost connection.
    var isDelimited: Bool { length != nil || isChunked }

    private var isChunked: Bool {
        fields.values("transfer-encoding").contains { $0.lowercased().contains("chunked") }
    }

    var contentRange: ContentRangeField? { fields.first("content-range").flatMap { ContentRangeField($0) } }

    /// Whether the body is a range, and the head does not say which.
    var hasUnusableRange: Bool { fields.first("content-range") != nil && contentRange == nil }

    var validators: DownloadValidators {
        DownloadValidators(
            tag: fields.first("etag"), lastModified: fields.first("last-modified"),
            date: fields.first("date").flatMap { RetryAfter.date($0) })
    }

    /// The media type in lower case, without parameters.
    var mediaType: String? {
        guard let type = fields.first("content-type")?.prefix(while: { $0 != ";" }).trimmed.lowercased(),
            !type.isEmpty
        else { return nil }
        return String(type.unicodeScalars.filter { $0.isASCII }.prefix(Self.maxTypeBytes).map(Character.init))
    }

    var isMultipart: Bool { mediaType == "multipart/byteranges" }

    /// Checksums of the whole file, as the server states them. With a content coding they would be those of
    /// other bytes. `Content-MD5` of a 206 is ambiguous.
    var checksums: [Checksum] {
        let coding = fields.first("content-encoding")?.trimmed.lowercased() ?? "identity"
        guard coding == "identity" else { return [] }
        var checksums = ChecksumFields.reprDigest(fields.values("repr-digest"))
        let storedCoding = fields.first("x-goog-stored-content-encoding")?.trimmed.lowercased() ?? "identity"
        if storedCoding == "identity" { checksums += ChecksumFields.googHash(fields.values("x-goog-hash")) }
        if status == 200, fields.first("content-range") == nil {
            checksums += ChecksumFields.amazon(fields)
        }
        if status == 200, fields.first("content-range") == nil, let field = fields.first("content-md5"),
            let md5 = ChecksumFields.contentMD5(field)
        {
            checksums.append(md5)
        }
        return checksums
    }

    private static func count(_ text: String) -> Int64? {
        !text.isEmpty && text.utf8.allSatisfy(\.isDigit) ? Int64(text) : nil
    }
}

/// `Content-Range` of an answer (RFC 9110, section 14.4).
enum ContentRangeField: Sendable, Equatable {
    /// `bytes 0-41/1234`; the body has these bytes of the file.
    /// - total: bytes of the whole file; nil for `*`: the server does not know.
    case part(Range<Int64>, total: Int64?)
    /// `bytes */1234`: the file has this number of bytes, and the range asked for is beyond it.
    case unsatisfied(total: Int64)

    /// - Returns: nil for another unit and for a malformed or impossible range.
    init?(_ field: String) {
        let words = field.trimmed.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false).map(\.trimmed)
        guard parts.count == 2 else { return nil }
        let total = Self.number(parts[1])
        guard total != nil || parts[1] == "*" else { return nil }
        if parts[0] == "*" {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Self.number($0.trimmed) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < Int64.max,
            total.map({ last < $0 }) ?? true
        else { return nil }
        self = .part(first..<last + 1, total: total)
    }

    private static func number(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text)
    }
}
