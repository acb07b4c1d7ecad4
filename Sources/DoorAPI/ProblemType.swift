internal import Door
internal import HTTPTypes
internal import NIOCore

/// A type of the problem documents of the door, as its page explains it.
struct ProblemType: Sendable, Equatable {
    /// The last part of its URL.
    let name: String
    /// The event.
    let meaning: String
    /// The next step of a client.
    let remedy: String

    init(_ name: String, _ meaning: String, _ remedy: String) {
        self.name = name
        self.meaning = meaning
        self.remedy = remedy
    }

    /// The type as words, as in `title` of its documents.
    var title: String {
        let words = name.split(separator: "-").joined(separator: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }

    /// Every type, by area.
    static let all = http + access + commands + uploads

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}

extension API {
    /// The pages that the types of problem documents point to.
    var problemEndpoints: [Endpoint] {
        [
            Endpoint("/problems", methods: [.get: .init(scopes: nil) { _ in Self.page(Self.index) }]),
            Endpoint("/problems/{type}", methods: [.get: .init(scopes: nil, showProblem)]),
        ]
    }

    @Sendable private func showProblem(_ request: DoorRequest) async throws -> Response {
        guard let type = ProblemType.byName[request.parameters["type"] ?? ""] else {
            throw Problem(.notFound, "not-found", "The server has no such type of problem; see /problems.")
        }
        return Self.page("\(type.title) (\(type.name))\n\n\(type.meaning)\n\(type.remedy)\n")
    }

    private static let index =
        "Types of problem documents (RFC 9457)\n\n"
        + ProblemType.all.map { "\($0.name)\n    \($0.meaning) \($0.remedy)\n" }.sorted().joined()

    private static func page(_ text: String) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "public, max-age=3600"],
            body: Response.Body(byteBuffer: ByteBuffer(string: text)))
    }
}

extension ProblemType {
    /// Problems of requests, before any resource sees them.
    static let http = [
        ProblemType("bad-field", "A field of the request has a value that HTTP does not allow.", "Correct the field."),
        ProblemType(
            "bad-framing",
            "The length of the body is stated twice, or in a way that the server does not read; or its chunks have little "
                + "content.", "Send one Content-Length, or the transfer coding chunked alone, in large chunks."),
        ProblemType(
            "bad-host", "The request has no field Host, several of them, or one of another form.",
            "Send one Host with the name and port of the URL."),
        ProblemType("bad-length", "Content-Length is not a number of bytes.", "Send the number of bytes of the body."),
        ProblemType(
            "bad-override", "X-HTTP-Method-Override has a method that it cannot hide.", "Send PATCH, DELETE or HEAD."),
        ProblemType(
            "bad-query", "The query of the URL is not percent-encoded UTF-8.", "Encode each name and value."),
        ProblemType("bad-request", "The request is not valid HTTP/1.1.", "Send it as RFC 9112 defines it."),
        ProblemType("bad-target", "The path of the request is not usable.", "Encode each part of the path by itself."),
        ProblemType(
            "fields-too-large", "The target and the fields of the request are too long.", "Send shorter ones."),
        ProblemType(
            "internal-error", "The server could not answer.", "The log has the reason; give its operator the id."),
        ProblemType(
            "method-not-allowed", "The resource does not have the method.", "Use one of the methods in Allow."),
        ProblemType("not-found", "There is no such resource.", "Check the URL."),
        ProblemType("refused", "The request was refused.", "The title of the status says why."),
        ProblemType("request-cut", "The connection ended before the request did.", "Send it again."),
        ProblemType("slow-body", "The body came below the minimum rate.", "Send it again, over a faster connection."),
        ProblemType("slow-request", "The fields of the request did not arrive in time.", "Send it again."),
        ProblemType("stopping", "The server ends, and ended the request.", "Send it again after Retry-After."),
        ProblemType("too-large", "The body has more bytes, or more entries, than the resource takes.", "Send less."),
        ProblemType(
            "too-many-bodies", "The bodies of other requests take the memory that the server has for them.",
            "Send the request again after Retry-After, or in smaller parts."),
        ProblemType(
            "too-many-connections", "The server, or the address, has its maximum of connections.", "Try again later."),
        ProblemType(
            "too-many-streams", "The server, or the token, has its maximum of streams of events.",
            "Close one, or try again after Retry-After."),
        ProblemType(
            "unknown-encoding", "The body has a transfer coding that the server does not decode.",
            "Send it with Content-Length, or chunked."),
        ProblemType(
            "unknown-expectation", "The field Expect has a value that the server does not know.",
            "Send 100-continue, or leave the field out."),
        ProblemType(
            "unknown-host", "The server does not answer for the name in Host.",
            "Use a name that it has, or add the name to door.hosts."),
        ProblemType("unknown-method", "The server does not know the method.", "Use a method of the resource."),
        ProblemType(
            "unsupported-content-encoding", "The body has a content coding that the server does not decode.",
            "Send the bytes as they are."),
        ProblemType(
            "unsupported-media-type", "The resource does not take a body of this type.",
            "Send the Content-Type that the detail names."),
    ]
}

