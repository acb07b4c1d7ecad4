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
