package import Commands

/// How far the transfer of a command is: the body of a `progress/<uuid>` event.
package struct CommandProgress: Sendable, Equatable {
    /// Bytes.
    package var offset: Int64
    /// Bytes; 0 where the size is unknown.
    package var total: Int64
    /// Bytes per second.
    package var rate: Int64
    /// ``offset`` says how much of the file has gone into a checksum.
    package var isVerifying: Bool
    /// The peer has received everything, and its response has been missing for this time; nil in every other phase.
    package var awaitsResponseFor: Duration?

    package init(offset: Int64 = 0, total: Int64 = 0, rate: Int64 = 0, isVerifying: Bool = false) {
        self.isVerifying = isVerifying
        self.offset = offset
        self.total = total
        self.rate = rate
    }

    /// - Returns: nil for a body without an offset.
    package init?(body: JSONValue) {
        guard let offset = body["offset"]?.integer else { return nil }
        self.init(
            offset: offset, total: body["total"]?.integer ?? 0, rate: body["rate"]?.integer ?? 0,
            isVerifying: body["phase"]?.string == "verifying")
        if body["phase"]?.string == "awaitingResponse" {
            awaitsResponseFor = .milliseconds(body["waited"]?.integer ?? 0)
        }
    }
}
