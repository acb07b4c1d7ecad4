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

    /// Whether each response states the offset: drafts before -06 require it, and tus-js-client fails without it. Later
    /// versions state it in 409 and to HEAD.
    var alwaysStatesOffset: Bool {
        switch version {
        case .draft01, .draft03, .draft04: true
        case .draft09, .draft12, nil: false
        }
    }

    /// The field that states whether an upload is complete.
    var completeField: HTTPField.Name { statesIncomplete ? .uploadIncomplete : .uploadComplete }

    /// Whether a PATCH needs `application/partial-upload`. It came with draft -04, and later ones require it.
    var needsMediaType: Bool { !alwaysStatesOffset }

    /// Whether the upload ends with this request; nil where the field is absent or malformed.
    func isComplete(_ fields: HTTPFields) -> Bool? {
        StructuredFields.boolean(completeField, fields).map { $0 != statesIncomplete }
    }

    /// Sets the field that states whether the upload is complete.
    func setComplete(_ isComplete: Bool, in fields: inout HTTPFields) {
        fields[completeField] = StructuredFields.text(isComplete != statesIncomplete)
    }
}
