package import Commands
package import NetworkControl

extension Pause {
    /// `everything`, `background commands to https://host:443`
    package var scope: String {
        switch (qos, destination) {
        case (nil, nil): "everything"
        case (let qos?, nil): "\(qos) commands"
        case (nil, let destination?): "commands to \(destination)"
        case (let qos?, let destination?): "\(qos) commands to \(destination)"
        }
    }

    package var sentence: String { "\(scope), since \(since)" }

    /// The command line that lifts the pause.
    package var resume: String {
        "sluice resume" + (qos.map { " --qos \($0)" } ?? "") + (destination.map { " --destination \($0)" } ?? "")
    }

    package var json: JSONValue {
        .object([
            .init("qos", qos.map { .string($0.name) } ?? .null),
            .init("destination", destination.map { .string($0.text) } ?? .null), .init("since", .string(since)),
        ])
    }
}
