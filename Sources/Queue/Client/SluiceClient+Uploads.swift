public import Commands

/// An upload that the door has taken, or takes.
public struct UploadSummary: Sendable, Equatable {
    /// Whether its bytes have all come.
    public enum State: String, Sendable {
        /// It receives bytes.
        case open
        case complete
        /// It was ended before it became a command.
        case ended

        init(_ state: UploadState) {
            self =
                switch state {
                case .open: .open
                case .complete: .complete
                case .ended: .ended
                }
        }

        var stored: UploadState {
            switch self {
            case .open: .open
            case .complete: .complete
            case .ended: .ended
            }
        }
    }

    public var id: CommandID
    public var state: State
    /// Bytes that are durable.
    public var offset: Int64
    /// Bytes of the whole; nil while they are not known.
    public var length: Int64?
    /// The command or flow that it has become; nil where it stays in the spool.
    public var command: CommandID?
    /// As its client has stated it; nil where it has stated none.
    public var fileName: String?
    public var createdAt: Timestamp
    /// Why it was ended; nil otherwise.
    public var reason: String?

    init(_ upload: Upload) {
        id = upload.id
        state = State(upload.state)
        offset = upload.offset
        length = upload.length
        command = upload.command
        fileName = upload.facts.fileName
        createdAt = upload.createdAt
        reason = upload.reason
    }
}

extension SluiceClient {
    /// The uploads of the door, the newest first. No door needs to run.
    /// - Parameters:
    ///   - state: nil, the default: any.
    ///   - after: an upload: those before it. Nil, the default: from the newest on.
    ///   - limit: 1…1,000; the default is 100.
    /// - Throws: ``SluiceError``.
    public func uploads(
        _ state: UploadSummary.State? = nil, after: CommandID? = nil, limit: Int = 100
    ) async throws -> [UploadSummary] {
        let limit = min(max(limit, 1), 1000)
        return try await read { queue in
            try queue.uploads(state?.stored, after: after, limit: limit).uploads
                .map(UploadSummary.init)
        }
    }

    /// Ends an upload that has not become a command, and deletes its bytes. Its client is told so.
    /// - Parameter reason: a sentence. The default is “removed by a person”.
    /// - Throws: ``SluiceError``: `noSuchCommand` where there is no such upload; `notAllowed` where it has become a command,
    ///   which is cancelled instead.
    public func removeUpload(_ id: CommandID, reason: String = "removed by a person") async throws {
        switch try await write({ queue in try queue.removeUpload(id, reason: reason) }) {
        case .removed, .ended: return
        case .missing: throw SluiceError(.noSuchCommand, "there is no upload \(id)", id: id)
        case .isCommand(let command):
            throw SluiceError(
                .notAllowed, "upload \(id) has become command \(command); cancel that instead", id: command)
        }
    }
}
