/// The versions of `Upload-Draft-Interop-Version` that the door speaks.
enum InteropVersion: Int, CaseIterable {
    /// draft-ietf-httpbis-resumable-upload-01: iOS 17.0.
    case draft01 = 3
    /// -03: iOS 18.0, and tus-js-client.
    case draft03 = 5
    /// -04 and -05: iOS 18.1, and tus-js-client.
    case draft04 = 6
    /// -09 to -11: iOS 26.
    case draft09 = 8
    /// -12 and later ones.
    case draft12 = 9

    static var list: String { allCases.map { "\($0.rawValue)" }.joined(separator: ", ") }
}
