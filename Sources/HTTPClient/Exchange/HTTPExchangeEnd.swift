/// How an exchange ended.
package struct HTTPExchangeEnd: Sendable {
    /// Why the exchange ended early; nil: the response is complete.
    package var error: HTTPError?
    /// The connection had been used before, and ended before the first byte of a response.
    package var keptConnectionEnded = false

    init(_ error: HTTPError? = nil, keptConnectionEnded: Bool = false) {
        self.error = error
        self.keptConnectionEnded = keptConnectionEnded
    }
}
