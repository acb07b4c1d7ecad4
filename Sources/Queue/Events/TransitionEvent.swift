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
