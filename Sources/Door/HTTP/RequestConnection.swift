/// The connection of a request, for a response that lasts as long as its client.
package struct RequestConnection: Sendable {
    /// Sets the send buffer of the kernel (SO_SNDBUF), in bytes. Linux doubles the number. By default the buffers of a
    /// client that reads nothing take 14–30 MB before a write waits.
    package var setSendBuffer: @Sendable (_ bytes: Int) async throws -> Void = { _ in }
    /// Closes the connection at once. A write that waits for the client fails.
    package var close: @Sendable () -> Void = {}
    /// Calls `body` when the client has closed its end of the connection, or at once where it has. Only the last `body`
    /// of a connection is called.
    package var whenGone: @Sendable (_ body: @escaping @Sendable () -> Void) -> Void = { _ in }

    package init() {}
}
