/// A header field of a payload, a request or a response.
package struct HTTPField: Sendable, Equatable {
    /// As given. Names are compared without case (RFC 9110, section 5.1).
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The name in lower case. Names are ASCII.
    package var lowerName: String { name.lowercased() }

    /// - Parameter other: in lower case.
    package func isNamed(_ other: String) -> Bool { lowerName == other }
}
