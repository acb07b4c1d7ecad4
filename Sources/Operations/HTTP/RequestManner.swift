/// How one request differs from others.
struct RequestManner: Sendable, Equatable {
    /// It goes over a connection that was not used before.
    var isFresh = false
    /// It asks by `Expect: 100-continue` before it sends its body.
    var expectsContinue = false
}
