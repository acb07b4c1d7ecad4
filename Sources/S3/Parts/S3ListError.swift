/// Why a list of an endpoint cannot be used.
struct S3ListError: Error, Sendable, Equatable, CustomStringConvertible {
    var message: String

    init(_ message: String) { self.message = message }

    var description: String { message }
}
