package import Commands

extension CommandStore {
    /// Commands in the order of their ids, at most `limit` (≤ 1,000), however far they have to be looked for.
    package func list(_ filter: CommandFilter, after: CommandID?, limit: Int) throws(StoreError) -> [Command] {
        try page(filter, order: .oldestFirst, after: after, limit: limit, until: nil).commands
    }

    /// The one command that a person names by a part of its id.
    /// - Throws: `notFound`; `ambiguous` with a sentence that lists up to five of the commands.
    package func id(of part: CommandIDPart) throws(StoreError) -> CommandID {
        if let id = part.id { return id }
        let found = try find(part, limit: Self.maxListed + 1)
        guard let first = found.first else {
            throw StoreError(.notFound, "there is no command whose id begins or ends with \(part), or contains it")
        }
        guard found.count > 1 else { return first.id }
        let now = clock.now()
        let listed = found.prefix(Self.maxListed).map { command in
            "\(command.id) (\(command.type), \(Self.age(now - command.createdAt)) old)"
        }
        throw StoreError(
            .ambiguous,
            "\(part) is a part of \(found.count > Self.maxListed ? "more than \(Self.maxListed)" : "\(found.count)") ids: "
                + listed.joined(separator: ", ") + "; give more of its characters")
    }

    private static var maxListed: Int { 5 }

    private static func age(_ duration: Duration) -> String {
        let seconds = max(duration.components.seconds, 0)
        switch seconds {
        case ..<120: return "\(seconds) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) days"
        }
    }
}
