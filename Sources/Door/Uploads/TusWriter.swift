internal import Commands
internal import HTTPTypes
internal import Store
internal import UploadSpool
internal import Uploads

/// Writes the responses of tus 1.0.
struct TusWriter {
    /// The URL of an upload, from its id.
    var location: @Sendable (CommandID) -> String

    /// Fields of OPTIONS.
    static func options(_ limits: UploadLimits) -> HTTPFields {
        let extensions = [
            "creation", "creation-with-upload", "creation-defer-length", "termination", "expiration", "checksum",
            "checksum-trailer", "concatenation",
        ]
        return [
            .tusResumable: TusReader.version, .tusVersion: TusReader.version,
            .tusExtension: extensions.joined(separator: ","), .tusMaxSize: "\(limits.maxSize)",
            .tusChecksumAlgorithm: TusChecksum.list,
        ]
    }

    /// Answers a POST.
    /// - Parameter hasBody: the request sent bytes: clients require the offset then.
    func created(_ upload: Upload, hasBody: Bool) -> UploadReply {
        var fields = common(upload)
        fields[.location] = location(upload.id)
        if hasBody { fields[.uploadOffset] = "\(upload.offset)" }
        return UploadReply(status: .created, fields: fields)
    }

    /// Answers a PATCH.
    func appended(_ upload: Upload) -> UploadReply {
        var fields = common(upload)
        fields[.uploadOffset] = "\(upload.offset)"
        return UploadReply(status: .noContent, fields: fields)
    }

    /// Answers a DELETE: tus-js-client takes any other status for a failure.
    static var terminated: UploadReply { UploadReply(status: .noContent, fields: [.tusResumable: TusReader.version]) }

    /// Answers a HEAD.
    /// - Throws: 410 for an upload that has ended, and 423 where the offset would say that the upload is complete.
    func status(_ upload: Upload) throws(Problem) -> UploadReply {
        switch upload.state {
        case .ended:
            throw Self.problem(UploadError(.gone, upload.reason ?? "The upload has ended."), isHead: true)
        case .open where upload.offset == upload.length:
            // A tus client takes an offset that equals the length for success. An upload of the IETF draft may have all
            // its bytes and not be complete: its client has to say so. 423 keeps the URL, and is tried again.
            throw Self.problem(
                Problem(
                    .locked, "upload-not-complete",
                    "All bytes are there, and the client that sends the upload has not completed it; try again."))
        case .open, .complete: break
        }
        return UploadReply(status: .ok, fields: fields(upload))
    }

    /// The fields of HEAD.
    func fields(_ upload: Upload) -> HTTPFields {
        var fields = common(upload)
        fields[.uploadOffset] = "\(upload.offset)"
        if let length = upload.length {
            fields[.uploadLength] = "\(length)"
        } else {
            fields[.uploadDeferLength] = "1"
        }
        if let metadata = upload.facts.metadata, !metadata.isEmpty { fields[.uploadMetadata] = metadata }
        switch upload.facts.concatenation {
        case .partial: fields[.uploadConcat] = TusConcatenation.partial.text(location)
        case .final(let ids): fields[.uploadConcat] = TusConcatenation.final(ids).text(location)
        case nil: break
        }
        fields[.cacheControl] = "no-store"
        return fields
    }

    private func common(_ upload: Upload) -> HTTPFields {
        var fields: HTTPFields = [.tusResumable: TusReader.version]
        // A finished part expires where no final upload takes it.
        if upload.state == .open || upload.facts.concatenation == .partial, let due = upload.due {
            fields[.uploadExpires] = DoorDate.text(seconds: due.milliseconds / 1000)
        }
        fields[.sluiceCommandID] = upload.command.map { "\($0)" }
        return fields
    }

    /// - Parameters:
    ///   - isHead: HEAD answers 423 in place of any 5xx, upon which tus-js-client sends the whole file again
    ///     (tus/tus-js-client#579, #895).
    ///   - location: the URL of the upload, where the request has created it.
    static func problem(_ error: UploadError, isHead: Bool = false, location: String? = nil) -> Problem {
        var problem = UploadProblems.problem(error)
        switch error.code {
        case .checksumMismatch: problem.status = .checksumMismatch
        // A client whose request was stopped by a newer one tries again, and reads the offset.
        case .interrupted: problem.status = .locked
        default: break
        }
        if isHead, problem.status.kind == .serverError { problem.status = .locked }
        problem.fields[.location] = location
        return Self.problem(problem)
    }

    /// Adds the field that each response of tus has.
    static func problem(_ problem: Problem) -> Problem {
        var problem = problem
        problem.fields[.tusResumable] = TusReader.version
        return problem
    }

    /// The same for responses that no handler of tus has made.
    static func decorate(_ response: inout Response, isHead: Bool) {
        response.headers[.tusResumable] = TusReader.version
        if isHead, response.status.kind == .serverError { response.status = .locked }
    }
}
