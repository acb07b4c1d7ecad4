/// One header field of a request or a response.
struct HeaderField: Sendable, Equatable {
    /// As sent. Names are compared without case (RFC 9110, section 5.1).
    var name: String
    var value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
