public import Commands

/// A transition of a command, or a gap where the store has transitions no more, as
/// ``SluiceClient/events(since:matching:)`` reads them from the store.
public struct TransitionEvent: Sendable, Equatable {
    /// The contents of an event.
    public enum Change: Sendable, Equatable {
        /// A command came to a status.
        case transition(CommandTransition)
        /// Transitions that no reader can get any more.
        case gap(TransitionGap)
    }

    /// The transition or the gap.
    public var change: Change
    /// Where to go on after this event.
    public var position: TransitionPosition

    package init(_ change: Change, _ position: TransitionPosition) {
        self.change = change
        self.position = position
    }
}

/// A transition with the properties of its command.
public struct CommandTransition: Sendable, Equatable {
    /// The command, its new status, the time and the reason.
    public var transition: Transition
    /// The type of the command.
    public var type: String
    /// The quality of service of the command.
    public var qos: QualityOfService
    /// The destination of the command; ``Destination/none`` where it has none.
    public var destination: Destination
    /// Failures of the command that were charged so far.
    public var retries: Int
    /// The shard that numbers the transition, from 0.
    public var shard: Int

    package init(_ event: StatusEvent) {
        transition = event.transition
        type = event.type
        qos = event.qos
        destination = event.destination
        retries = event.retries
        shard = event.shard
    }
}

/// Transitions of a shard that the store does not have: they were pruned, the shard is damaged, or the store was restored
/// from a backup that is older.
///
/// A program that must not miss an end looks its commands up after a gap (``SluiceClient/command(_:)``).
public struct TransitionGap: Sendable, Equatable {
    /// The shard, from 0.
    public var shard: Int
    /// The numbers of the first and the last of them.
    public var numbers: ClosedRange<Int64>

    package init(shard: Int, numbers: ClosedRange<Int64>) {
        self.shard = shard
        self.numbers = numbers
    }
}

/// Which transitions a reader gets. A field that is nil admits all.
public struct TransitionFilter: Sendable, Hashable {
    /// Commands.
    public var ids: Set<CommandID>?
    /// Destinations; ``Destination/none`` admits commands without one.
    public var destinations: Set<Destination>?
    /// Statuses that a command came to.
    public var statuses: Set<CommandStatus>?
    /// Types of commands.
    public var types: Set<String>?
    /// Qualities of service of commands.
    public var qos: Set<QualityOfService>?

    /// Makes a filter. Each field is nil, which admits all, unless it is given.
    public init(
        ids: Set<CommandID>? = nil, destinations: Set<Destination>? = nil, statuses: Set<CommandStatus>? = nil
    ) {
        self.ids = ids
        self.destinations = destinations
        self.statuses = statuses
    }

    package func admits(_ event: StatusEvent) -> Bool {
        ids?.contains(event.transition.id) ?? true
            && destinations?.contains(event.destination) ?? true
            && statuses?.contains(event.transition.status) ?? true
            && types?.contains(event.type) ?? true
            && qos?.contains(event.qos) ?? true
    }
}

/// How far a reader of transitions is: the number of the last transition that it has, of each shard of a store.
///
/// Store its ``text`` together with the results of the transitions, and go on there after a restart.
public struct TransitionPosition: Sendable, Hashable, CustomStringConvertible {
    /// By shard. Empty: before the first transition of every shard.
    package var numbers: [Int64]

    package init(_ numbers: [Int64]) { self.numbers = numbers }

    /// Before the oldest transition of any store.
    public static let start = TransitionPosition([])

    /// Reads ``text``: one number for each shard, joined by dots, or `0` for ``start``.
    /// - Returns: nil for any other text. Whether the store has as many shards is checked by
    ///   ``SluiceClient/events(since:matching:)``.
    public init?(_ text: some StringProtocol) {
        if text == "0" {
            self = .start
            return
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        numbers = parts.compactMap { part in
            part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(part) : nil
        }
        guard numbers.count == parts.count else { return nil }
    }

    /// As ``init(_:)``, for a store with this number of shards.
    package init?(_ text: some StringProtocol, shardCount: Int) {
        guard let position = TransitionPosition(text)?.filled(shardCount) else { return nil }
        self = position
    }

    /// With a number for each shard; nil where the position has another number of shards.
    package func filled(_ shardCount: Int) -> TransitionPosition? {
        if numbers.isEmpty { return TransitionPosition(Array(repeating: 0, count: shardCount)) }
        return numbers.count == shardCount ? self : nil
    }

    /// The numbers, joined by dots: `17.4.0.9`.
    public var text: String { numbers.isEmpty ? "0" : numbers.map(String.init).joined(separator: ".") }

    /// The ``text``.
    public var description: String { text }
}
