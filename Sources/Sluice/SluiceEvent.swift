internal import Wire

/// What the coordinator tells monitors: a topic and a JSON object. See PROTOCOL.md, "Events for monitors".
public struct SluiceEvent: Sendable, Equatable {
    /// `status/<uuid>`, `progress/<uuid>`, `bandwidth/<destination>`, `link/<destination>`, `worker/<seat>`, `counts`,
    /// `gap/<shard>`.
    public var topic: String
    /// An object whose members depend on the topic: PROTOCOL.md names them. In one of a snapshot `snapshot` is true.
    public var body: JSONValue

    public init(topic: String, body: JSONValue) {
        self.topic = topic
        self.body = body
    }

    /// Reads a frame; nil for bytes that are no event.
    package init?(frame: [UInt8]) {
        guard let (topic, body) = Event.parse(frame) else { return nil }
        self.init(topic: topic, body: body)
    }

    /// The part of the topic before the slash: `status`, `progress`, …
    public var kind: Substring { topic.prefix { $0 != "/" } }

    /// The part of the topic after the slash; empty where there is none.
    public var subject: Substring { topic.drop { $0 != "/" }.dropFirst() }

    /// The command that a `status` or `progress` event is about.
    public var id: CommandID? { CommandID(subject) }

    /// The status that a `status` event tells.
    public var status: CommandStatus? {
        guard kind == "status", let name = body["status"]?.string else { return nil }
        return CommandStatus(name: name)
    }

    /// Part of a snapshot, which tells how things stand. Whenever somebody subscribes, all subscribers get one.
    public var isSnapshot: Bool { body["snapshot"]?.bool == true }
}
