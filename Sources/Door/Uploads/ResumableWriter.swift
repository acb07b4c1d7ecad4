internal import Commands
internal import HTTPTypes
internal import Store
internal import UploadSpool
internal import Uploads

/// Writes the responses of Resumable Uploads for HTTP.
struct ResumableWriter {
    var dialect: ResumableDialect
    var limits: UploadLimits
    var now: Timestamp
    /// The URL of an upload, from its id.
    var location: @Sendable (CommandID) -> String

    /// Fields of OPTIONS. `Accept-Patch` is of the versions -10 and -11.
    static func options(_ limits: UploadLimits) -> HTTPFields {
        [.uploadLimit: limit(limits, age: limits.maxAge), .acceptPatch: UploadMediaType.partialUpload]
    }

    /// `Upload-Limit`.
    /// - Parameter age: the time from this response to the end of the upload; nil where the response does not know it.
    private static func limit(_ limits: UploadLimits, age: Duration? = nil) -> String {
        "max-size=\(limits.maxSize)" + (age.map { ", max-age=\(max($0, .zero).components.seconds)" } ?? "")
    }

    /// `Upload-Limit` of an upload: only its progress renews its age.
    private func limit(_ upload: Upload) -> String {
        Self.limit(limits, age: upload.state == .open ? upload.due.map { $0 - now } : nil)
    }

    /// Fields of the 104 after a creation; nil for a client that has not named a version, and so may not expect it.
    func interim(_ upload: Upload) -> HTTPFields? {
        guard let version = dialect.version else { return nil }
        return [
            .location: location(upload.id), .uploadLimit: limit(upload),
            .uploadDraftInteropVersion: "\(version.rawValue)",
        ]
    }

    /// Fields of a 104 while a body runs; nil for a client that may not expect it. Draft -03 has added it.
    /// - Parameter offset: durable.
    func progress(_ offset: Int64) -> HTTPFields? {
        guard let version = dialect.version, version != .draft01 else { return nil }
        return [.uploadOffset: "\(offset)", .uploadDraftInteropVersion: "\(version.rawValue)"]
    }

    /// Answers a creation with a part of the bytes, or none.
    func created(_ upload: Upload) -> UploadReply {
        var fields = common(upload)
        fields[.location] = location(upload.id)
        fields[.uploadOffset] = "\(upload.offset)"
        return UploadReply(status: .created, fields: fields)
    }

    /// Answers a PATCH that is not the last.
    func appended(_ upload: Upload) -> UploadReply { UploadReply(status: .noContent, fields: common(upload)) }

    /// Answers the request that completes the upload.
    /// - Parameter reply: the response to the same upload in one plain request.
    func completed(_ upload: Upload, _ reply: UploadReply) -> UploadReply {
        var reply = reply
        for field in common(upload) { reply.fields[field.name] = field.value }
        return reply
    }

    /// Answers a HEAD.
    /// - Throws: 410 for an upload that has ended.
    func status(_ upload: Upload) throws(Problem) -> UploadReply {
        guard upload.state != .ended else {
            throw problem(UploadError(.gone, upload.reason ?? "The upload has ended."))
        }
        return UploadReply(status: .noContent, fields: fields(upload))
    }

    /// The fields of HEAD.
    func fields(_ upload: Upload) -> HTTPFields {
        var fields = common(upload)
        fields[.uploadOffset] = "\(upload.offset)"
        // tus-js-client takes an offset that equals the length for success in these versions too. They have no
        // Upload-Length in responses, and without one it completes the upload.
        let looksComplete = upload.state == .open && upload.offset == upload.length
        if let length = upload.length, !(looksComplete && dialect.alwaysStatesOffset) {
            fields[.uploadLength] = "\(length)"
        }
        fields[.cacheControl] = "no-store"
        return fields
    }

    private func common(_ upload: Upload) -> HTTPFields {
        var fields: HTTPFields = [.uploadLimit: limit(upload)]
        dialect.setComplete(upload.state == .complete, in: &fields)
        if dialect.alwaysStatesOffset { fields[.uploadOffset] = "\(upload.offset)" }
        fields[.sluiceCommandID] = upload.command.map { "\($0)" }
        return fields
    }

    /// - Parameters:
    ///   - provided: the offset of the request.
    ///   - location: the URL of the upload, where the request has created it.
    func problem(_ error: UploadError, provided: Int64? = nil, location: String? = nil) -> Problem {
        var problem = UploadProblems.problem(error)
        switch error.code {
        case .offsetMismatch(let expected):
            if let provided { problem.members.append(.init("provided-offset", .integer(provided))) }
            problem.fields[.uploadOffset] = "\(expected)"
        case .interrupted:
            // Clients resume after 5xx only.
            problem.status = .serviceUnavailable
            problem.fields[.uploadOffset] = error.offset.map { "\($0)" }
        case .complete:
            problem.status = dialect.version == .draft12 || dialect.version == nil ? .gone : .badRequest
        case .digestMismatch:
            // All bytes were there, and the upload has failed: a client that resumes it gains nothing.
            dialect.setComplete(true, in: &problem.fields)
        case .tooLarge:
            problem.fields[.uploadLimit] = Self.limit(limits)
        default: break
        }
        problem.fields[.location] = location
        return problem
    }

    /// Adds the limits, and the field that tells an error of the protocol from one of the complete upload.
    func problem(_ problem: Problem) -> Problem {
        var problem = problem
        problem.fields[.uploadLimit] = Self.limit(limits)
        guard !problem.fields.contains(dialect.completeField) else { return problem }
        dialect.setComplete(false, in: &problem.fields)
        return problem
    }
}
