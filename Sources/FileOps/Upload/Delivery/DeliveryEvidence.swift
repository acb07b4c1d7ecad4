internal import Commands
internal import HTTPClient

/// The evidence for the delivery of an upload that was answered with success.
enum DeliveryEvidence: Sendable {
    /// The destination holds every byte, according to this answer.
    case complete(HTTPRecord)
    /// The destination holds something else: `has 0 of 2000000 bytes`.
    case mismatch(String)
    /// The upload no longer exists. The server may have processed and removed it, or lost it.
    case gone(String)
    /// The URL in the answer to a POST describes the file, so its length is not that of the file.
    case description(String)
    /// The destination does not support the query (403, 405, 501), or states neither a length nor a digest.
    case unknown
    /// The destination does not answer now.
    case unavailable(any Error)

    var isContradiction: Bool {
        switch self {
        case .mismatch, .gone: true
        case .complete, .description, .unknown, .unavailable: false
        }
    }
}
