package import Commands
internal import Host
internal import Store

/// Why an upload, or a part of one, was not taken: a code for the protocol, and a sentence for a person.
package struct UploadError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// There never was an upload with that id, as far as known.
        case notFound
        /// It was terminated, or has expired.
        case gone
        /// The request does not begin at the offset of the upload.
        case offsetMismatch(expected: Int64)
        /// More bytes than its length, or than the door takes.
        case tooLarge(limit: Int64)
        /// The stated lengths contradict each other.
        case inconsistentLength
        /// The request states other metadata, or another digest of all bytes, than the creation of the upload.
        case inconsistentStatement
        /// All its bytes are there: it takes no more.
        case complete
        /// It was made of others, and takes no bytes.
        case isFinal
        /// A part of a concatenation is not there, or not complete.
        case unfinishedPart
        /// The bytes of the request do not have the stated digest. They were dropped.
        case checksumMismatch
        /// All bytes together do not have the stated digest. The upload has ended.
        case digestMismatch
        /// Another request took the upload over, or the client went away. The bytes that had arrived are kept.
        case interrupted
        /// The disk, or the share of the client, has too little room.
        case noSpace
        /// The token has too many open uploads, or makes too many without bytes. Try again after the time.
        case tooMany(wait: Duration)
        /// The door ends, or the store cannot be used now. Try again.
        case unavailable
        /// Another request with the same idempotency key runs.
        case keyInUse
        /// The idempotency key belongs to an upload that was stated otherwise, or has other bytes.
        case keyConflict
        /// Another command has the unique key of the command that the upload would become.
        case uniqueKeyTaken(holder: CommandID)
        /// The site does not want the upload. The message is its own.
        case refused
        /// A fact that the route does not take, or a route that does not exist.
        case invalid
        /// The store or the disk failed.
        case failed
    }

    package var code: Code
    package var message: String
    /// The durable offset, where it is known.
    package var offset: Int64?
    /// The error of the disk or of the store, with its path and with processes of this machine: for the log, and not for
    /// clients.
    package var cause: String?

    package init(_ code: Code, _ message: String, offset: Int64? = nil) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    package var description: String { message }
}

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
