internal import Commands

/// A payload or result as the store has it: the same characters, because a viewer that parses numbers changes large ones.
struct StoredText: Sendable, Equatable {
    static let maxShown = 32 << 10

    let text: String
    /// Bytes of the whole.
    let size: Int
    let isCut: Bool

    /// - Parameter redact: removes secrets. Where it removes something, its value is shown instead of the stored text.
    init(_ bytes: [UInt8], redact: (JSONValue) -> JSONValue) {
        size = bytes.count
        var shown = String(decoding: bytes, as: UTF8.self)
        if let value = try? JSONValue(parsing: bytes) {
            let redacted = redact(value)
            if redacted != value { shown = redacted.text }
        }
        isCut = shown.utf8.count > Self.maxShown
        text = isCut ? String(decoding: shown.utf8.prefix(Self.maxShown), as: UTF8.self) : shown
    }
}
