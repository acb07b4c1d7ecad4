/// An event that an execution or its worker publishes: its topic and a JSON object. It passes through the
/// coordinator unchanged, and may be lost.
package struct Published: Sendable, Equatable {
    /// The first parts of the topics that executions and workers may publish.
    package static let topics = ["collection/", "endpoint/", "response/", metrics]
    /// Begins the topics of the measurements of a process, which go on with its name.
    package static let metrics = "metrics/"
    package static let maxTopic = 255
    package static let maxBody = 16 << 10

    package var topic: String
    /// A JSON object on one line.
    package var body: String

    package init(topic: String, body: String) {
        self.topic = topic
        self.body = body
    }

    /// Whether monitors may get it.
    package var isValid: Bool {
        Self.topics.contains { topic.utf8.starts(with: $0.utf8) } && topic.utf8.count <= Self.maxTopic
            && topic.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && body.utf8.count <= Self.maxBody
            && body.utf8.first == UInt8(ascii: "{") && body.utf8.allSatisfy { $0 >= 0x20 }
    }
}

extension Published {
    init(from reader: inout ByteReader) throws(WireError) {
        topic = try reader.text8("topic")
        body = try reader.text16("body")
    }

    func write(to writer: inout ByteWriter) {
        writer.text8(topic)
        writer.text16(body)
    }
}
