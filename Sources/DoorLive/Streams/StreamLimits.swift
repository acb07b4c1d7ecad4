/// The limits of the streams of a door. Where all clients together have their maximum, a token with fewer streams than
/// another gets one of it, so that no token keeps the others out.
struct StreamLimits: Sendable {
    /// Streams of all clients.
    var maxStreams = 1000
    /// Streams of one token, with its sessions.
    var maxStreamsOfToken = 600
    /// Streams `log` of all clients: each reads the store while it catches up.
    var maxLogs = 64
    /// Streams `log` of one token.
    var maxLogsOfToken = 16
    /// A write that waits longer for its client ends the stream.
    var maxWrite: Duration = .seconds(5)
    /// The send buffer of the kernel, in bytes.
    var sendBuffer = 128 << 10
}
