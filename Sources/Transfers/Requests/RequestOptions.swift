/// How a request uses its connection.
package struct RequestOptions: Sendable, Equatable {
    /// It needs a connection that has not carried another request.
    var usesNewConnection = false
    /// It sends `Expect: 100-continue` before its body.
    var expectsContinue = false
    /// It goes only where ``Confinement`` lets it.
    var isConfined = false
}
