public import Commands
internal import Coordination
internal import Store
internal import Wire

extension TestQueue {
    /// The time of the queue's clock.
    public var now: Timestamp { clock.now() }

    /// Moves the clock. Waits that end by then are over, deadlines that have passed cancel, and schedules fire; what becomes
    /// ready runs with the next ``drain(advancing:)``.
    /// - Parameter duration: a negative one moves nothing.
    /// - Throws: ``Sluice/SluiceError`` `invalid` where a schedule cannot be fired.
    public func advance(by duration: Duration) throws(SluiceError) {
        clock.move(to: clock.now() + duration)
        try promote()
    }

    /// The command as it is now.
    /// - Throws: ``Sluice/SluiceError`` `noSuchCommand`.
    public func command(_ id: CommandID) throws(SluiceError) -> Command {
        guard let command = try stored({ () throws(StoreError) in try queue.command(id) }) else {
            throw SluiceError(.noSuchCommand, "there is no command \(id)", id: id)
        }
        return command
    }

    /// The status of a command or of a flow.
    /// - Throws: ``Sluice/SluiceError`` `noSuchCommand`.
    public func status(of id: CommandID) throws(SluiceError) -> CommandStatus { try command(id).status }

    /// The result of a command; nil before its success, and where its operation returned none.
    /// - Throws: ``Sluice/SluiceError`` `noSuchCommand`.
    public func result(of id: CommandID) throws(SluiceError) -> JSONValue? {
        try command(id).status == .success ? result(id).flatMap { JSONValue(stored: $0) } : nil
    }

    /// As it is stored.
    func result(_ id: CommandID) throws(SluiceError) -> [UInt8]? {
        try stored { () throws(StoreError) in try queue.result(id) }
    }

    /// The statuses of the nodes of a flow, by name. Callbacks are not among them.
    /// - Throws: ``Sluice/SluiceError`` `noSuchCommand` where there is no such flow.
    public func statuses(of flow: CommandID) throws(SluiceError) -> [String: CommandStatus] {
        let reading = try stored { () throws(StoreError) in try queue.flow(flow, limit: nil) }
        guard case .found(let details) = reading else {
            throw SluiceError(.noSuchCommand, "there is no flow \(flow)", id: flow)
        }
        var statuses: [String: CommandStatus] = [:]
        for node in details.nodes { if let name = node.name { statuses[name] = node.command.status } }
        return statuses
    }

    /// The commands that were submitted, in the order of their submits, whether they have run or not: by the code under test,
    /// by flows, by schedules and by ``run(_:payload:options:attempt:checkpoint:interruption:)``. Flows are among them.
    /// - Parameter type: nil, the default: of all types.
    public func submitted(_ type: String? = nil) -> [SubmittedCommand] {
        var filter = CommandFilter()
        filter.type = type
        var commands: [Command] = []
        var after: CommandID?
        repeat {
            // In memory no read fails.
            guard let page = try? queue.page(filter, order: .oldestFirst, after: after, limit: 1000) else { break }
            commands += page.commands
            after = page.next
        } while after != nil
        return commands.sorted { $0.turn < $1.turn }.map { command in
            let payload = (try? queue.payload(command.id)).flatMap { JSONValue(stored: $0) }
            return SubmittedCommand(command: command, payload: payload ?? .null)
        }
    }

    /// The transitions of all commands, in the order in which they happened.
    public func transitions() throws(SluiceError) -> [Transition] {
        try stored { () throws(StoreError) in
            let reader = TransitionReader(queue)
            let start = TransitionPosition([0])
            return try reader.page(after: start, to: reader.newest(), limit: .max).events.map(\.transition)
        }
    }

    // MARK: The network

    /// Sets the state of the network. A queue begins `online`.
    /// - Parameters:
    ///   - destination: a URL or an origin, such as `https://api.example.com`. Nil, the default: all destinations; a command
    ///     without a destination is not affected.
    /// - Throws: ``Sluice/SluiceError`` `usage` for a text that is not a URL with a scheme and a host.
    public func setNetwork(_ link: NetworkState, for destination: String? = nil) throws(SluiceError) {
        var only: Destination?
        if let destination {
            guard let known = Destination(destination) else {
                throw SluiceError(.usage, "“\(destination)” is not a URL; write for example https://api.example.com")
            }
            only = known
        }
        withState { state in
            if let only {
                if link == .offline { state.offline.insert(only) } else { state.offline.remove(only) }
            } else {
                state.isAllOffline = link == .offline
                state.offline = []
            }
        }
        guard link == .offline else { return }
        running.release(reason: "the link is offline") { $0 != .none && (only ?? $0) == $0 }
    }
}

/// The commands that are ready, and the times at which something is due.
extension TestQueue {
    /// Lets everything happen whose time has come: ends of waits, deadlines, schedules, and effects that are still owed.
    func promote() throws(SluiceError) {
        let hasRequests = try stored { () throws(StoreError) in try coordinator.settleDue() }
        if hasRequests { running.cancelRequested() }
        try publish()
    }

    /// The ready command that runs next. The network and pauses hold theirs.
    func nextReady() throws(SluiceError) -> ReadyCommand? {
        let (waits, now) = (withState { $0.waits }, clock.now())
        return try stored { () throws(StoreError) in
            try coordinator.nextReady(isOffline: { isOffline($0) }, waits: { waits.holds($0, now: now) })
        }
    }

    func isOffline(_ destination: Destination) -> Bool {
        withState { state in
            destination != .none && (state.isAllOffline || state.offline.contains(destination))
        }
    }

    /// The next time at which something happens by itself; nil where nothing waits for a time.
    func nextDue() throws(SluiceError) -> Timestamp? {
        let now = clock.now()
        let due = try stored { () throws(StoreError) in try coordinator.nextDue(after: now) }
        return [due, withState { $0.waits.next(after: now) }].compactMap { $0 }.min()
    }

    /// Tells the client of the transitions since the last call, as the coordinator does.
    func publish() throws(SluiceError) {
        while true {
            let after = withState { $0.published }
            let events = try stored { () throws(StoreError) in try coordinator.events(after: after) }
            guard let last = events.last else { return }
            // Two tasks of a test may call at once.
            let isFirst = withState { state in
                defer { state.published = max(state.published, last.transition.seq) }
                return state.published == after
            }
            guard isFirst else { continue }
            for event in events {
                var writer = JSONWriter()
                Event.status(event, to: &writer)
                client.deliver(writer.bytes)
            }
        }
    }
}

/// A command that was submitted to a queue, with its payload.
public struct SubmittedCommand: Sendable, Equatable {
    /// The command as it is now.
    public var command: Command
    /// The stored payload: as the submit gave it, unless the `inspect` of its operation replaced it.
    public var payload: JSONValue
}

/// The state of the network to a destination, as a test sets it.
public enum NetworkState: Sendable, Equatable {
    /// Commands to the destination run.
    case online
    /// Commands to the destination wait, uncharged. One that runs is released, if it may be executed again.
    case offline
}
