/// Why a secret cannot be read, in a sentence that does not quote it.
package struct SecretError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
