/// A reference of a payload to the result of another command, or to a fact about its flow.
package struct PayloadReference: Sendable, Equatable {
    /// The command or the fact.
    package var source: Source
    /// The part of the result; the root is the whole result. Always the root for `$results` and `$flow`.
    package var pointer: JSONPointer
    /// The value that stands in for a result or a part that is missing; nil where this is an error.
    package var defaultValue: JSONValue?
    /// The position of the reference in its payload, as RFC 6901 writes it, cut after 512 bytes; empty where the payload
    /// is the reference.
    package var location: String
}
