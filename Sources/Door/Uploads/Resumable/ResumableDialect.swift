internal import HTTPTypes

/// A form of Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload). Its versions differ in some fields.
struct ResumableDialect: Equatable {
    /// Nil for a request without `Upload-Draft-Interop-Version`: the latest form, without 104.
    var version: InteropVersion?
    /// It states `Upload-Incomplete` in place of `Upload-Complete`, with the opposite value. Version 3 does.
    var statesIncomplete: Bool

    init(_ version: InteropVersion?, statesIncomplete: Bool? = nil) {
        self.version = version
        self.statesIncomplete = statesIncomplete ?? (version == .draft01)
    }

    /// Whether each response states the offset: tus-js-client fails without it. Later versions state it in 409 and to
    /// HEAD.
    var alwaysStatesOffset: Bool {
        switch version {
        case .draft01, .draft03, .draft04: true
        case .draft09, .draft12, nil: false
        }
    }

    /// Whether a PATCH needs `application/partial-upload`. tus-js-client sends none in the older versions.
    var needsMediaType: Bool { !alwaysStatesOffset }

    /// Whether the upload ends with this request; nil where the field is absent or malformed.
    func isComplete(_ fields: HTTPFields) -> Bool? {
        statesIncomplete
            ? StructuredFields.boolean(.uploadIncomplete, fields).map { !$0 }
            : StructuredFields.boolean(.uploadComplete, fields)
    }

    /// Sets the field that states whether the upload is complete.
    func setComplete(_ isComplete: Bool, in fields: inout HTTPFields) {
        if statesIncomplete {
            fields[.uploadIncomplete] = StructuredFields.text(!isComplete)
        } else {
            fields[.uploadComplete] = StructuredFields.text(isComplete)
        }
    }
}
