package import Commands
internal import FlowText

/// A route of `sluice.yaml`: what a finished upload becomes.
package struct UploadRoute: Sendable {
    /// The next step of a finished upload.
    enum Action: Sendable {
        /// It stays in the spool, listed.
        case none
        case command(RouteCommand)
        case flow(RouteFlow)
    }

    package let name: String
    let action: Action
    package var qos: QualityOfService?
    /// 0…1,000; nil: as the operation says. Of a command only.
    package var retryLimit: Int?
    /// Bytes of an upload; nil: as the door takes.
    package var maxSize: Int64?
    /// How long the bytes are kept after the success of the command or flow. The default is zero.
    package var retention: Duration = .zero
    var uniqueKey: RouteTemplate?
    var orderingKey: RouteTemplate?

    init(name: String, action: Action) {
        self.name = name
        self.action = action
    }

    package static func isName(_ text: String) -> Bool { RateLimit.isName(text) }
    /// For messages.
    package static let nameForm = RateLimit.nameForm

    /// Whether a finished upload becomes a command or a flow.
    package var becomesCommand: Bool { if case .none = action { false } else { true } }

    /// Whether the SHA-256 of the bytes is needed: a template has it, or a unique key tells equal uploads by it.
    package var needsDigest: Bool { uniqueKey != nil || placeholders.contains(.sha256) }

    /// The types of its commands, each once, in the order of the configuration.
    package var types: [String] {
        switch action {
        case .none: []
        case .command(let command): [command.type]
        case .flow(let flow): flow.types
        }
    }

    /// ``RoutePayload/replacesByName`` of one of its commands. A unique key refuses the second file instead.
    package var replacesByName: Bool {
        switch action {
        case .none: false
        case .command(let command): uniqueKey == nil && command.payload.replacesByName
        case .flow(let flow): uniqueKey == nil && flow.replacesByName
        }
    }

    var placeholders: Set<RoutePlaceholder> {
        let templates = [uniqueKey, orderingKey].compactMap(\.self).flatMap(\.placeholders)
        switch action {
        case .none: return Set(templates)
        case .command(let command): return Set(templates + command.payload.placeholders)
        case .flow(let flow): return Set(templates + flow.placeholders)
        }
    }
}
