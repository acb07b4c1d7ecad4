internal import Commands
internal import HTTPClient

/// What a destination says of an upload that it has answered with success.
enum DeliveryEvidence: Sendable {
    /// It holds every byte, says this answer.
    case every(HTTPRecord)
    /// It holds something else: `has 0 of 2000000 bytes`.
    case lacks(String)
    /// The upload is not there any more. A server removes uploads that it has processed, and it may have lost this one.
    case gone(String)
    /// Nothing: it cannot be asked (403, 405, 501), or states neither a length nor a digest.
    case untold
    /// It does not answer now.
    case notNow(any Error)

    var isContradiction: Bool {
        switch self {
        case .lacks, .gone: true
        case .every, .untold, .notNow: false
        }
    }
}
