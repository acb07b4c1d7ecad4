internal import Wire

/// An event of the coordinator for monitors: a topic and a JSON object. See PROTOCOL.md, “Events for
/// monitors”.
///
/// An event is a hint, and may be lost. The store has the truth.
public struct SluiceEvent: Sendable, Equatable {
    /// The topic: `status/<uuid>`, `progress/<uuid>`, `bandwidth/<destination>`, `link/<destination>`,
    /// `link/*` for an uplink, `worker/<seat>`, `counts`, `gap/<shard>`, `collection/<name>`,
    /// `endpoint/<name>`, `response/<uuid>`, `schedule/<name>`, `flow/<uuid>` or `metrics/<process>`.
    public var topic: String
    /// An object whose members depend on the topic. PROTOCOL.md lists them with their units. In a snapshot,
    /// `snapshot` is true.
    public var body: JSONValue

    /// Makes an event, for example for a test. Nothing is checked.
    public init(topic: String, body: JSONValue) {
        self.topic = topic
        self.body = body
    }

    /// Reads a frame; nil for bytes that are not an event.
    package init?(frame: [UInt8]) {
        guard let (topic, body) = Event.parse(frame) else { return nil }
        self.init(topic: topic, body: body)
    }

    /// The part of the topic before the slash, or all of it: `status`, `progress`, `bandwidth`, `link`,
    /// `worker`, `counts`, `gap`, `collection`, `endpoint`, `response`, `schedule`, `flow` or `metrics`.
    public var kind: Substring { topic.prefix { $0 != "/" } }

    /// The part of the topic after the first slash; empty where there is none.
    public var subject: Substring { topic.drop { $0 != "/" }.dropFirst() }

    /// The command of a `status`, `progress`, `response` or `flow` event; nil for other events.
    public var id: CommandID? { CommandID(subject) }

    /// The status in a `status` event; nil for other events, and for a status that this version does not
    /// know.
    public var status: CommandStatus? {
        guard kind == "status", let name = body["status"]?.string else { return nil }
        return CommandStatus(name: name)
    }

    /// Whether the event is part of a snapshot of the present state. Whenever a monitor subscribes, every
    /// monitor gets a snapshot.
    public var isSnapshot: Bool { body["snapshot"]?.bool == true }
}