extension ProblemType {
    /// Problems of tokens, sessions and origins.
    static let access = [
        ProblemType(
            "cross-origin", "A page of another origin sent a change.",
            "Send it from a page of the door, or with a token."),
        ProblemType("expired-token", "The token has expired.", "Make a new one: sluice token create."),
        ProblemType(
            "invalid-login-code", "The login code is unknown, was used, or has expired.", "Ask for a new login link."),
        ProblemType("invalid-token", "There is no such token.", "Check the text of the token."),
        ProblemType(
            "login-forbidden", "The token was made over HTTP, to send uploads, and opens no session.",
            "Log in with another token."),
        ProblemType("revoked-token", "The token was revoked.", "Use another token."),
        ProblemType("scope-missing", "The token lacks a scope.", "Use a token that has one of the named scopes."),
        ProblemType("session-ended", "The session was idle for too long, or has ended.", "Log in again."),
        ProblemType(
            "store-unavailable", "The store of the server is busy.", "Send the request again after Retry-After."),
        ProblemType("token-exists", "The token has made a usable one of that name already.", "Choose another name."),
        ProblemType("token-not-found", "The token has made none of that name.", "See /tokens."),
        ProblemType("token-missing", "The request has no token.", "Send one as “Authorization: Bearer …”."),
        ProblemType(
            "too-many-failures", "Too many requests from this address had no valid token.",
            "Wait for Retry-After, and check the token."),
        ProblemType(
            "too-many-tokens", "The token has made as many usable ones as it may make, or the store has its maximum.",
            "Revoke some, or wait until they expire."),
    ]
}

extension ProblemType {
    /// Problems of the API.
    static let commands = [
        ProblemType("action-not-found", "There is no such bulk action.", "The last hundred are kept; see /actions."),
        ProblemType(
            "command-changed", "The command has changed since the client read it (If-Match).",
            "Look at it, and send the request again with its ETag."),
        ProblemType("command-not-found", "There is no such command.", "It may have been removed after its end."),
        ProblemType(
            "destination-forbidden", "Commands over HTTP may not talk to this origin.",
            "Use another one, or add it to door.submit.destinations."),
        ProblemType("empty-filter", "A bulk action would change every command.", "Send a filter, or “all”: true."),
        ProblemType(
            "insufficient-storage", "The disk of the server has too little room.", "Make room, and send it again."),
        ProblemType("invalid-body", "A member of the body is unknown, or of another form.", "Correct the member."),
        ProblemType("invalid-command", "The command cannot be submitted as it is.", "Correct what the detail names."),
        ProblemType(
            "invalid-flow", "The flow cannot be submitted as it is.", "Correct the line that the detail names."),
        ProblemType("invalid-json", "The text is not valid JSON.", "Send JSON as RFC 8259 defines it."),
        ProblemType("invalid-query", "A parameter of the query is unknown, or of another form.", "Correct it."),
        ProblemType("invalid-source", "The file of a command cannot be used.", "Name a regular, readable file."),
        ProblemType("limit-not-found", "There is no rate limit of that name.", "See /limits."),
        ProblemType("link-not-found", "There is no such link.", "See /links for those that are known."),
        ProblemType("no-result", "The command has no result.", "Wait for its end."),
        ProblemType(
            "payload-forbidden", "The payload reaches for a file, a program or an address of the server.",
            "Leave the member out; a route of sluice.yaml may do it instead."),
        ProblemType(
            "reference-forbidden", "The payload refers to the result of another command.",
            "Use a token with the scope read."),
        ProblemType("schedule-not-found", "There is no schedule of that name.", "See /schedules."),
        ProblemType(
            "source-forbidden", "The payload names a file that clients may not send.",
            "Upload the file, or name one beneath a directory of door.submit.sources."),
        ProblemType(
            "status-conflict", "The status of the command does not allow the change.", "Use a verb of “allowed”."),
        ProblemType("submit-forbidden", "The token may not submit such a command.", "Use another token."),
        ProblemType(
            "too-many-actions", "The maximum of bulk actions runs.", "Wait for one to end, or cancel one."),
        ProblemType("too-many-searches", "The maximum of searches runs.", "Send the request again after Retry-After."),
        ProblemType(
            "type-forbidden", "Commands of this type are not submitted over HTTP.",
            "Use another type, or add it to door.submit.types."),
        ProblemType(
            "unique-key-conflict", "A command with another payload or destination holds the unique key.",
            "Look at that command, or choose another key."),
        ProblemType("webhook-not-found", "No webhook endpoint of that name is known.", "See /webhooks."),
    ]
}

