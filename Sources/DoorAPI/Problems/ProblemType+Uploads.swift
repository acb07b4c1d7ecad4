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
