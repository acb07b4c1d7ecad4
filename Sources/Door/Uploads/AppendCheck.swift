internal import Commands
internal import Synchronization

/// Checks the upload of a PATCH when the engine has read it: a row is read once, and a request that may not send bytes stops
/// no other one.
final class AppendCheck: Sendable {
    private struct Outcome {
        var upload: Upload?
        var error: (any Error)?
    }

    private let check: @Sendable (Upload) throws -> Void
    private let outcome = Mutex(Outcome())

    init(_ check: @escaping @Sendable (Upload) throws -> Void) { self.check = check }

    /// The upload before the request; nil before the check.
    var upload: Upload? { outcome.withLock(\.upload) }

    /// For ``UploadService/append(_:to:admits:progress:_:)``.
    /// - Returns: false where the check throws, and for a complete upload, whose protocol has an answer of its own.
    func admits(_ upload: Upload) -> Bool {
        let result = Result { try check(upload) }
        outcome.withLock { outcome in
            outcome.upload = upload
            if case .failure(let error) = result { outcome.error = error }
        }
        if case .failure = result { return false }
        return upload.state != .complete
    }

    /// - Throws: the error of the check.
    func get() throws { if let error = outcome.withLock(\.error) { throw error } }
}
