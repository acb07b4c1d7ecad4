internal import Commands
internal import GRDB

/// The store of responses cannot be read or written.
package struct ResponseStoreError: Error, CustomStringConvertible {
    /// A sentence.
    package let description: String

    init(_ description: String) { self.description = description }

    init(_ error: any Error, _ path: String) {
        let words = (error as? DatabaseError).map { "\($0.resultCode): \($0.message ?? "no message")" } ?? error.words
        description = "cannot use the responses in \(path): \(words)"
    }
}
