/// The bounds of a form (RFC 7578): each part costs memory before its bytes are read.
struct MultipartLimits: Equatable {
    /// RFC 2046, section 5.1.1.
    static let maxBoundary = 70

    var maxParts = 20
    /// Bytes of the fields of a part, and of the text before the first part.
    var maxHead = 8 << 10
    /// Bytes of a part without a file name.
    var maxField = 64 << 10
}
