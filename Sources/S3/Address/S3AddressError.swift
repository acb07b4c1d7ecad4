/// Why endpoint, bucket and key do not make an address.
package struct S3AddressError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A sentence that names the wrong part.
    package var message: String

    init(_ message: String) { self.message = message }

    package var description: String { message }
}
