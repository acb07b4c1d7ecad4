/// Why endpoint, bucket and key do not make an address.
struct S3AddressError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A sentence that names the wrong part.
    var message: String

    init(_ message: String) { self.message = message }

    var description: String { message }
}
