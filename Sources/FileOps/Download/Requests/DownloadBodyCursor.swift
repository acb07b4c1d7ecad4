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
