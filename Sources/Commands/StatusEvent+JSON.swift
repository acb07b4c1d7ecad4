extension StatusEvent {
    /// Writes the members of a `status/<id>` event of PROTOCOL.md.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", transition.id)
        writer.member("type", type)
        writer.member("qos", qos.name)
        writer.member("status", transition.status.name)
        writer.member("claim", transition.claim)
        writer.member("retries", retries)
        writer.member("worker", transition.seat.map { .integer(Int64($0)) } ?? .null)
        writer.member("destination", destination.text.isEmpty ? nil : destination.text)
        writer.member("reason", transition.reason)
        writer.member("at", transition.at)
        writer.member("shard", shard)
        writer.member("seq", transition.seq)
    }
}
