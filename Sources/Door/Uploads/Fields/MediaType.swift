package import HTTPTypes

/// The media types of the upload protocols.
package enum MediaType {
    static let tus = "application/offset+octet-stream"
    static let partialUpload = "application/partial-upload"
    static let form = "multipart/form-data"

    /// The type of the body in lower case, without parameters; nil without `Content-Type`.
    package static func read(_ fields: HTTPFields) -> String? {
        fields[.contentType].flatMap { FieldParameters($0.utf8)?.value }
    }

    /// The parameter `charset` of the body's type in lower case.
    package static func charset(_ fields: HTTPFields) -> String? {
        fields[.contentType].flatMap { FieldParameters($0.utf8)?["charset"]?.lowercased() }
    }
}
