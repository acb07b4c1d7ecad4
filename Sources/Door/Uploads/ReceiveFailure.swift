internal import Synchronization

/// The error that ended the reading of a request in a task of the upload engine.
final class ReceiveFailure: Sendable {
    private let error = Mutex<(any Error)?>(nil)

    func record(_ error: any Error) { self.error.withLock { $0 = error } }

    /// Whether the reading was stopped from this side.
    var isCancellation: Bool { error.withLock { $0 is CancellationError } }
    /// Nil where the reading did not end by a problem of the request.
    var problem: Problem? { error.withLock { $0 as? Problem } }
}
