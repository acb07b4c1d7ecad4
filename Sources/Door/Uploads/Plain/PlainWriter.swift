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
            "id": .string("\(upload.id)"), "state": .string(upload.state.name), "size": .integer(upload.offset),
            "command": upload.command.map { .string("\($0)") } ?? .null,
        ]
    }
}
