internal import Commands
internal import Transfers

/// The next step of a download.
enum DownloadAction: Sendable, Equatable {
    /// Send this request. The body of the last answer, if one is still coming, is not needed.
    case send(DownloadRequest)
    /// Truncate the part to nothing, save the checkpoint, then write the body from 0: in this order, so that
    /// the validators of one version never stand beside bytes of another.
    case replace(DownloadBody)
    /// Compare the overlap of the body with the part, then write the rest behind the part. A difference is
    /// reported by ``DownloadRequestRules/overlapDiffered()`` before anything is written. The checkpoint need
    /// not be saved first.
    case append(DownloadBody)
    /// Compare the checksums, then publish the part.
    case complete(DownloadCompletion)
    /// The target is the current version. The part is deleted.
    case notModified
    /// The status is a failure, which `HTTPVerdict` judges. The part is deleted if it is final.
    case refused
    /// Save the checkpoint and end the execution.
    /// - deletesPart: true for every final failure, and where the part has wrong bytes.
    case failed(CommandFailure, deletesPart: Bool)
}

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

/// Where the body of an answer belongs in the file.
struct DownloadBody: Sendable, Equatable {
    /// The offset of the first byte.
    var start: Int64
    /// The offset after the last byte; nil where the head does not tell.
    var end: Int64?
    /// The bytes of the part that the body must repeat before the rest is written; empty: nothing to compare.
    var overlap: Range<Int64>
    /// The maximum length of the file.
    var maxEnd: Int64
}

/// Divides the chunks of a body: first bytes to compare with the part, then bytes to write behind it.
struct DownloadBodyCursor: Sendable, Equatable {
    /// A chunk, divided; the counts are in the order of the bytes.
    struct Step: Sendable, Equatable {
        /// The offset in the file of the first byte.
        var offset: Int64
        /// Bytes that must equal those of the part at ``offset``.
        var compared: Int
        /// Bytes to write after those.
        var written: Int
        /// Whether the file would grow beyond its maximum length; then no byte of the rest counts.
        var exceedsLimit: Bool
    }

    let body: DownloadBody
    /// The offset in the file of the next byte.
    private(set) var position: Int64

    init(_ body: DownloadBody) {
        self.body = body
        position = body.start
    }

    /// Whether no further byte is needed. Bytes beyond the range that the head states are dropped.
    var isAtEnd: Bool { body.end.map { position >= $0 } ?? false }

    /// - Parameter count: bytes of the chunk, from 0.
    mutating func take(_ count: Int) -> Step {
        let offset = position
        let wanted = min(Int64(max(count, 0)), max((body.end ?? .max) - offset, 0))
        let permitted = min(wanted, max(body.maxEnd - offset, 0))
        let compared = min(permitted, max(body.overlap.upperBound - offset, 0))
        position += permitted
        return Step(
            offset: offset, compared: Int(compared), written: Int(permitted - compared),
            exceedsLimit: permitted < wanted)
    }
}

/// A part that has all bytes. It is published once the checksums are right.
struct DownloadCompletion: Sendable, Equatable {
    /// Bytes of the file.
    var length: Int64
    /// To compare with those of the part: the payload's, and one of the server's.
    var checksums: [Checksum]
    /// Whether nothing shows that the body was not cut off: the server gave no length, and the payload has
    /// neither size nor checksum.
    var isUnverified: Bool
}
