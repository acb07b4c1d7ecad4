/// The path and query of a page of this door, below its base path, that a client sent back.
///
/// A text such as `//host/` or `/\host` is a URL of another server to a browser; only plain paths are taken.
package struct OwnPath: Sendable, Equatable {
    package let text: String

    /// - Returns: nil for anything but a path of at most 1,024 visible ASCII characters.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= 1024, bytes.first == UInt8(ascii: "/"), bytes.dropFirst().first != UInt8(ascii: "/"),
            bytes.allSatisfy({ (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "\\") })
        else { return nil }
        self.text = text
    }
}