extension ProblemType {
    /// Problems of uploads.
    static let uploads = [
        ProblemType(
            "checksum-mismatch", "The bytes do not have the stated checksum, and were dropped.", "Send them again."),
        ProblemType("completed-upload", "The upload is complete and takes no more bytes.", "Nothing is left to send."),
        ProblemType(
            "digest-mismatch", "The bytes do not have the digest that was stated for the upload, which has ended.",
            "Upload the file anew."),
        ProblemType("final-upload", "The upload was made of others, and takes no bytes.", "Send them to its parts."),
        ProblemType(
            "idempotency-key-conflict", "The Idempotency-Key belongs to another request, or to other bytes.",
            "Choose a new key."),
        ProblemType(
            "idempotency-key-in-use", "Another request with this Idempotency-Key runs.",
            "Repeat it when that has ended."),
        ProblemType(
            "inconsistent-upload", "The request states other metadata, or another digest, than the creation.",
            "Begin a new upload for another file."),
        ProblemType("inconsistent-upload-length", "The stated lengths contradict each other.", "State one length."),
        ProblemType("invalid-checksum", "The checksum has another form than its algorithm.", "Correct the field."),
        ProblemType("invalid-concatenation", "The parts of a concatenation cannot be used.", "Name complete parts."),
        ProblemType("invalid-digest", "A digest field has another form (RFC 9530).", "Correct the field."),
        ProblemType("invalid-field", "A field of the upload protocol has another form.", "Correct the field."),
        ProblemType(
            "invalid-form", "The form cannot be read, or lacks a value.",
            "Send it as RFC 7578 defines it, or by the buttons of its page."),
        ProblemType("invalid-metadata", "Upload-Metadata has another form.", "Send it as tus 1.0 defines it."),
        ProblemType("invalid-route", "The token has no such route.", "Use one of “routes”."),
        ProblemType("invalid-text", "A text of the client is too long, or has control characters.", "Shorten it."),
        ProblemType("invalid-upload", "The route does not take the upload.", "Correct the property that it names."),
        ProblemType(
            "mismatching-upload-offset", "The request does not begin at the offset of the upload.",
            "Ask for the offset, and go on from there."),
        ProblemType("partial-content", "Content-Range is not a part of an upload.", "Append with PATCH."),
        ProblemType("route-forbidden", "The token may not use the route of the upload any more.", "Use another token."),
        ProblemType(
            "too-many-uploads", "The token has too many open uploads, or makes too many without bytes.",
            "Finish or delete some of them, or go on after Retry-After."),
        ProblemType("unavailable", "The server cannot take bytes now.", "Go on after Retry-After."),
        ProblemType("unfinished-part", "A part of a concatenation is missing or not complete.", "Complete the part."),
        ProblemType(
            "unique-key-taken", "Another command has the unique key of the upload.",
            "Look at “command”, or send the file under another name."),
        ProblemType(
            "unsupported-interop-version", "The server does not speak this version of resumable uploads.",
            "Use a version that the server names."),
        ProblemType(
            "unsupported-tus-version", "The server does not speak this version of tus.", "Use tus 1.0.0."),
        ProblemType("upload-failed", "The disk or the store of the server failed.", "Its log has the reason."),
        ProblemType("upload-gone", "The upload was terminated, or has expired.", "Upload the file anew."),
        ProblemType("upload-interrupted", "Another request took the upload over.", "Go on with one request."),
        ProblemType("upload-is-command", "The upload has become a command.", "Cancel the command instead."),
        ProblemType("upload-not-complete", "The upload is not complete.", "Send its last bytes."),
        ProblemType("upload-not-found", "The token has no such upload.", "It may have expired; upload the file anew."),
        ProblemType("upload-refused", "The site does not take this upload.", "The detail has its reason."),
        ProblemType("upload-too-large", "The upload has more bytes than the server takes.", "Send a smaller file."),
    ]
}
