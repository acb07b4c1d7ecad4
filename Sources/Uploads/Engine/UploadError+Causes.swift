internal import Commands
internal import Host
internal import Store

extension UploadError {
    /// The store refused or failed.
    init(_ error: StoreError, offset: Int64? = nil) {
        let code: Code =
            switch error.code {
            case .busy, .unreachable, .unknown, .overloaded, .exhausted, .missing, .backup, .moved: .unavailable
            case .full: .noSpace
            case .conflict: error.id.map { .uniqueKeyTaken(holder: $0) } ?? .keyConflict
            case .invalid, .ambiguous: .invalid
            case .notFound: .notFound
            case .foreign, .unsuitable, .permission, .corrupt, .failed: .failed
            }
        let message =
            switch code {
            case .unavailable: "The store is busy; try again."
            case .noSpace: "The disk of the server is full; make room, or try later."
            case .failed: "The store of the server failed; its log has the reason."
            // About a command or a value.
            default: error.message
            }
        self.init(code, message, offset: offset)
        if message != error.message { cause = error.message }
    }

    /// The spool failed.
    init(_ error: SystemError, offset: Int64? = nil) {
        let problem = error.isForLackOfSpace ? "The spool is full" : "The spool cannot be used"
        self.init(error.isForLackOfSpace ? .noSpace : .failed, "\(problem): \(error.reason).", offset: offset)
        cause = "\(error)"
    }

    static func notFound(_ id: CommandID) -> UploadError {
        UploadError(.notFound, "There is no upload \(id); begin a new one.")
    }

    static func ended(_ upload: Upload) -> UploadError {
        UploadError(.gone, "Upload \(upload.id) has ended: \(upload.reason ?? "terminated"); begin a new one.")
    }

    static func isMissing(_ upload: Upload) -> UploadError {
        UploadError(
            .unavailable, "The bytes of upload \(upload.id) are not in the spool now; try again later.",
            offset: upload.offset)
    }

    /// - Parameter difference: ends “the upload …”.
    static func keyConflict(_ upload: Upload, _ difference: String) -> UploadError {
        UploadError(
            .keyConflict, "The Idempotency-Key belongs to upload \(upload.id), which \(difference); choose a new key.",
            offset: upload.state == .ended ? nil : upload.offset)
    }

    /// The configuration does not take a complete upload. It may have been changed, and may be changed again.
    func keepingBytes(of upload: Upload) -> UploadError {
        UploadError(.unavailable, "\(message) The bytes of the upload stay until it expires.", offset: upload.offset)
    }

    static func isFinal(_ upload: Upload) -> UploadError {
        UploadError(.isFinal, "Upload \(upload.id) is made of others, and takes no bytes.", offset: upload.offset)
    }
}

extension Upload {
    /// Whether it only becomes a part of others.
    var isPartial: Bool { facts.concatenation == .partial }

    /// Whether its client knows a way to ask for it: its URL, or the idempotency key of its creation.
    var mayBeAskedFor: Bool { facts.origin.isResumable || idempotencyKey != nil }
}
