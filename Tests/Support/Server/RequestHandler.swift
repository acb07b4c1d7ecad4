/// Answers the requests of a ``ScriptedServer`` in code.
package protocol RequestHandler: Sendable {
    /// - Returns: the steps after the body was read.
    func respond(to request: HandledRequest) -> Behaviour
}

/// One request with its whole body.
package struct HandledRequest: Sendable {
    package var method: String
    /// The target of the request line, percent-encoded, with its query.
    package var target: String
    package var headers: [ReceivedRequest.Header]
    package var body: [UInt8]

    /// The value of the first header of a name in lower case.
    package subscript(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
}
