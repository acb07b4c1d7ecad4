/// Why a reference of a payload is malformed or cannot be resolved.
package struct PayloadReferenceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The position in the payload, as RFC 6901 writes it, cut after 512 bytes; empty for the whole payload.
    package var location: String
    /// A sentence without a full stop at its end, and without the location.
    package var problem: String

    package var description: String {
        location.isEmpty ? "payload: \(problem)" : "payload, “\(location.excerpt)”: \(problem)"
    }
}
