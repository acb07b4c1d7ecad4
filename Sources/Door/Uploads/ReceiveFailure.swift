internal import NIOHTTP1
internal import Synchronization

/// The error that ended the reading of a request in a task of the upload engine.
final class ReceiveFailure: Sendable {
    private let error = Mutex<(any Error)?>(nil)

    func record(_ error: any Error) { self.error.withLock { $0 = error } }

    /// Whether the reading was stopped from this side.
    var isCancellation: Bool { error.withLock { $0 is CancellationError } }
    /// Whether the body came below the minimum rate.
    var isSlow: Bool { error.withLock { $0 as? ConnectionError == .slowBody } }
    /// Nil where the reading did not end by a problem of the request.
    var problem: Problem? {
        error.withLock { error in
            switch error {
            case let problem as Problem: problem
            case let error as HTTPParserError: .malformed(error)
            default: nil
            }
        }
    }
}
