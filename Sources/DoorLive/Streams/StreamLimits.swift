/// The limits of the streams of a door.
struct StreamLimits: Sendable {
    /// Streams of all clients.
    var maxStreams = 1000
    /// Streams of one token, with its sessions.
    var maxStreamsOfToken = 600
    /// Streams `log` of all clients: each reads the store while it catches up.
    var maxLogs = 64
    /// A write that waits longer for its client ends the stream.
    var maxWrite: Duration = .seconds(5)
    /// The send buffer of the kernel, in bytes.
    var sendBuffer = 128 << 10
}
