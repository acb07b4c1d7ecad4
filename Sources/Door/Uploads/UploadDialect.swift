internal import HTTPTypes
internal import RawStructuredFieldValues

/// The upload protocol of a request. All have the same paths.
enum UploadDialect: Equatable {
    case tus
    case resumable(ResumableDialect)
    /// The draft of the IETF in a version that the door does not speak.
    case unknownVersion(Int64)
    /// No field names a protocol.
    case plain
    case form

    /// Fields come before media types: tus-js-client sends the media type of tus with the versions of the draft too.
    static func of(_ fields: HTTPFields) -> UploadDialect {
        if fields.contains(.tusResumable) { return .tus }
        let mediaType = MediaType.read(fields)
        if let dialect = resumable(fields, mediaType) { return dialect }
        return switch mediaType {
        case MediaType.tus: .tus
        case MediaType.form: .form
        default: .plain
        }
    }

    private static func resumable(_ fields: HTTPFields, _ mediaType: String?) -> UploadDialect? {
        if case .integer(let number) = StructuredFields.item(.uploadDraftInteropVersion, fields) {
            let version = InteropVersion.allCases.first { $0.rawValue == number }
            return version.map { .resumable(ResumableDialect($0)) } ?? .unknownVersion(number)
        }
        let (complete, incomplete) = (fields.contains(.uploadComplete), fields.contains(.uploadIncomplete))
        guard complete || incomplete || mediaType == MediaType.partialUpload else { return nil }
        return .resumable(ResumableDialect(nil, statesIncomplete: incomplete && !complete))
    }
}
