internal import Commands
internal import HTTPTypes
internal import Store

/// Writes the responses that are the same for all protocols: of a complete upload, and about one.
enum PlainWriter {
    /// Answers the request that completes an upload.
    static func completed(_ upload: Upload, location: String) -> UploadReply {
        var reply = UploadReply(status: .created, fields: [.location: location], body: summary(upload))
        reply.fields[.sluiceCommandID] = upload.command.map { "\($0)" }
        return reply
    }

    /// Answers a form with several files.
    static func completed(_ uploads: [Upload]) -> UploadReply {
        UploadReply(status: .created, body: ["uploads": .array(uploads.map(summary))])
    }

    static func summary(_ upload: Upload) -> JSONValue {
        [
            "id": .string("\(upload.id)"), "state": .string(name(upload.state)), "size": .integer(upload.offset),
            "command": upload.command.map { .string("\($0)") } ?? .null,
        ]
    }

    /// The properties of an upload. The token and the metadata of its creator are not among them.
    static func description(_ upload: Upload) -> JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        return [
            "id": .string("\(upload.id)"), "state": .string(name(upload.state)), "offset": .integer(upload.offset),
            "length": upload.length.map { .integer($0) } ?? .null,
            "protocol": .string(upload.facts.origin.rawValue), "fileName": text(upload.facts.fileName),
            "contentType": text(upload.facts.contentType), "route": text(upload.facts.route),
            "createdAt": .string("\(upload.createdAt)"), "updatedAt": .string("\(upload.updatedAt)"),
            "expiresAt": upload.state == .open ? text(upload.due.map { "\($0)" }) : .null,
            "command": text(upload.command.map { "\($0)" }), "reason": text(upload.reason),
        ]
    }

    private static func name(_ state: UploadState) -> String {
        switch state {
        case .open: "open"
        case .complete: "complete"
        case .ended: "ended"
        }
    }
}
