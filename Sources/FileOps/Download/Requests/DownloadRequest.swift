internal import Transfers

/// A request of a download, always to the submitted URL. The header fields of the payload come in addition.
enum DownloadRequest: Sendable, Equatable {
    /// GET of the whole file.
    /// - condition: the validators of the target; the server answers 304 where they are current.
    case whole(condition: DownloadValidators?)
    /// GET of the file from an offset on.
    /// - ifRange: the validator; nil: none, because a checksum shows at the end whether the bytes fit.
    case range(from: Int64, ifRange: String?)
    /// HEAD, which finds out the length.
    case head

    var method: String { self == .head ? "HEAD" : "GET" }

    /// The header fields. A compressed body would have ranges and validators of its own.
    var fields: [(name: String, value: String)] {
        var fields = [(name: "Accept-Encoding", value: "identity")]
        switch self {
        case .whole(let condition):
            if let tag = condition?.tag { fields.append(("If-None-Match", tag.text)) }
            if let date = condition?.lastModified { fields.append(("If-Modified-Since", date)) }
        case .range(let start, let ifRange):
            fields.append(("Range", "bytes=\(start)-"))
            if let ifRange { fields.append(("If-Range", ifRange)) }
        case .head: break
        }
        return fields
    }
}
